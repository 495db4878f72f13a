package generator

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/idemgen/idemgen/generator/internal/gocode"
	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/output"
)

// replaysFile is the test file that a package gets. A handler that comes later gets a file of its own.
const replaysFile = "idem_test.go"

// replays are test files for the handlers that have no test yet that replays them. What is there is never written over: it is
// the user's, and Result.Kept says so. A test is known by its function's name, in whichever test file of the package it is.
func (r *run) replays(packages []*model.Package) (files []output.File, err error) {
	for _, p := range packages {
		more, err := r.packageReplays(p)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

func (r *run) packageReplays(p *model.Package) (files []output.File, err error) {
	found, err := findTests(p)
	if err != nil {
		return nil, err
	}
	var kept []string
	var missing []replayed
	for _, g := range p.Groups {
		for _, h := range g.Handlers {
			if h.Bare {
				continue // a transition without a key has no result to compare: idemtest.Replay does not take it
			}
			if file, ok := found.tests[gocode.ReplayTest(g, h)]; ok {
				kept = append(kept, file)
			} else {
				missing = append(missing, replayed{g, h})
			}
		}
	}
	slices.Sort(kept)
	r.result.Kept = append(r.result.Kept, slices.Compact(kept)...)
	if len(missing) == 0 {
		return nil, nil
	}
	all := filepath.Join(p.Dir, replaysFile)
	if _, err := os.Lstat(all); errors.Is(err, fs.ErrNotExist) {
		code, err := gocode.Replays(p, handlersOf(missing), found.declared)
		return []output.File{{Path: all, Data: code, Order: output.Middle, Once: true}}, err
	}
	for _, m := range missing {
		path := filepath.Join(p.Dir, replayFile(m))
		if _, err := os.Lstat(path); err == nil {
			// The test has another name now, or is gone: its file is the user's all the same.
			r.result.Kept = append(r.result.Kept, path)
			continue
		}
		code, err := gocode.Replays(p, []*model.Handler{m.handler}, found.declared)
		if err != nil {
			return nil, err
		}
		files = append(files, output.File{Path: path, Data: code, Order: output.Middle, Once: true})
		found.declared = append(found.declared, gocode.ReplayOpener(p, m.group))
	}
	return files, nil
}

// replayed is a handler and the group that it is of.
type replayed struct {
	group   *model.Group
	handler *model.Handler
}

func handlersOf(all []replayed) (handlers []*model.Handler) {
	for _, m := range all {
		handlers = append(handlers, m.handler)
	}
	return handlers
}

// replayFile is the file of one handler's test: idem_service_place_order_replay_test.go. It does not end in a word that Go
// takes for an operating system.
func replayFile(m replayed) string {
	subject := strings.TrimSuffix(strings.TrimPrefix(gocode.ReplayTest(m.group, m.handler), "Test"), "Replay")
	return "idem_" + snake(subject) + "_replay_test.go"
}

// snake is a Go name in lower case with underscores between its words.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, c := range runes {
		begins := i > 0 && unicode.IsUpper(c) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if begins && runes[i-1] != '_' {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// foundTests is what a package's test files declare.
type foundTests struct {
	tests    map[string]string // by function, its file
	declared []string          // in files of the package itself, which share a scope with what is written
}

// findTests reads the test files of a package, whatever build constraints they have. One with a syntax error is read as far
// as it goes.
func findTests(p *model.Package) (*foundTests, error) {
	found := &foundTests{tests: map[string]string{}}
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot look for tests: %w", err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), "_test.go") || entry.IsDir() {
			continue
		}
		path := filepath.Join(p.Dir, entry.Name())
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("cannot look for tests: %w", err)
		}
		// Its errors are the compiler's to tell.
		file, _ := parser.ParseFile(token.NewFileSet(), path, src, parser.SkipObjectResolution)
		if file == nil {
			continue
		}
		for _, name := range declares(file) {
			found.tests[name] = path
			if file.Name.Name == p.Name {
				found.declared = append(found.declared, name)
			}
		}
	}
	return found, nil
}

// declares are the package-level names that a file declares.
func declares(file *ast.File) (out []string) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				out = append(out, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					out = append(out, s.Name.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						out = append(out, n.Name)
					}
				}
			}
		}
	}
	return out
}
