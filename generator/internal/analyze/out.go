package analyze

import (
	"errors"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/mod/module"

	"github.com/idemgen/idemgen/generator/internal/header"
	"github.com/idemgen/idemgen/generator/internal/names"
)

// defaultOut is the folder of a store that is not told where to go.
const defaultOut = "idemdb"

// chooseOut takes an explicit folder for the store.
func (s *scan) chooseOut(c *choice) bool {
	arg, ok := s.settingsArg("out")
	if !ok {
		return true
	}
	c.explicit = true
	if filepath.IsAbs(arg.Value) || strings.HasPrefix(arg.Value, "/") {
		s.a.diags.Add(arg.ValuePos, codeOut, "write it relative to the package, as in out=../idemdb",
			"out=%s is absolute, and other machines have other folders", arg.Value)
		return false
	}
	c.store.Dir = filepath.Join(s.Dir, filepath.FromSlash(arg.Value))
	return s.checkOut(c.store.Dir, arg.Value, arg.ValuePos)
}

// checkOut checks a folder that the user has named: inside the module, and importable from the package.
func (s *scan) checkOut(dir, text string, pos token.Position) bool {
	fail := func(hint, format string, args ...any) bool {
		s.a.diags.Add(pos, codeOut, hint, format, args...)
		return false
	}
	rel, err := filepath.Rel(s.Module.Dir, dir)
	switch {
	case err != nil || !filepath.IsLocal(rel):
		return fail("name a folder in the module, as in out=./idemdb", "out=%s is outside the module %s", text, s.Module.Path)
	case dir == s.Dir || rel == ".":
		return fail("name a folder of its own, as in out=./idemdb", "out=%s is not a folder of the store's own", text)
	}
	if nested := s.nestedModule(dir); nested != "" {
		return fail("name a folder in the module, as in out=./idemdb", "out=%s is in another module: %s", text, filepath.ToSlash(nested))
	}
	importPath := path.Join(s.Module.Path, filepath.ToSlash(rel))
	elems := strings.Split(filepath.ToSlash(rel), "/")
	switch {
	case module.CheckImportPath(importPath) != nil || slices.Contains(elems, "vendor"):
		return fail("name a folder that can be a Go import path", "out=%s cannot be imported as %s", text, importPath)
	case slices.ContainsFunc(elems, func(e string) bool { return strings.HasPrefix(e, "_") || strings.HasPrefix(e, ".") || e == "testdata" }):
		return fail("name a folder whose path has no testdata, and nothing that begins with _ or a dot", "out=%s is in a folder that Go leaves out", text)
	case !importable(importPath, s.Path):
		return fail("name a folder beside or above the package that is not in another's internal",
			"package %s may not import out=%s: %s is internal", s.Path, text, importPath)
	case storeName(dir) == "main":
		return fail("name another folder", "out=%s would be a package main, which cannot be imported", text)
	}
	return true
}

// nestedModule is the go.mod of another module between the scan's and dir, or empty.
func (s *scan) nestedModule(dir string) string {
	for d := dir; d != s.Module.Dir && len(d) > len(s.Module.Dir); d = filepath.Dir(d) {
		mod := filepath.Join(d, "go.mod")
		if info, err := os.Stat(mod); err == nil && info.Mode().IsRegular() {
			return mod
		}
	}
	return ""
}

// nearestStore is the folder for a package that names none: the nearest idemdb or internal/idemdb that is ours, up to
// the module's root, or one of its own.
func nearestStore(s *scan, ours map[string]bool) string {
	for dir := s.Dir; ; dir = filepath.Dir(dir) {
		for _, candidate := range []string{filepath.Join(dir, defaultOut), filepath.Join(dir, "internal", defaultOut)} {
			if ours[candidate] {
				return candidate
			}
		}
		if dir == s.Module.Dir || dir == filepath.Dir(dir) || len(dir) < len(s.Module.Dir) {
			return filepath.Join(s.Dir, defaultOut)
		}
	}
}

// completeStore names a store's package and checks that its folder may be written.
func (a *analyzer) completeStore(c *choice) bool {
	s, st := c.scan, &c.store
	rel, err := filepath.Rel(s.Module.Dir, st.Dir)
	if err != nil {
		a.diags.Add(st.Pos, codeOut, "name a folder in the module with out=", "the store's folder %s is outside the module", filepath.ToSlash(st.Dir))
		return false
	}
	st.ImportPath = path.Join(s.Module.Path, filepath.ToSlash(rel))
	st.Name = storeName(st.Dir)
	pos := st.Pos
	if arg, ok := s.settingsArg("out"); ok {
		pos = arg.ValuePos
	}
	return s.folderIsFree(st.Dir, pos)
}

// storeName makes a folder's name a package name.
func storeName(dir string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, filepath.Base(dir))
	name = strings.TrimLeftFunc(name, unicode.IsDigit)
	if !token.IsIdentifier(name) || names.Predeclared(name) || name == "init" {
		name += "db"
	}
	return name
}

// folderIsFree checks that a store can be written to dir: that no file is in the way, and no Go file but what idemgen
// and sqlc have made.
func (s *scan) folderIsFree(dir string, pos token.Position) bool {
	for d := dir; len(d) > len(s.Module.Dir); d = filepath.Dir(d) {
		info, err := os.Stat(d)
		if err == nil && !info.IsDir() {
			s.a.diags.Add(pos, codeOutFile, "move the file, or name another folder with out=",
				"the store needs the folder %s, and there is a file of that name", filepath.ToSlash(d))
			return false
		}
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		s.a.diags.Add(pos, codeOutFile, "make it readable, or name another folder with out=", "the store's folder cannot be read: %s", reason(err))
		return false
	}
	ours, made, foreign := false, false, ""
	for _, e := range entries {
		switch ext := filepath.Ext(e.Name()); {
		case e.IsDir():
		case slices.Contains(storeFiles, e.Name()):
			ours = ours || ownHeader(filepath.Join(dir, e.Name()))
			if ext == ".go" && !ownHeader(filepath.Join(dir, e.Name())) {
				foreign = e.Name()
			}
		case ext != ".go" || strings.HasSuffix(e.Name(), "_test.go"):
		case sqlcHeader(filepath.Join(dir, e.Name())):
			made = true
		case foreign == "":
			foreign = e.Name()
		}
	}
	if foreign == "" && made && !ours {
		foreign = "sqlc's output for another configuration"
	}
	if foreign != "" {
		s.a.diags.Add(pos, codeOutForeign, "move it to another folder, or name another folder for the store with out=",
			"the folder %s is not idemgen's alone: it holds %s", filepath.ToSlash(dir), foreign)
		return false
	}
	return true
}

// reason is an error's cause, with its path as messages have paths.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return filepath.ToSlash(p.Path) + ": " + p.Err.Error()
	}
	return err.Error()
}

// storeFiles are the files of a store that idemgen writes itself; the rest is sqlc's.
var storeFiles = []string{"store_gen.go", "keys.sql", "schema.sql", "sqlc.yaml"}

// ownHeader says that a file is ours by its first line.
func ownHeader(file string) bool {
	head, err := firstBytes(file)
	return err == nil && header.Ours(head)
}

// sqlcHeader says that a file is sqlc's by its first line. An empty one is what a killed run has left.
func sqlcHeader(file string) bool {
	head, err := firstBytes(file)
	line, _ := header.FirstLine(head)
	return err == nil && (len(head) == 0 || line == header.SQLCGo)
}

// firstBytes reads enough of a file to see its header.
func firstBytes(file string) (head []byte, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, 1000))
}
