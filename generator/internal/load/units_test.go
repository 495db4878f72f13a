package load

import (
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/header"
)

func TestMentionsUs(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]bool{
		"": false, ":": false, "idem": false, "idem:": true, "x := 1 //IDEM:x": true, "Idem \t :": true, "a:b:c:idem:": true,
		"ide:m": false, "dem:": false, "idem\n:": false, ": idem": false, "case idem::": true, "tandem: idem": false,
		"//idem handler window=1h": true, "// idem handler": true, "// see Idem handler": false, "//  idemgen:handler": true,
	} {
		assert.Equal(t, want, mentionsUs([]byte(src)), "%q", src)
	}
}

func TestClause(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, src, pkg, expr string }{
		{"a.go", "package a\n", "a", ""},
		{"a.go", "//go:build x || y\n\npackage a\n\n//go:build z\n", "a", "x || y"},
		{"a_linux.go", "//go:build x || y\n\npackage a\n", "a", "(x || y) && linux"},
		{"a_linux_arm64.go", "package a\n", "a", "linux && arm64"},
		{"a_arm64.go", "package a\n", "a", "arm64"},
		{"linux.go", "package a\n", "a", ""},
		{"a_linux_test.go", "package a\n", "a", "linux"},
		{"a_linux_b.go", "package a\n", "a", ""},
		{"linux_windows.go", "package a\n", "a", "windows"},
		{"a_test.go", "package a\n", "a", ""},
		{"a_linux.pb.go", "package a\n", "a", "linux"},
		{"a.go", "// +build x\n\npackage a\n", "a", ""},
		{"a.go", "//go:build ((\n\npackage a\n", "a", ""},
		{"a.go", "package", "", ""},
		{"a.go", "//go:build x\n\n<<<<<<<\npackage a", "", "x"},
		{"a.go", "/*\n//go:build x\n*/\npackage a\nfunc }", "a", ""},
	} {
		got := readClause(c.name, []byte(c.src))
		assert.Equal(t, c.pkg, got.pkg, c.name+" "+c.src)
		assert.Equal(t, c.expr, constraintText(got.expr), c.name+" "+c.src)
	}
}

func TestHowToBuild(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"a && b && a": "run idemgen with -tags a,b",
		"!a":          "run idemgen without the tags that the constraint excludes (-tags)",
		"a && darwin": "run idemgen with the environment variable GOOS set to a system that the constraint allows",
		"riscv64":     "run idemgen with the environment variable GOARCH set to an architecture that the constraint allows",
		"cgo":         "run idemgen with the environment variable CGO_ENABLED=1 and a C compiler",
		"go1.99":      "run idemgen with a Go release that the constraint allows",
	} {
		assert.Equal(t, want, howToBuild(readClause("a.go", []byte("//go:build "+line+"\n\npackage a\n")).expr), line)
	}
}

func TestModFlag(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]string{
		"": "", "-mod=mod": "mod", "--mod=mod": "mod", "-buildvcs=false -mod=vendor": "vendor", "-modfile=x": "", "-mod=mod -mod=readonly": "readonly",
	} {
		assert.Equal(t, want, modFlag(flags), flags)
	}
}

func TestWildcard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"a/...", "a", true}, {"a/...", "a/b/c", true}, {"a/...", "ab", false}, {"a...", "ab/c", true}, {"a/.../c", "a/b/c", true},
		{"a/.../c", "a/c", false}, {"a.b/...", "axb", false}, {"a", "a", true}, {"a", "a/b", false}, {"...", "", true}, {"a(b/...", "a(b/c", true},
	} {
		assert.Equal(t, c.want, wildcard(c.pattern)(c.s), c.pattern+" "+c.s)
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "go1.26", language("go1.26.8"))
	assert.Equal(t, "go1.27", language("devel go1.27-abcdef Mon"))
	assert.Equal(t, "go1.26", language("go1.26rc1"))
	assert.Equal(t, "", language("unknown"))
}

// Whatever a file holds, reading it ends without a panic.
func FuzzParse(f *testing.F) {
	f.Add("a.go", "package a\n\n//idem:handler\nfunc F() {}\n")
	f.Add("idem_gen.go", "<<<<<<<\npackage a")
	f.Add("idem_gen.go", "")
	f.Fuzz(func(t *testing.T, name, src string) {
		s := &sources{src: map[string][]byte{}, broken: nil}
		s.broken = map[string]*scanner.Error{}
		if file, err := s.parse(token.NewFileSet(), name, []byte(src)); file == nil && err == nil && !header.Ours([]byte(src)) && !strings.HasPrefix(src, header.Go) {
			t.Errorf("%q is lost without an error", src)
		}
		readClause(name, []byte(src))
	})
}

// A folder reached by a symbolic link is loaded under the name that the user gave.
func TestLoadSymlink(t *testing.T) {
	t.Parallel()
	tr := newTree(t, goMod+"-- order.go --\n"+order+"-- sub/order.go --\n"+order)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(tr.dir, link))
	through := tree{dir: link, env: tr.env}
	prog, diags := through.load(t, "./...")
	assert.Equal(t, "package orders example.com/shop in . of example.com/shop order.go\npackage orders example.com/shop/sub in sub of example.com/shop order.go\n", through.show(prog, diags))
}

// A path may hold what means something elsewhere.
func TestLoadOddPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with space", "a=b", "file=x", "ünïcode", "a(b", "a,b"} {
		tr := newTree(t, "")
		odd := tree{dir: filepath.Join(tr.dir, name), env: tr.env}
		write(t, filepath.Join(odd.dir, "go.mod"), "module example.com/shop\n\ngo 1.25\n")
		write(t, filepath.Join(odd.dir, "order.go"), order)
		write(t, filepath.Join(odd.dir, "idem_gen.go"), "")
		for _, pattern := range []string{".", "./...", odd.dir} {
			prog, diags := odd.load(t, pattern)
			assert.Equal(t, "package orders example.com/shop in . of example.com/shop own idem_gen.go order.go\n", odd.show(prog, diags), name)
		}
	}
}

func TestParseKeepsPositions(t *testing.T) {
	t.Parallel()
	src := []byte("package a\n\n//idem:handler\nfunc F() {\n\tprintln()\n}\n")
	fset, plain := token.NewFileSet(), token.NewFileSet()
	s := &sources{src: map[string][]byte{}, broken: map[string]*scanner.Error{}}
	got, err := s.parse(fset, "a.go", src)
	require.NoError(t, err)
	want, err := parser.ParseFile(plain, "a.go", src, 0)
	require.NoError(t, err)
	assert.Equal(t, plain.Position(want.Decls[0].End()), fset.Position(got.Decls[0].End()))
}

// What the go command says in several lines stays in one piece, below our own line with the code.
func TestGoSaid(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"go: one line\n": "go: one line [IDEM109]\n\thint: let go list ./... succeed first\n",
		"go: downloading x v1\ngo: updates to go.mod needed; to update it:\n\tgo mod tidy\n": "the go command cannot list the packages: [IDEM109]\n" +
			"\tgo: updates to go.mod needed; to update it:\n\tgo mod tidy\n\thint: let go list ./... succeed first\n",
	} {
		var diags diag.List
		goSaid(said, &diags)
		var b strings.Builder
		require.NoError(t, diag.Print(&b, "/src", diags.Sorted()))
		assert.Equal(t, want, b.String())
	}
}
