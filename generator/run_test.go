package generator_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/generator"
)

// module writes a Go module into a new folder. It needs nothing but the standard library.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{"go.mod": "module example.com/shop\n\ngo 1.25.0\n"})
	write(t, dir, files)
	return dir
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// read returns all files below dir.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[slashed(dir, path)] = string(text)
		return err
	}))
	return files
}

func slashed(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

func relative(dir string, paths []string) []string {
	out := []string{}
	for _, p := range paths {
		out = append(out, slashed(dir, p))
	}
	return out
}

// handler is a package with one handler on SQLite; settings are arguments of //idem:package.
func handler(pkg, name, settings string) string {
	return fmt.Sprintf(`package %s

import (
	"context"
	"database/sql"
)

//idem:package engine=sqlite %s

type %s struct {
	ID    string %[4]sidem:"key"%[4]s
	Total int    %[4]sidem:"fingerprint"%[4]s
}

//idem:handler window=24h
func Handle%[3]s(ctx context.Context, tx *sql.Tx, e %[3]s) (string, error) { return e.ID, nil }
`, pkg, settings, name, "`")
}

func run(t *testing.T, dir string, mode generator.Mode) *generator.Result {
	t.Helper()
	result, err := generator.Run(t.Context(), generator.Config{Dir: dir, Patterns: []string{"./..."}, Mode: mode})
	if err != nil {
		var text bytes.Buffer
		if d, ok := err.(*generator.DiagnosticsError); ok {
			require.NoError(t, generator.PrintDiagnostics(&text, dir, d.Diagnostics))
		}
		require.NoError(t, err, "%s", &text)
	}
	return result
}

func TestManyPackagesOneLoadOneSQLC(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{
		"a/a.go": handler("a", "A", ""), "b/b.go": handler("b", "B", "table=b_keys"), "c/c.go": handler("c", "C", ""),
	})
	check := run(t, dir, generator.Check)
	assert.Empty(t, check.Written)
	assert.Len(t, check.Changes, 3+3*7)
	assert.Equal(t, map[string]string{}, only(read(t, dir), "_gen.go"), "check writes nothing")

	first := run(t, dir, generator.Generate)
	assert.Equal(t, 1, first.Loads)
	assert.Equal(t, 1, first.SQLCRuns)
	written := relative(dir, first.Written)
	assert.Equal(t, relative(dir, paths(check.Changes)), written)
	assert.Len(t, written, 3+3*7)
	assert.Equal(t, []string{"a/idemdb/sqlc.yaml", "b/idemdb/sqlc.yaml", "c/idemdb/sqlc.yaml"}, written[:3])
	assert.Equal(t, []string{"a/idemdb/store_gen.go", "b/idemdb/store_gen.go", "c/idemdb/store_gen.go"}, written[len(written)-3:])
	assert.Equal(t, "go get github.com/idemgen/idemgen/runtime@latest && go mod tidy", first.RuntimeGet)

	second := run(t, dir, generator.Generate)
	assert.Empty(t, second.Written)
	assert.Empty(t, second.Removed)
	assert.Zero(t, second.SQLCRuns, "the stamps stand")
	assert.Empty(t, run(t, dir, generator.Check).Changes)
}

func only(files map[string]string, suffix string) map[string]string {
	maps.DeleteFunc(files, func(name, _ string) bool { return !strings.HasSuffix(name, suffix) })
	return files
}

func paths(changes []generator.Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, c.Path)
	}
	return out
}

func TestSharedStore(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{
		"a/a.go": handler("a", "A", "out=../idemdb"), "b/b.go": handler("b", "B", "out=../idemdb"),
	})
	result := run(t, dir, generator.Generate)
	assert.Len(t, result.Written, 2+7)
	files := read(t, dir)
	assert.Contains(t, files["a/idem_gen.go"], `"example.com/shop/idemdb"`)
	assert.Contains(t, files["b/idem_gen.go"], `"example.com/shop/idemdb"`)

	// Each run rewrites only what is its own.
	write(t, dir, map[string]string{"a/idem_gen.go": "", "b/idem_gen.go": ""})
	result, err := generator.Run(t.Context(), generator.Config{Dir: filepath.Join(dir, "a")})
	require.NoError(t, err)
	assert.Equal(t, []string{"a/idem_gen.go"}, relative(dir, result.Written))
	assert.Zero(t, result.SQLCRuns)
}

func TestWhatHasLostItsReasonGoes(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"a/a.go": handler("a", "A", ""), "b/b.go": handler("b", "B", "")})
	run(t, dir, generator.Generate)
	write(t, dir, map[string]string{"b/b.go": "package b\n", "a/idemdb/old.sql.go": "// Code generated by sqlc. DO NOT EDIT.\n\npackage idemdb\n"})
	check := run(t, dir, generator.Check)
	for _, c := range check.Changes {
		if strings.HasPrefix(slashed(dir, c.Path), "b/") {
			assert.Equal(t, generator.Orphan, c.Kind, c.Path)
		}
	}
	result := run(t, dir, generator.Generate)
	assert.Equal(t, []string{
		"a/idemdb/old.sql.go", "b/idem_gen.go", "b/idemdb/db.go", "b/idemdb/keys.sql", "b/idemdb/keys.sql.go",
		"b/idemdb/models.go", "b/idemdb/schema.sql", "b/idemdb/store_gen.go", "b/idemdb/sqlc.yaml", "b/idemdb",
	}, relative(dir, result.Removed))
	assert.Empty(t, result.Written)
	assert.Empty(t, run(t, dir, generator.Check).Changes)
}

func TestAnyFaultAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]map[string]string{
		"source":   {"b/b.go": strings.Replace(handler("b", "B", ""), "window=24h", "window=1s", 1)},
		"foreign":  {"a/idemdb/keys.sql": "SELECT 1;\n"},
		"in a way": {"b/idemdb": "a file\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := module(t, map[string]string{"a/a.go": handler("a", "A", ""), "b/b.go": handler("b", "B", "")})
			write(t, dir, fault)
			before := read(t, dir)
			result, err := generator.Run(t.Context(), generator.Config{Dir: dir, Patterns: []string{"./..."}})
			var diagnostics *generator.DiagnosticsError
			require.ErrorAs(t, err, &diagnostics)
			assert.Contains(t, err.Error(), string(diagnostics.Diagnostics[0].Code))
			assert.Empty(t, result.Written)
			assert.Equal(t, before, read(t, dir))
		})
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"a/a.go": handler("a", "A", "")})
	before := read(t, dir)
	result := run(t, dir, generator.List)
	require.Len(t, result.Handlers, 1)
	h := result.Handlers[0]
	assert.Equal(t, "a/a.go:16:6", fmt.Sprintf("%s:%d:%d", slashed(dir, h.Pos.Filename), h.Pos.Line, h.Pos.Column))
	assert.Equal(t, generator.HandlerInfo{
		Name: "a.HandleA", Package: "example.com/shop/a", Func: "HandleA", Key: "ID:string", Fingerprint: []string{"Total"},
		Window: "24h", Mode: "transaction", Engine: "sqlite", Driver: "sql", Pos: h.Pos,
	}, h)
	assert.Equal(t, before, read(t, dir))
}

func TestAPanicAsksForAReport(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"a/a.go": handler("a", "A", "")})
	_, err := generator.Run(t.Context(), generator.Config{
		Dir: dir, Patterns: []string{"./..."}, Progress: func(string) { panic("oops") },
	})
	require.ErrorContains(t, err, "bug in idemgen: panic: oops")
	require.ErrorContains(t, err, "report it")
	require.ErrorContains(t, err, "run_test.go", "the stack is in it")
}

func TestStagesAndCancelling(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"a/a.go": handler("a", "A", "")})
	var stages []string
	ctx, cancel := context.WithCancel(t.Context())
	cfg := generator.Config{Dir: dir, Patterns: []string{"./..."}, Progress: func(stage string) {
		stages = append(stages, stage)
		if stage == "writing files" {
			cancel()
		}
	}}
	_, err := generator.Run(ctx, cfg)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []string{"loading packages", "analyzing handlers", "compiling SQL", "writing files"}, stages)
	assert.Empty(t, only(read(t, dir), "_gen.go"))
	_, err = generator.Run(ctx, cfg)
	require.ErrorIs(t, err, context.Canceled)
}
