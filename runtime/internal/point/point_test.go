package point

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every point that is declared is in the list, once, and every one in the list that is not on a wire is called.
func TestListIsComplete(t *testing.T) {
	t.Parallel()
	declared, called := declaredPoints(t), calledPoints(t)
	listed := map[Point]bool{}
	for _, place := range List() {
		if listed[place.Point] {
			t.Errorf("%s is twice in the list", place.Point)
		}
		listed[place.Point] = true
		name, there := declared[place.Point]
		if !there {
			t.Errorf("%s has no constant", place.Point)
		}
		files := called[name]
		if place.Wire && files != nil {
			t.Errorf("%s is called in %v, and said to be on the wire", name, files)
		}
		if !place.Wire && files == nil {
			t.Errorf("%s is in the list, and nowhere called", name)
		}
		for column, why := range place.Not {
			if !slices.Contains([]string{Transaction, Lease, Transition, NoCode, Keyed, SQLite}, column) || why == "" {
				t.Errorf("%s: not in %q: %q", place.Point, column, why)
			}
		}
	}
	for p, name := range declared {
		if !listed[p] {
			t.Errorf("%s is not in the list", name)
		}
	}
	for name, files := range called {
		if !slices.Contains(slices.Collect(maps.Values(declared)), name) {
			t.Errorf("%s is called in %v, and is no point", name, files)
		}
	}
}

// declaredPoints are the constants of points.go by their value.
func declaredPoints(t *testing.T) map[Point]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "points.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[Point]string{}
	for _, d := range file.Decls {
		consts, ok := d.(*ast.GenDecl)
		if !ok || consts.Tok != token.CONST {
			continue
		}
		for _, s := range consts.Specs {
			value := s.(*ast.ValueSpec)
			kind, ok := value.Type.(*ast.Ident)
			if !ok || kind.Name != "Point" {
				continue
			}
			declared[Point(strings.Trim(value.Values[0].(*ast.BasicLit).Value, `"`))] = value.Names[0].Name
		}
	}
	if len(declared) == 0 {
		t.Fatal("points.go declares no points")
	}
	return declared
}

// calledPoints are the arguments of all calls of At in the module, with the files that they are in.
func calledPoints(t *testing.T) map[string][]string {
	t.Helper()
	called := map[string][]string{}
	err := fs.WalkDir(os.DirFS("../.."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", path), nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && ofPackage(call.Fun, "At") {
				name, ok := call.Args[0].(*ast.SelectorExpr)
				if !ok || !ofPackage(name, name.Sel.Name) {
					t.Errorf("%s: point.At is called with something else than a constant of the package", path)
					return true
				}
				called[name.Sel.Name] = append(called[name.Sel.Name], path)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return called
}

func ofPackage(e ast.Expr, name string) bool {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != name {
		return false
	}
	from, ok := selector.X.(*ast.Ident)
	return ok && from.Name == "point"
}
