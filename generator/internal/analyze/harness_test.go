package analyze_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"

	"github.com/idemgen/idemgen/generator/internal/header"
	"github.com/idemgen/idemgen/generator/internal/load"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// The cases are type-checked in memory against packages that are loaded once; a go list for each would take minutes.

const modulePath = "example.com/shop"

// library is every real package that the cases import.
var library = sync.OnceValues(func() (map[string]*types.Package, error) {
	cfg := &packages.Config{
		Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedExportFile,
		Dir:  filepath.Join("..", "..", "..", "runtime"),
		Env:  append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false"),
	}
	roots, err := packages.Load(cfg, "./...",
		"github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgxpool", "github.com/jackc/pgx/v5/pgtype", "github.com/jackc/pgx/v5/pgconn",
		"bytes", "context", "database/sql", "encoding/json", "fmt", "log/slog", "math/big", "net", "net/http", "net/netip", "net/url", "sync", "time")
	if err != nil {
		return nil, err
	}
	all := map[string]*types.Package{"unsafe": types.Unsafe}
	packages.Visit(roots, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			err = errors.Join(err, fmt.Errorf("%s: %w", p.PkgPath, e))
		}
		all[p.PkgPath] = p.Types
	})
	return all, err
})

// stubs are the packages in testdata/stubs.txt, by import path.
var stubs = sync.OnceValues(func() (map[string]txtar.File, error) {
	ar, err := txtar.ParseFile(filepath.Join("testdata", "stubs.txt"))
	if err != nil {
		return nil, err
	}
	out := map[string]txtar.File{}
	for _, f := range ar.Files {
		out[path.Dir(f.Name)] = f
	}
	return out, nil
})

// A workspace is a module on disk and in memory: what package load would make of it.
type workspace struct {
	t       *testing.T
	dir     string
	fset    *token.FileSet
	library map[string]*types.Package
	stubs   map[string]txtar.File
	loaded  map[string]*load.Package
	stubbed map[string]*types.Package
}

// newWorkspace writes the archive's files below a temporary folder.
func newWorkspace(t *testing.T, ar *txtar.Archive) *workspace {
	t.Helper()
	lib, err := library()
	require.NoError(t, err)
	st, err := stubs()
	require.NoError(t, err)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w := &workspace{
		t: t, dir: dir, fset: token.NewFileSet(), library: lib, stubs: st,
		loaded: map[string]*load.Package{}, stubbed: map[string]*types.Package{},
	}
	files := append([]txtar.File{{Name: "go.mod", Data: []byte("module " + modulePath + "\n\ngo 1.25\n")}}, ar.Files...)
	for _, f := range files {
		if strings.HasPrefix(f.Name, "want") {
			continue
		}
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, f.Data, 0o644))
	}
	return w
}

// program loads every package of the module that has a directive.
func (w *workspace) program() *load.Program {
	w.t.Helper()
	prog := &load.Program{Fset: w.fset, Whole: []string{w.dir}}
	var dirs []string
	require.NoError(w.t, filepath.WalkDir(w.dir, func(name string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && e.Name() == "unseen" {
			prog.Whole = nil // a folder that the patterns leave out
			return filepath.SkipDir
		}
		if e.IsDir() {
			dirs = append(dirs, name)
		}
		return nil
	}))
	for _, dir := range dirs {
		if src, err := os.ReadFile(filepath.Join(dir, "store_gen.go")); err == nil && header.Ours(src) {
			prog.OwnStores = append(prog.OwnStores, dir)
		}
		hit, goFiles := false, 0
		for _, name := range w.sources(dir) {
			src, err := os.ReadFile(name)
			require.NoError(w.t, err)
			goFiles++
			hit = hit || filepath.Base(name) != load.GenFile && bytes.Contains(src, []byte("//idem:"))
		}
		own := filepath.Join(dir, load.GenFile)
		if src, err := os.ReadFile(own); err == nil && header.Ours(src) && !hit {
			prog.OwnFiles = append(prog.OwnFiles, own)
		}
		if hit {
			prog.Packages = append(prog.Packages, w.load(w.importPath(dir)))
		}
	}
	return prog
}

func (w *workspace) sources(dir string) []string {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(w.t, err)
	return slices.DeleteFunc(names, func(n string) bool { return strings.HasSuffix(n, "_test.go") })
}

func (w *workspace) importPath(dir string) string {
	rel, err := filepath.Rel(w.dir, dir)
	require.NoError(w.t, err)
	return path.Join(modulePath, filepath.ToSlash(rel))
}

// Import resolves a path: of the module, of the stubs, or of the library.
func (w *workspace) Import(importPath string) (*types.Package, error) {
	if rest, ok := strings.CutPrefix(importPath, modulePath); ok {
		if len(w.sources(filepath.Join(w.dir, filepath.FromSlash(rest)))) == 0 {
			return nil, fmt.Errorf("no package %s", importPath)
		}
		return w.load(importPath).Types, nil
	}
	if p, ok := w.library[importPath]; ok {
		return p, nil
	}
	if p, ok := w.stubbed[importPath]; ok {
		return p, nil
	}
	f, ok := w.stubs[importPath]
	if !ok {
		return nil, fmt.Errorf("no package %s", importPath)
	}
	file, err := parser.ParseFile(w.fset, f.Name, f.Data, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	p, err := (&types.Config{Importer: w}).Check(importPath, w.fset, []*ast.File{file}, nil)
	w.stubbed[importPath] = p
	return p, err
}

// load type-checks a package of the module as package load does: without bodies and our own output, and in spite of
// errors.
func (w *workspace) load(importPath string) *load.Package {
	if p := w.loaded[importPath]; p != nil {
		return p
	}
	dir := filepath.Join(w.dir, filepath.FromSlash(strings.TrimPrefix(importPath, modulePath)))
	p := &load.Package{
		Path: importPath, Dir: dir,
		Module: model.Module{Path: modulePath, Dir: w.dir, GoVersion: "1.25"},
		Info: &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
			Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{},
		},
	}
	var syntax []*ast.File
	for _, name := range w.sources(dir) {
		src, err := os.ReadFile(name)
		require.NoError(w.t, err)
		mode := parser.ParseComments | parser.SkipObjectResolution
		if filepath.Base(name) == load.GenFile && header.Ours(src) {
			p.Own = name
			continue
		}
		file, err := parser.ParseFile(w.fset, name, src, mode)
		require.NoError(w.t, err)
		syntax = append(syntax, file)
		p.Files = append(p.Files, load.File{Name: name, Syntax: file, Src: src})
	}
	conf := types.Config{Importer: w, IgnoreFuncBodies: true, Error: func(error) {}}
	p.Types, _ = conf.Check(importPath, w.fset, syntax, p.Info) // its errors are part of some cases
	p.Name = p.Types.Name()
	w.loaded[importPath] = p
	return p
}
