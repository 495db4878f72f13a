package analyze_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/idemgen/idemgen/generator/internal/analyze"
	"github.com/idemgen/idemgen/generator/internal/diag"
)

// TestLibraryTypes makes a key, a fingerprint and a result of every exported type of the library. What is not refused
// has to make generated code that type-checks.
func TestLibraryTypes(t *testing.T) {
	t.Parallel()
	handlers := libraryHandlers(t)
	var diags diag.List
	w := newWorkspace(t, librarySource(handlers))
	analyze.Analyze(w.program(), &diags)
	refused := map[int]bool{}
	for _, d := range diags.Sorted() {
		require.NotEmpty(t, d.Hint, "%s", d.Message)
		refused[d.Pos.Line] = true
	}
	// Each handler and its struct stand on one line, so a line that is complained about is one handler less.
	src := strings.Split(string(librarySource(handlers).Files[0].Data), "\n")
	var good []string
	for i, line := range src {
		if strings.HasPrefix(line, "type P") && !refused[i+1] && !refused[i+3] {
			good = append(good, line+"\n"+src[i+1]+"\n"+src[i+2]+"\n")
		}
	}
	require.Greater(t, len(good), 100)
	require.Less(t, len(good), len(handlers))

	w = newWorkspace(t, librarySource(good))
	diags = diag.List{}
	prog := analyze.Analyze(w.program(), &diags)
	require.Empty(t, diags.Sorted())
	checkGenerated(t, w, prog)
}

// libraryHandlers are handlers for each type: keys and a fingerprint of the value or a pointer to it, and results.
func libraryHandlers(t *testing.T) []string {
	t.Helper()
	lib, err := library()
	require.NoError(t, err)
	var out []string
	for _, p := range sortedPackages(lib) {
		for _, name := range p.Scope().Names() {
			obj, ok := p.Scope().Lookup(name).(*types.TypeName)
			if !ok || !obj.Exported() || generic(obj.Type()) {
				continue
			}
			typ := p.Name() + "x" + fmt.Sprint(pathIndex(lib, p)) + "." + name
			for _, field := range []string{
				"F %s `idem:\"key,allowzero\"`", "F *%s `idem:\"key,allowzero,utc\"`", "F %s `idem:\"fingerprint\"`",
			} {
				n := len(out)
				out = append(out, fmt.Sprintf("type P%d struct { ID string `idem:\"key\"`; "+field+" }\n//idem:handler window=24h\n"+
					"func H%d(ctx context.Context, tx pgx.Tx, e P%d) error { return nil }\n", n, typ, n, n))
			}
			for _, result := range []string{"%s", "struct { A int; %s }"} {
				n := len(out)
				out = append(out, fmt.Sprintf("type P%d struct { ID string `idem:\"key\"` }\n//idem:handler window=24h\n"+
					"func H%d(ctx context.Context, tx pgx.Tx, e P%d) ("+result+", error) { panic(0) }\n", n, n, n, typ))
			}
		}
	}
	return out
}

func generic(t types.Type) bool {
	switch t := t.(type) {
	case *types.Named:
		return t.TypeParams().Len() > 0
	case *types.Alias:
		return t.TypeParams().Len() > 0
	default:
		return false
	}
}

// sortedPackages are the packages of the library that anybody may import.
func sortedPackages(lib map[string]*types.Package) []*types.Package {
	var out []*types.Package
	for path, p := range lib {
		if !strings.Contains(path, "internal") && !strings.HasPrefix(path, "vendor/") && path != "unsafe" && p.Name() != "main" {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *types.Package) int { return strings.Compare(a.Path(), b.Path()) })
	return out
}

func pathIndex(lib map[string]*types.Package, p *types.Package) int {
	return slices.Index(sortedPackages(lib), p)
}

// librarySource is a package of the given handlers.
func librarySource(handlers []string) *txtar.Archive {
	lib, err := library()
	if err != nil {
		return nil
	}
	body := strings.Join(handlers, "")
	var b bytes.Buffer
	b.WriteString("package lib\n\nimport (\n\t\"context\"\n\t\"github.com/jackc/pgx/v5\"\n")
	for i, p := range sortedPackages(lib) {
		if name := fmt.Sprintf("%sx%d", p.Name(), i); strings.Contains(body, name+".") {
			fmt.Fprintf(&b, "\t%s %q\n", name, p.Path())
		}
	}
	b.WriteString(")\n\n" + body)
	return &txtar.Archive{Files: []txtar.File{{Name: "lib/lib.go", Data: b.Bytes()}}}
}

// TestStandardLibraryAsInput puts a directive on every function and interface method of some of Go's own packages, and a
// tag on every field, and asks for every named type as a payload: whatever comes of it, it must not panic.
func TestStandardLibraryAsInput(t *testing.T) {
	t.Parallel()
	dirs := []string{"net/http", "database/sql", "encoding/json", "go/types", "reflect", "text/template", "crypto/tls", "maps", "slices", "iter", "sync", "time", "unsafe"}
	if all := os.Getenv("IDEMGEN_FUZZ_DIRS"); all != "" {
		dirs = strings.Split(all, ",")
	}
	for _, dir := range dirs {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			files := annotated(t, dir)
			if len(files) == 0 {
				return
			}
			var diags diag.List
			w := newWorkspace(t, &txtar.Archive{Files: files})
			analyze.Analyze(w.program(), &diags)
			for _, d := range diags.Sorted() {
				assert.NotEmpty(t, d.Pos.Filename, d.Message)
			}
			assert.NotZero(t, diags.Len())
		})
	}
}

// annotated is a package of the standard library, or in an absolute folder, with directives and tags put in.
func annotated(t *testing.T, dir string) []txtar.File {
	t.Helper()
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(build.Default.GOROOT, "src", filepath.FromSlash(dir))
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	var out []txtar.File
	var typeNames []string
	pkg := ""
	for _, name := range names {
		src, err := os.ReadFile(name)
		require.NoError(t, err)
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
		if err != nil || strings.HasSuffix(name, "_test.go") || bytes.Contains(src, []byte("//go:build")) {
			continue
		}
		pkg = f.Name.Name
		marked, declared := mark(fset, f, src)
		typeNames = append(typeNames, declared...)
		out = append(out, txtar.File{Name: "p/" + filepath.Base(name), Data: marked})
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "package %s\n\nimport (\n\tidemctx \"context\"\n\tidempgx \"github.com/jackc/pgx/v5\"\n)\n", pkg)
	for i, name := range typeNames {
		fmt.Fprintf(&b, "\n//idem:handler window=1h\nfunc idemH%d(ctx idemctx.Context, tx idempgx.Tx, e *%s) (%s, error) { panic(0) }\n", i, name, name)
		fmt.Fprintf(&b, "\n//idem:handler window=1h key=e,Name.String(),Foo\nfunc idemK%d(ctx idemctx.Context, tx idempgx.Tx, e %s, n int) error { panic(0) }\n", i, name)
	}
	if pkg == "" {
		return nil
	}
	return append(out, txtar.File{Name: "p/zz_idem.go", Data: b.Bytes()})
}

// mark puts directives on functions and interface methods, and tags on fields without one.
func mark(fset *token.FileSet, f *ast.File, src []byte) (marked []byte, typeNames []string) {
	type insertion struct {
		at   int
		text string
	}
	var all []insertion
	const line = "\n//idem:handler window=1h\n"
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			all = append(all, insertion{fset.Position(n.Pos()).Offset, line})
			if n.Doc != nil {
				all[len(all)-1].at = fset.Position(n.Doc.End()).Offset
			}
			return false
		case *ast.TypeSpec:
			if n.TypeParams == nil {
				typeNames = append(typeNames, n.Name.Name)
			} else {
				typeNames = append(typeNames, n.Name.Name+"[int]")
			}
		case *ast.InterfaceType:
			for _, m := range n.Methods.List {
				if len(m.Names) > 0 {
					all = append(all, insertion{fset.Position(m.Pos()).Offset, line})
				}
			}
		case *ast.StructType:
			for _, field := range n.Fields.List {
				if field.Tag == nil {
					all = append(all, insertion{fset.Position(field.Type.End()).Offset, " `idem:\"key\"`"})
				}
			}
		}
		return true
	})
	slices.SortStableFunc(all, func(a, b insertion) int { return a.at - b.at })
	var b bytes.Buffer
	last := 0
	for _, in := range all {
		b.Write(src[last:in.at])
		b.WriteString(in.text)
		last = in.at
	}
	b.Write(src[last:])
	return b.Bytes(), typeNames
}
