package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/generator"
)

// manyPackages is the input of a module with n packages, each with a store of its own or a shared one.
func manyPackages(t *testing.T, n int) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	addModule(t, "many", files)
	for i := range n {
		name := fmt.Sprintf("p%d", i)
		out := ""
		if i%3 == 0 {
			out = "\n//idem:package engine=postgresql out=idemdb table=keys_" + name + "\n"
		}
		files[name+"/"+name+".go"] = fmt.Appendf(nil, `package %s

import (
	"context"

	"github.com/jackc/pgx/v5"
)
%s
type Event struct {
	Tenant string %s
	ID     int64  %[3]s
}

type Service struct{}

//idem:handler window=24h
func (Service) First(ctx context.Context, tx pgx.Tx, e Event) (string, error) { return "", nil }

//idem:handler window=24h
func (Service) Second(ctx context.Context, tx pgx.Tx, e *Event) error { return nil }

//idem:handler window=24h
func Third(ctx context.Context, tx pgx.Tx, n int, e Event) error { return nil }
`, name, out, "`idem:\"key\"`")
	}
	return files
}

func writeFiles(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, data, 0o644))
	}
}

// Whatever the number of packages, the go command loads once and sqlc runs once, and not at all when nothing changed.
func TestOneLoadAndOneSQLCRun(t *testing.T) {
	t.Parallel()
	dir := realTempDir(t)
	writeFiles(t, dir, manyPackages(t, 7))
	cfg := generator.Config{Dir: dir, Patterns: []string{"./..."}}

	first, err := generator.Run(t.Context(), cfg)
	require.NoError(t, err)
	assert.Len(t, first.Handlers, 21)
	assert.NotEmpty(t, first.Written)
	assert.Equal(t, 1, first.Loads)
	assert.Equal(t, 1, first.SQLCRuns)

	second, err := generator.Run(t.Context(), cfg)
	require.NoError(t, err)
	assert.Empty(t, second.Written)
	assert.Equal(t, 1, second.Loads)
	assert.Equal(t, 0, second.SQLCRuns)

	// One changed handler concerns no SQL.
	files := manyPackages(t, 7)
	changed := strings.ReplaceAll(string(files["p1/p1.go"]), "Second", "Changed")
	writeFiles(t, dir, map[string][]byte{"p1/p1.go": []byte(changed)})
	third, err := generator.Run(t.Context(), cfg)
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "p1", "idem_gen.go")}, third.Written)
	assert.Equal(t, 0, third.SQLCRuns)
}

// Fifty runs in other folders, with the packages named in another order each time, give the same bytes.
func TestShuffledRuns(t *testing.T) {
	t.Parallel()
	const packages, runs = 7, 50
	files := manyPackages(t, packages)
	var want map[string]string
	for i := range runs {
		patterns := make([]string, 0, packages)
		for _, p := range rand.Perm(packages) {
			patterns = append(patterns, fmt.Sprintf("./p%d", p))
		}
		dir := realTempDir(t)
		writeFiles(t, dir, files)
		code, _, stderr := runIn(t, dir, patterns)
		require.Zero(t, code, stderr)
		got := readTree(t, dir).contents()
		for name, data := range got {
			require.NotContains(t, data, dir, "%s has a path of this machine in it", name)
		}
		if i == 0 {
			want = got
		}
		require.Equal(t, want, got, "patterns %q", patterns)
	}
}

// The sources of one module with CRLF and with LF line ends give the same bytes.
func TestLineEnds(t *testing.T) {
	t.Parallel()
	outputs := map[bool]map[string]string{}
	for _, crlf := range []bool{false, true} {
		dir := realTempDir(t)
		files := manyPackages(t, 3)
		for name, data := range files {
			if crlf && strings.HasSuffix(name, ".go") {
				files[name] = []byte(strings.ReplaceAll(string(data), "\n", "\r\n"))
			}
		}
		writeFiles(t, dir, files)
		code, _, stderr := runIn(t, dir, []string{"./..."})
		require.Zero(t, code, stderr)
		out := readTree(t, dir).contents()
		for name := range files {
			delete(out, name)
		}
		outputs[crlf] = out
	}
	require.NotEmpty(t, outputs[false])
	assert.Equal(t, outputs[false], outputs[true])
}
