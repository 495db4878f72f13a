package gocode

import (
	"flag"
	"go/format"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/header"
	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/sqlcode"
	"github.com/idemgen/idemgen/generator/internal/sqlcrun"
)

var update = flag.Bool("update", false, "rewrite the generated files in testdata/src")

func typesInterface(t *types.Named) *types.Interface { return t.Underlying().(*types.Interface) }

// TestGenerated compares what is rendered with what stands in testdata/src, where people can read it, and then has the
// go command compile and vet it.
func TestGenerated(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		got, err := Package(cases[name](t))
		require.NoError(t, err, name)
		compare(t, filepath.Join(sourceDir, name, PackageFile), got)
		wellFormed(t, name, got)
	}
	compareStores(t)
	cmd := exec.CommandContext(t.Context(), "go", "vet", "-tags=integration", "./...")
	cmd.Dir = sourceDir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func compare(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "-update writes it")
	assert.Equal(t, string(want), string(got), path)
}

// wellFormed checks what holds for all generated code.
func wellFormed(t *testing.T, name string, code []byte) {
	t.Helper()
	formatted, err := format.Source(code)
	require.NoError(t, err, name)
	assert.Equal(t, string(formatted), string(code), "%s: gofmt", name)
	assert.True(t, strings.HasPrefix(string(code), header.Go+"\n"), "%s: header", name)
	for line := range strings.Lines(string(code)) {
		wide := len(strings.TrimRight(line, "\n")) + strings.Count(line, "\t")*(tabWidth-1)
		if !strings.HasPrefix(line, "// key shape: ") {
			assert.LessOrEqual(t, wide, width, "%s: %s", name, line)
		}
	}
}

// compareStores does the same for the stores that the packages use, sqlc's part of them included.
func compareStores(t *testing.T) {
	t.Helper()
	stores := map[string]*model.Store{
		"idemdb":      {Name: "idemdb", Engine: "postgresql", Driver: model.PGX, Schema: "Billing", Table: "idempotency_keys"},
		"sql/idemdb":  {Name: "idemdb", Engine: "postgresql", Driver: model.SQL, Table: "keys"},
		"my/idemdb":   {Name: "idemdb", Engine: "mysql", Driver: model.SQL, Schema: "billing", Table: "keys"},
		"lite/idemdb": {Name: "idemdb", Engine: "sqlite", Driver: model.SQL, Table: "idempotency_keys"},
	}
	for _, dir := range slices.Sorted(maps.Keys(stores)) {
		in, err := sqlcode.Render(stores[dir])
		require.NoError(t, err)
		var diags diag.List
		out, err := new(sqlcrun.Runner).Compile(t.Context(), []sqlcrun.Job{{Store: stores[dir], Files: in}}, &diags)
		require.NoError(t, err)
		require.Empty(t, diags.Sorted())
		for _, f := range append(in.All(), out[0]...) {
			compare(t, filepath.Join(sourceDir, dir, f.Name), f.Data)
		}
		code, err := Store(stores[dir], sqlcode.Table(stores[dir]), sqlcrun.StampPrefix+"0")
		require.NoError(t, err)
		compare(t, filepath.Join(sourceDir, dir, StoreFile), code)
		wellFormed(t, dir, code)
	}
}

func TestSameModelSameBytes(t *testing.T) {
	t.Parallel()
	for name, build := range cases {
		first, err := Package(build(t))
		require.NoError(t, err)
		for range 50 {
			again, err := Package(build(t))
			require.NoError(t, err)
			require.Equal(t, string(first), string(again), name)
		}
	}
}

// Whatever analyze lets through by mistake must not become a file.
func TestBugsAreReported(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(*model.Package){
		"no store":   func(p *model.Package) { p.Store = nil },
		"no key":     func(p *model.Package) { p.Groups[0].Handlers[0].Key = nil },
		"no payload": func(p *model.Package) { p.Groups[0].Handlers[0].Payload = -1 },
		"encoding":   func(p *model.Package) { p.Groups[0].Handlers[0].Key[0].Encode = "map" },
		"kind":       func(p *model.Package) { p.Groups[0].Type = nil },
		"zero": func(p *model.Package) {
			part := &p.Groups[0].Handlers[0].Key[0]
			part.Encode, part.Zero, part.Type = model.Text, model.ZeroByValue, types.NewSlice(part.Type)
		},
		"syntax": func(p *model.Package) { p.Groups[0].Name = "not a name" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := cases["orders"](t)
			breakIt(p)
			_, err := Package(p)
			require.ErrorContains(t, err, "bug in idemgen")
		})
	}
	for _, s := range []*model.Store{{Engine: "sqlite", Driver: model.PGX}, {Engine: "mysql", Driver: model.PGX}, {Engine: "mysql"}} {
		_, err := Store(s, "", "")
		require.ErrorContains(t, err, "bug in idemgen")
	}
}
