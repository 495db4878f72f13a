package analyze_test

import (
	"go/ast"
	"go/parser"
	"go/types"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/generator/internal/gocode"
	"github.com/idemgen/idemgen/generator/internal/load"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// checkGenerated requires that what is generated from a model type-checks beside the user's files: the other half of
// the promise that analyze refuses whatever cannot be rendered.
func checkGenerated(t *testing.T, w *workspace, prog *model.Program) {
	t.Helper()
	for _, pkg := range prog.Packages {
		src, err := gocode.Package(pkg)
		require.NoError(t, err)
		files := []*ast.File{}
		for _, f := range w.loaded[pkg.Path].Files {
			files = append(files, f.Syntax)
		}
		gen, err := parser.ParseFile(w.fset, filepath.Join(pkg.Dir, load.GenFile), src, parser.SkipObjectResolution)
		require.NoError(t, err)
		conf := types.Config{Importer: storeImporter{w, pkg.Store}, GoVersion: "go1.25"}
		_, err = conf.Check(pkg.Path, w.fset, append(files, gen), nil)
		require.NoError(t, err, "%s", src)
	}
}

// storeImporter has the store's package as it will be.
type storeImporter struct {
	*workspace
	store *model.Store
}

func (i storeImporter) Import(path string) (*types.Package, error) {
	if path != i.store.ImportPath {
		return i.workspace.Import(path)
	}
	driver := map[model.Driver]string{model.PGX: "idempgx", model.SQL: "idemsql"}[i.store.Driver]
	if i.store.Engine == "mysql" {
		driver = "idemmysql"
	}
	const runtime = "github.com/idemgen/idemgen/runtime/"
	src := "package " + i.store.Name + "\nimport (\"" + runtime + "store\"; \"" + runtime + driver + "\")\n" +
		"var Store store.Queries[" + driver + ".DBTX]\n"
	f, err := parser.ParseFile(i.fset, "store_gen.go", src, 0)
	if err != nil {
		return nil, err
	}
	return (&types.Config{Importer: i.workspace}).Check(path, i.fset, []*ast.File{f}, nil)
}
