package load

import (
	"context"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/directive"
)

// A tree is a folder of files to load from.
type tree struct {
	dir string
	env []string
}

// newTree writes the files of a txtar archive.
func newTree(t testing.TB, archive string) tree {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, f := range txtar.Parse([]byte(archive)).Files {
		write(t, filepath.Join(dir, f.Name), string(f.Data))
	}
	return tree{dir: dir, env: append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=")}
}

func write(t testing.TB, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
}

func (tr tree) load(t *testing.T, patterns ...string) (*Program, *diag.List) {
	t.Helper()
	return tr.loadConfig(t, Config{Dir: tr.dir, Patterns: patterns})
}

func (tr tree) loadConfig(t *testing.T, cfg Config) (*Program, *diag.List) {
	t.Helper()
	if cfg.Env == nil {
		cfg.Env = tr.env
	}
	var diags diag.List
	prog, err := Load(t.Context(), cfg, &diags)
	require.NoError(t, err)
	return prog, &diags
}

// show is a program in words, with paths relative to the tree.
func (tr tree) show(prog *Program, diags *diag.List) string {
	var b strings.Builder
	for _, p := range prog.Packages {
		fmt.Fprintf(&b, "package %s %s in %s of %s", p.Name, p.Path, tr.rel(p.Dir), p.Module.Path)
		if p.Constraint != "" {
			fmt.Fprintf(&b, " if %s", p.Constraint)
		}
		if p.Own != "" {
			fmt.Fprintf(&b, " own %s", tr.rel(p.Own))
		}
		for _, f := range p.Files {
			fmt.Fprintf(&b, " %s", filepath.Base(f.Name))
		}
		if obj := p.Types.Scope().Lookup("PlaceOrder"); obj != nil && strings.Contains(obj.String(), "invalid type") {
			fmt.Fprintf(&b, " %s", obj)
		}
		b.WriteString("\n")
	}
	for label, names := range map[string][]string{"own files": prog.OwnFiles, "own stores": prog.OwnStores, "foreign": prog.ForeignGen} {
		if len(names) > 0 {
			fmt.Fprintf(&b, "%s:", label)
			for _, n := range names {
				fmt.Fprintf(&b, " %s", tr.rel(n))
			}
			b.WriteString("\n")
		}
	}
	for _, d := range diags.Sorted() {
		if d.Pos.Filename != "" {
			d.Pos.Filename = tr.rel(d.Pos.Filename)
			fmt.Fprintf(&b, "%s: ", d.Pos)
		}
		fmt.Fprintf(&b, "%s %s | %s\n", d.Code, strings.ReplaceAll(d.Message, tr.dir, "$DIR"), d.Hint)
	}
	return b.String()
}

func (tr tree) rel(name string) string {
	rel, err := filepath.Rel(tr.dir, name)
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}

const goMod = `
-- go.mod --
module example.com/shop

go 1.25
`

const order = `package orders

import "context"

type OrderPlaced struct {
	ID string ` + "`idem:\"key\"`" + `
}

//idem:handler window=24h
func PlaceOrder(ctx context.Context, e OrderPlaced) error { return nil }
`

// What the tables of this file have in common: files, a call, and what comes of it.
type loadCase struct {
	name     string
	archive  string
	patterns []string
	tags     string
	want     string
}

func runCases(t *testing.T, cases []loadCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t, c.archive)
			prog, diags := tr.loadConfig(t, Config{Dir: tr.dir, Patterns: c.patterns, Tags: c.tags})
			assert.Equal(t, strings.TrimLeft(c.want, "\n"), tr.show(prog, diags))
			assert.LessOrEqual(t, prog.Loads, 1)
			for _, d := range diags.Sorted() {
				_, known := diag.Explain(d.Code)
				assert.True(t, known, d.Code)
				assert.NotEmpty(t, d.Hint)
			}
		})
	}
}

func TestLoadHits(t *testing.T) {
	t.Parallel()
	runCases(t, []loadCase{
		{
			name:    "the current folder",
			archive: goMod + "-- order.go --\n" + order + "-- other.go --\npackage orders\n\ntype Other struct{}\n-- sub/order.go --\n" + order,
			want:    "package orders example.com/shop in . of example.com/shop order.go other.go\n",
		},
		{
			name: "a tree, by go's rules",
			archive: goMod + "-- orders/order.go --\n" + order + "-- plain/plain.go --\npackage plain\n" +
				"-- testdata/x/order.go --\n" + order + "-- _x/order.go --\n" + order + "-- .x/order.go --\n" + order +
				"-- orders/_order.go --\nsyntax error\n-- nested/go.mod --\nmodule example.com/nested\n-- nested/order.go --\n" + order +
				"-- a/vendor/x/order.go --\n" + order + "-- deep/er/order.go --\n" + order,
			patterns: []string{"./..."},
			want: "package orders example.com/shop/deep/er in deep/er of example.com/shop order.go\n" +
				"package orders example.com/shop/orders in orders of example.com/shop order.go\n",
		},
		{
			name:     "a folder called vendor is a package like another",
			archive:  goMod + "-- supply/vendor/order.go --\n" + order,
			patterns: []string{"./..."},
			want:     "package orders example.com/shop/supply/vendor in supply/vendor of example.com/shop order.go\n",
		},
		{
			name: "what go.mod ignores",
			archive: "-- go.mod --\nmodule example.com/shop\n\ngo 1.25\n\nignore (\n\t./web\n\tnode_modules\n)\n" +
				"-- web/order.go --\n" + order + "-- a/node_modules/x/order.go --\n" + order + "-- a/web/order.go --\n" + order,
			patterns: []string{"./..."},
			want:     "package orders example.com/shop/a/web in a/web of example.com/shop order.go\n",
		},
		{
			name:     "several patterns that overlap",
			archive:  goMod + "-- a/order.go --\n" + order + "-- b/order.go --\n" + order + "-- c/order.go --\n" + order,
			patterns: []string{"./a", "./a/...", "example.com/shop/b", "./a"},
			want: "package orders example.com/shop/a in a of example.com/shop order.go\n" +
				"package orders example.com/shop/b in b of example.com/shop order.go\n",
		},
		{
			name:     "import path with a wildcard",
			archive:  goMod + "-- a/order.go --\n" + order + "-- a/b/order.go --\n" + order + "-- c/order.go --\n" + order,
			patterns: []string{"example.com/shop/a/..."},
			want: "package orders example.com/shop/a in a of example.com/shop order.go\n" +
				"package orders example.com/shop/a/b in a/b of example.com/shop order.go\n",
		},
		{
			name:     "a wildcard in the middle",
			archive:  goMod + "-- a/orders/order.go --\n" + order + "-- b/orders/order.go --\n" + order + "-- c/other/order.go --\n" + order,
			patterns: []string{"./.../orders"},
			want: "package orders example.com/shop/a/orders in a/orders of example.com/shop order.go\n" +
				"package orders example.com/shop/b/orders in b/orders of example.com/shop order.go\n",
		},
		{
			name:     "all",
			archive:  goMod + "-- a/order.go --\n" + order,
			patterns: []string{"all"},
			want:     "package orders example.com/shop/a in a of example.com/shop order.go\n",
		},
		{
			name:    "package main with an external test package",
			archive: goMod + "-- main.go --\n" + strings.Replace(order, "package orders", "package main", 1) + "\nfunc main() {}\n-- main_test.go --\npackage main_test\n",
			want:    "package main example.com/shop in . of example.com/shop main.go\n",
		},
		{
			name:    "strings, prose and commented-out directives are no hits",
			archive: goMod + "-- a.go --\npackage a\n\n// idem: as above\n// //idem:handler window=24h\nvar x = `\n//idem:handler window=24h\n`\n",
			want:    "IDEM104 no //idem: directive in . | are the handlers in a folder below? then write ./...; else write //idem:handler window=24h directly above a handler, and idem:\"key\" on its payload's business ID; idemgen help directives tells more\n",
		},
		{
			name:    "a misspelt directive is a hit",
			archive: goMod + "-- a.go --\npackage a\n\n// Idem:Handler\nfunc F() {}\n",
			want:    "package a example.com/shop in . of example.com/shop a.go\n",
		},
		{
			name:    "carriage returns and a byte order mark",
			archive: goMod + "-- a.go --\n\ufeff" + strings.ReplaceAll(order, "\n", "\r\n"),
			want:    "package orders example.com/shop in . of example.com/shop a.go\n",
		},
	})
}

func TestLoadOwnOutput(t *testing.T) {
	t.Parallel()
	const ours = "// Code generated by idemgen. DO NOT EDIT.\n\n"
	const uses = "\nvar svc = NewIdempotent()\n\ntype S struct{ i *Idempotent }\n\nfunc use() { svc.PlaceOrder() }\n"
	want := "package orders example.com/shop in . of example.com/shop own idem_gen.go order.go\n"
	runCases(t, []loadCase{
		{name: "stale", archive: goMod + "-- order.go --\n" + order + uses + "-- idem_gen.go --\n" + ours + "package orders\n\nvar _ = NoSuchHandler\n", want: want},
		{name: "the runtime is missing", archive: goMod + "-- order.go --\n" + order + uses + "-- idem_gen.go --\n" + ours + "package orders\n\nimport (\n\t\"github.com/idemgen/idemgen/runtime/idem\"\n\t\"example.com/shop/idemdb\"\n)\n\nvar _ = idem.X\n", want: want},
		{name: "missing", archive: goMod + "-- order.go --\n" + order + uses, want: "package orders example.com/shop in . of example.com/shop order.go\n"},
		{name: "empty", archive: goMod + "-- order.go --\n" + order + uses + "-- idem_gen.go --\n", want: want},
		{name: "truncated in the package clause", archive: goMod + "-- order.go --\n" + order + "-- idem_gen.go --\n" + ours + "package ord\n", want: want},
		{name: "truncated in the imports", archive: goMod + "-- order.go --\n" + order + "-- idem_gen.go --\n" + ours + "package orders\n\nimport (\n\t\"context", want: want},
		{name: "conflict at the top", archive: goMod + "-- order.go --\n" + order + "-- idem_gen.go --\n<<<<<<< HEAD\n" + ours + "package orders\n=======\n" + ours + "package orders\n>>>>>>> theirs\n", want: want},
		{name: "conflict further down", archive: goMod + "-- order.go --\n" + order + "-- idem_gen.go --\n" + ours + "package orders\n\n<<<<<<< HEAD\nimport \"x\"\n=======\nimport \"y\"\n>>>>>>> theirs\n", want: want},
		{name: "of the package's former name", archive: goMod + "-- order.go --\n" + order + "-- idem_gen.go --\n" + ours + "package formerly\n", want: want},
		{name: "with carriage returns", archive: goMod + "-- order.go --\n" + order + "-- idem_gen.go --\n" + strings.ReplaceAll(ours+"package orders\n", "\n", "\r\n"), want: want},
		{
			name:    "the last directive was removed",
			archive: goMod + "-- order.go --\npackage orders\n-- idem_gen.go --\n" + ours + "package orders\n-- idemdb/store_gen.go --\n" + ours + "package idemdb\n",
			want:    "own files: idem_gen.go\n",
		},
		{
			name:    "nothing but our output",
			archive: goMod + "-- idem_gen.go --\n" + ours + "package orders\n",
			want:    "own files: idem_gen.go\n",
		},
		{
			name:     "stores on the way and below",
			archive:  goMod + "-- a/b/order.go --\n" + order + "-- internal/idemdb/store_gen.go --\n" + ours + "package idemdb\n-- a/idemdb/keys.sql --\n-- Code generated by idemgen. DO NOT EDIT.\n-- c/idemdb/store_gen.go --\n" + ours + "package idemdb\n-- idemdb/store_gen.go --\npackage idemdb\n-- a/b/idemdb/sqlc.yaml --\n",
			patterns: []string{"./a/..."},
			want:     "package orders example.com/shop/a/b in a/b of example.com/shop order.go\nown stores: a/idemdb internal/idemdb\n",
		},
		{
			name:    "not ours",
			archive: goMod + "-- order.go --\n" + order + "-- idem_gen.go --\npackage orders\n\ntype X struct{}\n",
			want: "package orders example.com/shop in . of example.com/shop idem_gen.go order.go\nforeign: idem_gen.go\n" +
				"idem_gen.go:1:1: IDEM106 idemgen did not write this idem_gen.go, and does not overwrite it | rename or remove it: the generated code goes there\n",
		},
		{
			name:    "a folder in the way",
			archive: goMod + "-- order.go --\n" + order + "-- idem_gen.go/x.txt --\n",
			want: "package orders example.com/shop in . of example.com/shop order.go\nforeign: idem_gen.go\n" +
				"idem_gen.go:1:1: IDEM106 idemgen did not write this idem_gen.go, and does not overwrite it | rename or remove it: the generated code goes there\n",
		},
		{
			name:    "not ours, and no directive: none of our business",
			archive: goMod + "-- idem_gen.go --\npackage orders\n",
			want:    "IDEM104 no //idem: directive in . | are the handlers in a folder below? then write ./...; else write //idem:handler window=24h directly above a handler, and idem:\"key\" on its payload's business ID; idemgen help directives tells more\n",
		},
	})
}

// Bodies are gone, and a directive in one is still known to be there.
func TestLoadKeepsWhatAnalysisNeeds(t *testing.T) {
	t.Parallel()
	tr := newTree(t, goMod+"-- order.go --\n"+order+"\nfunc f() int {\n\t//idem:handler window=24h\n\treturn g(1, 2)\n}\n-- g.go --\npackage orders\n\nfunc g(int) int { return undefined }\n\ntype G struct{ A, B int }\n")
	prog, diags := tr.load(t)
	require.Zero(t, diags.Len())
	require.Len(t, prog.Packages, 1)
	p := prog.Packages[0]
	require.Len(t, p.Files, 2)
	assert.Nil(t, p.Files[0].Src, "g.go does not mention us")
	assert.Equal(t, "package orders", string(p.Files[1].Src[:14]))
	obj := p.Types.Scope().Lookup("PlaceOrder")
	require.NotNil(t, obj)
	assert.Equal(t, "func example.com/shop.PlaceOrder(ctx context.Context, e example.com/shop.OrderPlaced) error", obj.String())
	assert.Equal(t, filepath.Join(tr.dir, "order.go"), prog.Fset.Position(obj.Pos()).Filename)
	for _, f := range p.Files {
		for _, d := range f.Syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				assert.True(t, fn.Body == nil || len(fn.Body.List) == 0)
				assert.NotNil(t, p.Info.Defs[fn.Name])
			}
		}
	}
	var more diag.List
	assert.Len(t, directive.File(prog.Fset, p.Files[1].Syntax, &more), 1)
	require.Equal(t, 1, more.Len())
	assert.Equal(t, "//idem:handler cannot stand inside func f", more.Sorted()[0].Message)
	assert.Equal(t, 1, prog.Loads)
	assert.True(t, p.RuntimeMissing)
	assert.Equal(t, "1.25", p.Module.GoVersion)
	assert.Equal(t, tr.dir, p.Module.Dir)
}

func TestLoadCancelled(t *testing.T) {
	t.Parallel()
	tr := newTree(t, goMod+"-- order.go --\n"+order)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Load(ctx, Config{Dir: tr.dir, Env: tr.env}, &diag.List{})
	assert.ErrorIs(t, err, context.Canceled)
}

// go.mod and go.sum stay as they are, even if the user's settings let the go command change them.
func TestLoadLeavesGoModAlone(t *testing.T) {
	t.Parallel()
	tr := newTree(t, goMod+"-- order.go --\n"+order+"-- b.go --\npackage orders\n\nimport _ \"example.com/missing\"\n")
	prog, diags := tr.load(t)
	require.Zero(t, diags.Len())
	require.Len(t, prog.Packages, 1)
	text, err := os.ReadFile(filepath.Join(tr.dir, "go.mod"))
	require.NoError(t, err)
	assert.Equal(t, "module example.com/shop\n\ngo 1.25\n", string(text))
	_, err = os.Stat(filepath.Join(tr.dir, "go.sum"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}
