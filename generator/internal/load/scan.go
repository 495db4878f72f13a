package load

import (
	"bytes"
	"context"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/directive"
	"github.com/idemgen/idemgen/generator/internal/header"
)

// A folder is one folder that the patterns cover, and what was found in it.
type folder struct {
	dir     string
	module  *module
	goFiles []string // names, without those that Go ignores
	store   bool     // it is one of our stores
	hits    []hit    // by name
	tests   []token.Position
	tagged  string // a file with idem tags, for a hint
	own     string // our idem_gen.go
	spoiled bool   // own has no package clause, or that of another package: the go command must not see it
	foreign string // an idem_gen.go that is not ours
	// headless says that foreign is ours but for its first line.
	headless bool
	unread   []error
}

// A hit is a file with a directive.
type hit struct {
	name   string // absolute
	first  token.Position
	clause clause
}

// scan looks into the Go files of the folders.
func scan(ctx context.Context, folders []*folder, tags string, diags *diag.List) error {
	work := make(chan *folder)
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			var buf bytes.Buffer
			for f := range work {
				f.scan(&buf, tags)
			}
		})
	}
	for _, f := range folders {
		if ctx.Err() != nil {
			break
		}
		work <- f
	}
	close(work)
	group.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, f := range folders {
		for _, err := range f.unread {
			diags.Add(token.Position{}, codeGo, "make it readable", "%v", err)
		}
	}
	return nil
}

// scan looks into the Go files of one folder. buf is reused.
func (f *folder) scan(buf *bytes.Buffer, tags string) {
	for _, base := range f.goFiles {
		name := filepath.Join(f.dir, base)
		src, err := read(name, buf)
		switch {
		case err != nil && base == GenFile:
			f.foreign = name // a folder, a dead link: in the way, whatever it is
		case err != nil:
			f.unread = append(f.unread, err)
		case base == GenFile && header.Ours(src):
			f.own = name
			f.spoiled = readClause(name, src).pkg == "" || f.spoiled
		default:
			if base == GenFile {
				f.foreign = name
				f.headless = bytes.Contains(src, []byte("\n// key shape: ")) && bytes.Contains(src, []byte("_else_go_generate_or_go_get_the_runtime"))
			}
			f.scanFile(name, src, tags)
		}
	}
	f.checkOwn(buf)
}

// scanFile looks for directives in one file.
func (f *folder) scanFile(name string, src []byte, tags string) {
	if !mentionsUs(src) {
		return
	}
	found := directive.Scan(name, src)
	test := strings.HasSuffix(name, "_test.go")
	if found.Tags && !test {
		f.tagged = name
	}
	switch {
	case found.Directive.Line == 0:
		return
	case test:
		f.tests = append(f.tests, found.Directive)
		return
	}
	c := readClause(name, src)
	if c.expr != nil && slices.Contains(needs(c.expr), "ignore") && !slices.Contains(splitTags(tags), "ignore") {
		return // by convention a file that belongs to no package
	}
	f.hits = append(f.hits, hit{name: name, first: found.Directive, clause: c})
}

// checkOwn finds out whether our file claims to be of another package than its neighbours, as it does when the package
// was renamed: the go command would then count the neighbours out.
func (f *folder) checkOwn(buf *bytes.Buffer) {
	if f.own == "" || len(f.hits) == 0 || f.spoiled {
		return
	}
	if src, err := read(f.own, buf); err == nil {
		own := readClause(f.own, src).pkg
		f.spoiled = !slices.ContainsFunc(f.hits, func(h hit) bool { return h.clause.pkg == own })
	}
}

// read reads a regular file into buf.
func read(name string, buf *bytes.Buffer) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	buf.Reset()
	buf.Grow(int(info.Size()) + bytes.MinRead)
	if _, err := buf.ReadFrom(file); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// mentionsUs says whether "idem:" or "idemgen:" occurs anywhere, in any case, with or without spaces before the colon; or
// a comment that begins with idem and may be a slip. Colons are rare, and finding one is fast.
func mentionsUs(src []byte) bool {
	for _, comment := range []string{"//idem", "//Idem", "//IDEM", "// idem", "///idem"} {
		if bytes.Contains(src, []byte(comment)) {
			return true
		}
	}
	for at := 0; ; at++ {
		i := bytes.IndexByte(src[at:], ':')
		if i < 0 {
			return false
		}
		at += i
		before := bytes.TrimRight(src[max(0, at-maxBefore):at], " \t")
		if hasSuffixFold(before, "idem") || hasSuffixFold(before, "idemgen") {
			return true
		}
	}
}

// maxBefore is how far before a colon our name may begin.
const maxBefore = 64

func hasSuffixFold(text []byte, suffix string) bool {
	return len(text) >= len(suffix) && bytes.EqualFold(text[len(text)-len(suffix):], []byte(suffix))
}

// splitTags reads the value of -tags, which is separated by commas or, as it once was, by spaces.
func splitTags(tags string) []string {
	return strings.FieldsFunc(tags, func(r rune) bool { return r == ',' || r == ' ' })
}
