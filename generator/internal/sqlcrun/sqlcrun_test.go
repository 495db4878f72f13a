package sqlcrun

import (
	"context"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"

	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/sqlcode"
)

func job(t *testing.T, engine string, driver model.Driver) Job {
	t.Helper()
	s := &model.Store{
		Name: "idemdb", ImportPath: "example.com/" + engine, Engine: engine, Driver: driver, Table: "order",
		Pos: token.Position{Filename: engine + ".go", Line: 3, Column: 1},
	}
	if engine == "postgresql" {
		s.Schema = "Billing"
	}
	files, err := sqlcode.Render(s)
	require.NoError(t, err)
	return Job{s, files}
}

func TestCompileAllStoresAtOnce(t *testing.T) {
	t.Parallel()
	jobs := []Job{
		job(t, "postgresql", model.PGX), job(t, "postgresql", model.SQL), job(t, "sqlite", model.SQL), job(t, "mysql", model.SQL),
	}
	var r Runner
	var diags diag.List
	out, err := r.Compile(t.Context(), jobs, &diags)
	require.NoError(t, err)
	require.Empty(t, diags.Sorted())
	require.Len(t, out, len(jobs))
	assert.Equal(t, 1, r.Runs())
	for i, files := range out {
		var names []string
		for _, f := range files {
			names = append(names, f.Name)
			assert.True(t, strings.HasPrefix(string(f.Data), GeneratedHeader+"\n"), f.Name)
		}
		assert.Equal(t, []string{"db.go", "keys.sql.go", "models.go"}, names)
		keys := string(files[1].Data)
		table := strings.ReplaceAll(sqlcode.Table(jobs[i].Store), "`", "` + \"`\" + `") // in a Go string in backquotes
		assert.Contains(t, keys, table)
		assert.NotContains(t, keys, "idemgen", "our header must not become a query's documentation")
		for _, method := range []string{"Claim", "TakeOver", "Complete", "Lookup"} {
			assert.Contains(t, keys, "\n// "+method+" ", "documented")
			assert.Contains(t, keys, ") "+method+"(ctx context.Context, db DBTX, arg "+method+"Params)")
		}
	}
}

func TestStamp(t *testing.T) {
	t.Parallel()
	j := job(t, "sqlite", model.SQL)
	var diags diag.List
	out, err := new(Runner).Compile(t.Context(), []Job{j}, &diags)
	require.NoError(t, err)
	storeGen := []byte("// Code generated\n" + StampPrefix + Stamp(j.Files, out[0]) + "\n\npackage idemdb\n")
	write := func(t *testing.T, change func(name, text string) string) string {
		dir := t.TempDir()
		for _, f := range out[0] {
			require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), []byte(change(f.Name, string(f.Data))), 0o644))
		}
		return dir
	}
	same := func(_, text string) string { return text }

	assert.Equal(t, out[0], Stands(write(t, same), storeGen, j.Files))
	crlf := func(_, text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
	assert.Equal(t, out[0], Stands(write(t, crlf), storeGen, j.Files))

	edited := func(name, text string) string {
		if name == "keys.sql.go" {
			return strings.Replace(text, "arg.Owner", "nil", 1)
		}
		return text
	}
	assert.Nil(t, Stands(write(t, edited), storeGen, j.Files), "output edited by hand")
	assert.Nil(t, Stands(write(t, same), nil, j.Files), "no store_gen.go")
	assert.Nil(t, Stands(t.TempDir(), storeGen, j.Files), "no output")
	assert.Nil(t, Stands(filepath.Join(t.TempDir(), "absent"), storeGen, j.Files), "no folder")
	other := *j.Files
	other.Queries = []sqlcode.File{{Name: "keys.sql", Data: append([]byte("-- x\n"), other.Queries[0].Data...)}}
	assert.Nil(t, Stands(write(t, same), storeGen, &other), "other input")
}

func TestComplaintsBecomeDiagnostics(t *testing.T) {
	t.Parallel()
	lite, pg := job(t, "sqlite", model.SQL), job(t, "postgresql", model.PGX)
	lite.Files.Schema.Data = []byte("CREATE TABLE x (a INTEGER;\n")
	pg.Files.Queries[0].Data = []byte("-- name: Claim :execrows\nDELETE FROM absent;\n")
	var r Runner
	var diags diag.List
	out, err := r.Compile(t.Context(), []Job{lite, job(t, "sqlite", model.SQL), pg}, &diags)
	require.NoError(t, err)
	assert.Nil(t, out)
	got := diags.Sorted()
	require.Len(t, got, 2, "%v", got)
	assert.Equal(t, CodeRefused, got[0].Code)
	assert.Equal(t, "postgresql.go", got[0].Pos.Filename)
	assert.Equal(t, `sqlc refuses keys.sql of package example.com/postgresql, line 1: relation "absent" does not exist`, got[0].Message)
	assert.Equal(t, "sqlite.go", got[1].Pos.Filename)
	assert.Contains(t, got[1].Message, "sqlc refuses schema.sql of package example.com/sqlite, line 1: ")
}

func TestTroubleWithoutAPlace(t *testing.T) {
	t.Parallel()
	j := job(t, "sqlite", model.SQL)
	j.Store.Engine = "oracle"
	var diags diag.List
	_, err := new(Runner).Compile(t.Context(), []Job{j}, &diags)
	require.NoError(t, err)
	got := diags.Sorted()
	require.Len(t, got, 1)
	assert.Equal(t, CodeFailed, got[0].Code)
	assert.Contains(t, got[0].Message, "oracle")
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := new(Runner).Compile(ctx, []Job{job(t, "sqlite", model.SQL)}, new(diag.List))
	require.ErrorIs(t, err, context.Canceled)
}

func TestRunsSideBySide(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			j := job(t, "sqlite", model.SQL)
			if i%2 == 0 {
				j.Files.Schema.Data = []byte("CREATE TABLE x (a INTEGER;\n")
			}
			var diags diag.List
			_, err := new(Runner).Compile(t.Context(), []Job{j}, &diags)
			assert.NoError(t, err)
			assert.Equal(t, i%2 == 0, diags.Len() > 0)
		})
	}
	wg.Wait()
}

// The whole of inProcess stands on this.
func TestTrapWorks(t *testing.T) {
	t.Parallel()
	assert.True(t, trapWorks())
	assert.Panics(t, func() { _, _ = trap().WriteString("x") })
}

func TestNothingOfOursStaysBehind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	stdout, stderr := os.Stdout, os.Stderr
	bad := job(t, "sqlite", model.SQL)
	bad.Files.Schema.Data = []byte("CREATE TABLE x (a INTEGER;\n")
	for _, j := range []Job{job(t, "sqlite", model.SQL), bad} {
		_, err := new(Runner).Compile(t.Context(), []Job{j}, new(diag.List))
		require.NoError(t, err)
		assert.Same(t, stdout, os.Stdout)
		assert.Same(t, stderr, os.Stderr)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestVersionIsGoMods(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "go.mod")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	mod, err := modfile.Parse(path, data, nil)
	require.NoError(t, err)
	for _, r := range mod.Require {
		if r.Mod.Path == sqlcModule {
			assert.Equal(t, r.Mod.Version, required)
			assert.Equal(t, r.Mod.Version, Version())
			return
		}
	}
	t.Fatal("go.mod does not require sqlc")
}
