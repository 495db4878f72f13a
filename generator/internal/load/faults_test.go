package load

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/generator/internal/diag"
)

func TestLoadPatternFaults(t *testing.T) {
	t.Parallel()
	shop := goMod + "-- orders/order.go --\n" + order
	runCases(t, []loadCase{
		{name: "no folder", archive: shop, patterns: []string{"./ordres"}, want: "IDEM101 pattern ./ordres: there is no folder ordres | " + patternHint + "\n"},
		{name: "no tree", archive: shop, patterns: []string{"./x/..."}, want: "IDEM101 pattern ./x/...: there is no folder x | " + patternHint + "\n"},
		{name: "empty", archive: shop, patterns: []string{""}, want: "IDEM101 there is an empty pattern | " + patternHint + "\n"},
		{name: "a flag", archive: shop, patterns: []string{"-v"}, want: "IDEM101 -v is not a pattern | flags stand before the patterns\n"},
		{name: "a file", archive: shop, patterns: []string{"orders/order.go"}, want: "IDEM101 orders/order.go is a file | give its folder: a package is loaded as a whole\n"},
		{name: "a file as a path", archive: shop, patterns: []string{"./orders/order.go"}, want: "IDEM101 ./orders/order.go is a file | give its folder: a package is loaded as a whole\n"},
		{name: "without ./", archive: shop, patterns: []string{"orders"}, want: "IDEM101 pattern orders is no import path of the module | did you mean ./orders?\n"},
		{name: "without ./ a tree", archive: shop, patterns: []string{"orders/..."}, want: "IDEM101 pattern orders/... is no import path of the module | did you mean ./orders/...?\n"},
		{name: "no Go files", archive: shop, want: "IDEM102 no packages are given, and this folder has no Go files | run idemgen ./...\n"},
		{name: "no Go files in a tree", archive: shop + "-- web/a.js --\n", patterns: []string{"./web/..."}, want: "IDEM102 pattern ./web/...: there are no Go files | " + patternHint + "\n"},
		{name: "an unknown package of the module", archive: shop, patterns: []string{"example.com/shop/x"}, want: "IDEM102 pattern example.com/shop/x: module example.com/shop has no such package | " + patternHint + "\n"},
		{name: "a wildcard that matches nothing", archive: shop, patterns: []string{"example.com/shop/x/..."}, want: "IDEM102 pattern example.com/shop/x/...: there are no Go files | " + patternHint + "\n"},
		{name: "another module's path", archive: shop, patterns: []string{"example.com/other/..."}, want: "IDEM103 pattern example.com/other/... leads outside module example.com/shop | run idemgen in the module that it belongs to (-C DIR)\n"},
		{name: "the standard library", archive: shop, patterns: []string{"fmt"}, want: "IDEM103 pattern fmt leads outside module example.com/shop | run idemgen in the module that it belongs to (-C DIR)\n"},
		{name: "above", archive: shop, patterns: []string{".."}, want: "IDEM103 pattern .. leads outside module example.com/shop | run go mod init there first\n"},
		{name: "a nested module", archive: shop + "-- n/go.mod --\nmodule example.com/n\n-- n/order.go --\n" + order, patterns: []string{"./n"}, want: "IDEM103 pattern ./n leads outside module example.com/shop | run idemgen in the module that it belongs to (-C DIR)\n"},
		{name: "a tree in a nested module", archive: shop + "-- n/go.mod --\nmodule example.com/n\n-- n/order.go --\n" + order, patterns: []string{"./n/..."}, want: "IDEM103 pattern ./n/... leads outside module example.com/shop | run idemgen in the module that it belongs to (-C DIR)\n"},
		{name: "a nested module by its path", archive: shop + "-- n/go.mod --\nmodule example.com/shop/n\n-- n/order.go --\n" + order, patterns: []string{"example.com/shop/n"}, want: "IDEM102 pattern example.com/shop/n: module example.com/shop has no such package | " + patternHint + "\n"},
		{name: "several", archive: shop, patterns: []string{"./orders", "./x", "fmt"}, want: "package orders example.com/shop/orders in orders of example.com/shop order.go\n" +
			"IDEM101 pattern ./x: there is no folder x | " + patternHint + "\nIDEM103 pattern fmt leads outside module example.com/shop | run idemgen in the module that it belongs to (-C DIR)\n"},
		{name: "tags without a directive", archive: goMod + "-- a.go --\npackage a\n\ntype E struct {\n\tID string `idem:\"key\"`\n}\n", want: "a.go: IDEM104 there are idem tags here, but no //idem: directive anywhere | write //idem:handler window=24h directly above the handler of this payload\n"},
		{name: "no go.mod", archive: "-- order.go --\n" + order, want: "IDEM100 there is no go.mod in $DIR or above | run idemgen inside the module, or with -C DIR; if there is none yet, run go mod init in its root first\n"},
		{name: "broken go.mod", archive: "-- go.mod --\nmodule example.com/shop\n\nrequire (\n-- order.go --\n" + order, want: "go.mod:4:1: IDEM109 syntax error (unterminated block started at $DIR/go.mod:3:1) | mend the file\n"},
		{name: "go.mod without a module", archive: "-- go.mod --\ngo 1.25\n-- order.go --\n" + order, want: "go.mod:1:1: IDEM109 there is no module line | write module example.com/name in the first line\n"},
	})
}

// What the go command itself says is passed on, also where package packages drops it.
func TestLoadUntidy(t *testing.T) {
	t.Parallel()
	dep := "-- dep/go.mod --\nmodule example.com/dep\n\ngo 1.25\n\nrequire example.com/deeper v1.1.0\n-- dep/dep.go --\npackage dep\n" +
		"-- deeper/go.mod --\nmodule example.com/deeper\n"
	mod := "-- go.mod --\nmodule example.com/shop\n\ngo 1.25\n\nrequire (\n\texample.com/dep v1.0.0\n\texample.com/deeper v1.0.0\n)\n\n" +
		"replace (\n\texample.com/dep => ./dep\n\texample.com/deeper => ./deeper\n)\n"
	src := strings.Replace(order, "import \"context\"\n", "import (\n\t\"context\"\n\n\t_ \"example.com/dep\"\n)\n", 1)
	tr := newTree(t, mod+dep+"-- order.go --\n"+src+"-- sub/order.go --\n"+order)
	prog, diags := tr.load(t, "./...")
	assert.Empty(t, prog.Packages)
	require.Equal(t, 1, diags.Len(), "it is said once")
	d := diags.Sorted()[0]
	assert.Equal(t, codeGo, d.Code)
	assert.Contains(t, d.Message, "go: updates to go.mod needed")
	assert.Contains(t, d.Message, "to update it:\n\tgo mod tidy")
}

// A module for a later Go than is installed is no reason to blame idemgen.
func TestLoadOlderToolchain(t *testing.T) {
	t.Parallel()
	tr := newTree(t, "-- go.mod --\nmodule example.com/shop\n\ngo 1.999\n-- order.go --\n"+order)
	_, diags := tr.load(t)
	require.Equal(t, 1, diags.Len())
	d := diags.Sorted()[0]
	assert.Equal(t, codeSkew, d.Code)
	assert.Contains(t, d.Message, "the go command is too old: go: go.mod requires go >= 1.999 (running go")
}

func TestLoadBrokenGo(t *testing.T) {
	t.Parallel()
	runCases(t, []loadCase{
		{
			name:    "a file with a directive",
			archive: goMod + "-- order.go --\n" + order + "\nfunc broken( {\n}\n",
			want:    "order.go:12:14: IDEM105 expected ')', found '{' | let gofmt accept the file first\n",
		},
		{
			name:    "a file with a tag only",
			archive: goMod + "-- order.go --\n" + order + "-- p.go --\npackage orders\n\ntype P struct {\n\tID string `idem:\"key\"`\n\tX Y Z\n}\n",
			want:    "p.go:5:6: IDEM105 expected ';', found Z | let gofmt accept the file first\n",
		},
		{
			name:    "no package clause",
			archive: goMod + "-- order.go --\n//idem:handler window=24h\nfunc F() {}\n",
			want:    "order.go:2:1: IDEM105 expected 'package', found 'func' | let gofmt accept the file first\n",
		},
		{
			name:    "a neighbour is broken",
			archive: goMod + "-- order.go --\n" + order + "-- broken.go --\npackage orders\n\nfunc ) {\n-- broken2.go --\nno Go at all\n-- broken3.go --\n",
			want:    "package orders example.com/shop in . of example.com/shop broken.go broken2.go broken3.go order.go\n",
		},
		{
			name:    "a neighbour does not type-check",
			archive: goMod + "-- order.go --\n" + order + "-- broken.go --\npackage orders\n\nvar x int = \"a\"\n\nfunc f() { undefined() }\n",
			want:    "package orders example.com/shop in . of example.com/shop broken.go order.go\n",
		},
		{
			name:    "two packages in one folder",
			archive: goMod + "-- a.go --\npackage a\n-- order.go --\n" + order,
			want:    "order.go:9:1: IDEM109 this file is of package orders, and its folder of package a | a folder holds one package: move or rename one of them\n",
		},
		{
			name:    "a missing module and a missing package",
			archive: goMod + "-- order.go --\n" + order + "-- b.go --\npackage orders\n\nimport (\n\t\"example.com/missing\"\n\t\"example.com/shop/idemdb\"\n)\n\nvar _ = missing.X(idemdb.Store)\n",
			want:    "package orders example.com/shop in . of example.com/shop b.go order.go\n",
		},
		{
			name:     "an import cycle",
			archive:  goMod + "-- order.go --\n" + order + "-- b.go --\npackage orders\n\nimport _ \"example.com/shop/sub\"\n-- sub/sub.go --\npackage sub\n\nimport _ \"example.com/shop\"\n",
			patterns: []string{"./..."},
			want:     "package orders example.com/shop in . of example.com/shop b.go order.go\n",
		},
		{
			name:    "a directive in a test file",
			archive: goMod + "-- order.go --\n" + order + "-- order_test.go --\npackage orders\n\n//idem:handler window=24h\nfunc f() {}\n",
			want:    "package orders example.com/shop in . of example.com/shop order.go\norder_test.go:3:1: IDEM111 a directive in a test file has no effect | move the handler to a file that is part of the package\n",
		},
		{
			name:    "directives in test files only",
			archive: goMod + "-- order_test.go --\npackage orders\n\n//idem:handler window=24h\nfunc f() {}\n",
			want:    "order_test.go:3:1: IDEM111 a directive in a test file has no effect | move the handler to a file that is part of the package\n",
		},
	})
}

func TestLoadConstraints(t *testing.T) {
	t.Parallel()
	tagged := func(expr string) string { return "//go:build " + expr + "\n\n" + order }
	other := strings.ReplaceAll(strings.ReplaceAll(order, "PlaceOrder", "CancelOrder"), "OrderPlaced", "OrderCancelled")
	foreignOS := "windows"
	if runtime.GOOS == "windows" {
		foreignOS = "linux"
	}
	runCases(t, []loadCase{
		{
			name: "with its tag", tags: "integration",
			archive: goMod + "-- a.go --\npackage orders\n-- order.go --\n" + tagged("integration"),
			want:    "package orders example.com/shop in . of example.com/shop if integration a.go order.go\n",
		},
		{
			name: "with two tags", tags: "b a",
			archive: goMod + "-- order.go --\n// A comment.\n\n" + tagged("(a&&b) && !c"),
			want:    "package orders example.com/shop in . of example.com/shop if a && b && !c order.go\n",
		},
		{
			name:    "without its tag",
			archive: goMod + "-- a.go --\npackage orders\n-- order.go --\n" + tagged("integration && !race"),
			want:    "order.go:11:1: IDEM107 this build leaves the file out: it is only for integration && !race | run idemgen with -tags integration\n",
		},
		{
			name:    "the only file is left out",
			archive: goMod + "-- order.go --\n" + tagged("integration"),
			want:    "order.go:11:1: IDEM107 this build leaves the file out: it is only for integration | run idemgen with -tags integration\n",
		},
		{
			name: "left out by a tag that is given", tags: "mock",
			archive: goMod + "-- order.go --\n" + tagged("!mock"),
			want:    "order.go:11:1: IDEM107 this build leaves the file out: it is only for !mock | run idemgen without the tags that the constraint excludes (-tags)\n",
		},
		{
			name:    "by the file's name",
			archive: goMod + "-- order_" + foreignOS + ".go --\n" + order,
			want:    "order_" + foreignOS + ".go:9:1: IDEM107 this build leaves the file out: it is only for " + foreignOS + " | run idemgen with the environment variable GOOS set to a system that the constraint allows\n",
		},
		{
			name:    "by the file's name, taken in",
			archive: goMod + "-- order_" + runtime.GOOS + ".go --\n" + order,
			want:    "package orders example.com/shop in . of example.com/shop if " + runtime.GOOS + " order_" + runtime.GOOS + ".go\n",
		},
		{
			name: "the same in several files", tags: "integration",
			archive: goMod + "-- order.go --\n" + tagged("integration") + "-- cancel.go --\n//go:build  integration\n" + other,
			want:    "package orders example.com/shop in . of example.com/shop if integration cancel.go order.go\n",
		},
		{
			name: "different in several files", tags: "integration",
			archive: goMod + "-- order.go --\n" + tagged("integration") + "-- cancel.go --\n" + other,
			want: "package orders example.com/shop in . of example.com/shop cancel.go order.go\n" +
				"order.go:11:1: IDEM108 this file is built for integration, but cancel.go always | " + constraintsHint + "\n",
		},
		{
			name:    "some are left out",
			archive: goMod + "-- order.go --\n" + tagged("integration") + "-- cancel.go --\n" + other,
			want: "package orders example.com/shop in . of example.com/shop cancel.go\n" +
				"order.go:11:1: IDEM108 this file is built for integration, but cancel.go always | " + constraintsHint + "\n",
		},
		{
			name:    "ignore is ignored",
			archive: goMod + "-- order.go --\n" + order + "-- gen.go --\n//go:build ignore\n\npackage main\n\n//idem:handler window=24h\nfunc f() {}\n",
			want:    "package orders example.com/shop in . of example.com/shop order.go\n",
		},
		{
			name: "what has no directive may differ", tags: "integration",
			archive: goMod + "-- order.go --\n" + order + "-- a.go --\n//go:build integration\n\npackage orders\n-- b.go --\n//go:build never\n\npackage orders\n\ntype T struct {\n\tID string `idem:\"key\"`\n}\n",
			want:    "package orders example.com/shop in . of example.com/shop a.go order.go\n",
		},
	})
}

const constraintsHint = "one idem_gen.go serves the whole package: give all of its files with directives the same build constraint, or let the files of one constraint be a package of their own"

func TestLoadWorkspace(t *testing.T) {
	t.Parallel()
	archive := "-- go.work --\ngo 1.25\n\nuse (\n\t./a\n\t./a/nested\n\t./b\n)\n" +
		"-- a/go.mod --\nmodule example.com/a\n\ngo 1.25\n-- a/order.go --\n" + order +
		"-- a/nested/go.mod --\nmodule example.com/a/nested\n\ngo 1.25\n-- a/nested/order.go --\n" + order +
		"-- b/go.mod --\nmodule example.com/b\n\ngo 1.25\n\nrequire github.com/idemgen/idemgen/runtime v0.1.0\n-- b/order.go --\n" + strings.Replace(order, "package orders\n", "package b\n\nimport _ \"example.com/a\"\n", 1) +
		"-- c/go.mod --\nmodule example.com/c\n\ngo 1.25\n-- c/order.go --\n" + order + "-- tools/go.mod --\nmodule example.com/tools\n"
	const a = "package orders example.com/a in a of example.com/a order.go\n"
	const nested = "package orders example.com/a/nested in a/nested of example.com/a/nested order.go\n"
	const b = "package b example.com/b in b of example.com/b order.go\n"
	for name, c := range map[string]struct {
		dir, want string
		patterns  []string
	}{
		"the root, which is no module": {dir: ".", patterns: []string{"./..."}, want: a + nested + b},
		"one module":                   {dir: "a", want: a},
		"its tree":                     {dir: "a", patterns: []string{"./..."}, want: a + nested},
		"another by its path":          {dir: "a", patterns: []string{"example.com/a/nested"}, want: nested},
		"a tree by its path":           {dir: "b", patterns: []string{"example.com/a/..."}, want: a + nested},
		"a module that is not used":    {dir: "c", want: "IDEM103 pattern . leads outside the workspace $DIR/go.work | add its module by go work use, or run idemgen with GOWORK=off in it\n"},
		"an unused module's tree":      {dir: ".", patterns: []string{"./c/..."}, want: "IDEM103 pattern ./c/... leads outside the workspace go.work | add its module by go work use, or run idemgen with GOWORK=off in it\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t, archive)
			prog, diags := tr.loadConfig(t, Config{Dir: filepath.Join(tr.dir, c.dir), Patterns: c.patterns, Env: append(tr.env, "GOFLAGS=")})
			assert.Equal(t, c.want, tr.show(prog, diags))
			for _, p := range prog.Packages {
				assert.False(t, p.RuntimeMissing, "one module of the workspace requires it")
			}
		})
	}
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		tr := newTree(t, archive)
		prog, diags := tr.loadConfig(t, Config{Dir: filepath.Join(tr.dir, "c"), Env: append(tr.env, "GOWORK=off")})
		assert.Equal(t, "package orders example.com/c in c of example.com/c order.go\n", tr.show(prog, diags))
		assert.True(t, prog.Packages[0].RuntimeMissing)
	})
	t.Run("a module that is gone", func(t *testing.T) {
		t.Parallel()
		tr := newTree(t, "-- go.work --\ngo 1.25\n\nuse ./a\nuse ./gone\n-- a/go.mod --\nmodule example.com/a\n-- a/order.go --\n"+order)
		prog, diags := tr.loadConfig(t, Config{Dir: filepath.Join(tr.dir, "a")})
		assert.Empty(t, prog.Packages)
		require.Equal(t, 1, diags.Len())
		assert.Equal(t, codeNoModule, diags.Sorted()[0].Code)
		assert.Equal(t, 4, diags.Sorted()[0].Pos.Line)
	})
}

func TestLoadWhole(t *testing.T) {
	t.Parallel()
	archive := goMod + "-- a/order.go --\n" + order + "-- a/a/order.go --\n" + order
	for pattern, whole := range map[string]bool{
		"./...": true, "all": true, "example.com/shop/...": true, "...": true, "./a/...": false, "./a": false, "./.../a": false, "example.com/shop/a/...": false,
	} {
		tr := newTree(t, archive)
		prog, diags := tr.load(t, pattern)
		assert.Zero(t, diags.Len(), pattern)
		assert.Equal(t, whole, len(prog.Whole) == 1 && prog.Whole[0] == tr.dir, pattern)
	}
}

// A vendored build reads nothing but the vendor folder, and the project may lie below a folder of that name.
func TestLoadVendored(t *testing.T) {
	t.Parallel()
	src := strings.Replace(order, "import \"context\"\n", "import (\n\t\"context\"\n\n\t\"example.com/dep\"\n)\n", 1)
	src = strings.Replace(src, "ID string", "ID dep.ID", 1)
	tr := newTree(t, "-- vendor/shop/go.mod --\nmodule example.com/shop\n\ngo 1.25\n\nrequire example.com/dep v1.0.0\n"+
		"-- vendor/shop/order.go --\n"+src+
		"-- vendor/shop/vendor/modules.txt --\n# example.com/dep v1.0.0\n## explicit; go 1.25\nexample.com/dep\n"+
		"-- vendor/shop/vendor/example.com/dep/dep.go --\npackage dep\n\n//idem:handler window=24h\ntype ID string\n")
	dir := filepath.Join(tr.dir, "vendor", "shop")
	prog, diags := tr.loadConfig(t, Config{Dir: dir, Patterns: []string{"./..."}, Env: append(tr.env, "GOFLAGS=")})
	require.Equal(t, "package orders example.com/shop in vendor/shop of example.com/shop order.go\n", tr.show(prog, diags))
	field := prog.Packages[0].Types.Scope().Lookup("OrderPlaced").Type().Underlying().String()
	assert.Contains(t, field, "example.com/dep.ID")
	prog, diags = tr.loadConfig(t, Config{Dir: dir, Patterns: []string{"./vendor/..."}, Env: append(tr.env, "GOFLAGS=")})
	assert.Equal(t, "IDEM103 pattern ./vendor/... leads outside module example.com/shop | run idemgen in the module that it belongs to (-C DIR)\n", tr.show(prog, diags))
}

// A payload's package is loaded from what the compiler left, a sibling that does not compile from source.
func TestLoadImports(t *testing.T) {
	t.Parallel()
	src := strings.Replace(order, "import \"context\"\n", "import (\n\t\"context\"\n\n\t\"example.com/shop/good\"\n\t\"example.com/shop/bad\"\n)\n", 1)
	src = strings.Replace(src, "ID string", "A good.ID\n\tB bad.ID", 1)
	tr := newTree(t, goMod+"-- order.go --\n"+src+"-- good/good.go --\npackage good\n\ntype ID string\n-- bad/bad.go --\npackage bad\n\ntype ID string\n\nvar x = undefined\n")
	prog, diags := tr.load(t)
	require.Zero(t, diags.Len())
	require.Len(t, prog.Packages, 1)
	fields := prog.Packages[0].Types.Scope().Lookup("OrderPlaced").Type().Underlying().String()
	assert.Contains(t, fields, "A example.com/shop/good.ID")
	assert.Contains(t, fields, "B example.com/shop/bad.ID")
}

// A package with cgo is read with the names and lines of its own files.
func TestLoadCgo(t *testing.T) {
	t.Parallel()
	tr := newTree(t, goMod+"-- order.go --\n"+strings.Replace(order, "import \"context\"\n", "// #include <stdlib.h>\nimport \"C\"\n\nimport \"context\"\n\nfunc c() C.int { return 1 }\n", 1))
	prog, diags := tr.loadConfig(t, Config{Dir: tr.dir, Env: append(tr.env, "CGO_ENABLED=1")})
	shown := tr.show(prog, diags)
	require.Len(t, prog.Packages, 1, shown)
	name := prog.Fset.Position(prog.Packages[0].Types.Scope().Lookup("PlaceOrder").Pos())
	assert.Equal(t, filepath.Join(tr.dir, "order.go"), name.Filename)
	assert.Equal(t, 15, name.Line)
	prog, diags = tr.loadConfig(t, Config{Dir: tr.dir, Env: append(tr.env, "CGO_ENABLED=0")})
	assert.Contains(t, tr.show(prog, diags), "IDEM107")
}

// A file that another tool wrote, with the lines of its own source, is found under both names.
func TestLoadLineDirective(t *testing.T) {
	t.Parallel()
	tr := newTree(t, goMod+"-- order.go --\n//line grammar.y:1\n"+order)
	prog, diags := tr.load(t)
	assert.Equal(t, "package orders example.com/shop in . of example.com/shop grammar.y\n", tr.show(prog, diags))
}

// An unreadable go command is trouble, not a fault of the input.
func TestLoadWithoutGo(t *testing.T) {
	tr := newTree(t, goMod+"-- order.go --\n"+order)
	t.Setenv("PATH", t.TempDir())
	_, err := Load(t.Context(), Config{Dir: tr.dir, Env: tr.env}, &diag.List{})
	assert.ErrorIs(t, err, exec.ErrNotFound)
	assert.ErrorContains(t, err, "run the go command, which idemgen needs in the PATH")
}

// With a go command from the future, whose compiled packages cannot be read, idemgen says which of the two is old.
func TestLoadNewerToolchain(t *testing.T) {
	tr := newTree(t, goMod+"-- order.go --\n"+order)
	goCommand, err := exec.LookPath("go")
	require.NoError(t, err)
	bin := t.TempDir()
	garbage := filepath.Join(bin, "garbage.a")
	write(t, garbage, "!<arch>\nfrom the future\n")
	script := "#!/bin/sh\n'" + goCommand + "' \"$@\" | sed -e 's|\"GOVERSION\": \".*\"|\"GOVERSION\": \"go1.999.1\"|' -e 's|\"Export\": \".*\"|\"Export\": \"" + garbage + "\"|'\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755))
	path := bin + string(os.PathListSeparator) + os.Getenv("PATH")
	t.Setenv("PATH", path)
	prog, diags := tr.loadConfig(t, Config{Dir: tr.dir, Env: append(tr.env, "PATH="+path)})
	assert.Equal(t, "IDEM110 idemgen is too old: it was built with "+language(runtime.Version())+
		", the go command is go1.999, and it cannot read the compiled package context | install idemgen again, with go1.999\n", tr.show(prog, diags))
}
