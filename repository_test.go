// Package idemgen_test guards the repository itself: what its go.mod files promise to those who depend on them, that
// the documentation is true, and that no file tells of the machine it was written on.
package idemgen_test

import (
	"bytes"
	"flag"
	"go/format"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"

	"github.com/idemgen/idemgen/generator"
)

var update = flag.Bool("update", false, "rewrite the pages of docs/ that are generated")

const runtimePath = "github.com/idemgen/idemgen/runtime"

func readMod(t *testing.T, file string) *modfile.File {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	mod, err := modfile.Parse(file, data, nil)
	require.NoError(t, err)
	return mod
}

// go run and go install refuse a tool whose go.mod has replacements. And the tool must not depend on the runtime: each
// is upgraded by itself, and users of the runtime shall not see the tool's dependencies.
func TestRootModule(t *testing.T) {
	t.Parallel()
	mod := readMod(t, "go.mod")
	assert.Empty(t, mod.Replace)
	assert.Empty(t, mod.Exclude)
	for _, r := range mod.Require {
		assert.NotEqual(t, runtimePath, r.Mod.Path)
	}
}

// What the runtime drags into its users' builds.
func TestRuntimeModule(t *testing.T) {
	t.Parallel()
	mod := readMod(t, "runtime/go.mod")
	assert.Empty(t, mod.Replace)
	assert.Equal(t, "1.25.0", mod.Go.Version)
	var direct []string
	for _, r := range mod.Require {
		if !r.Indirect {
			direct = append(direct, r.Mod.Path)
		}
	}
	assert.Equal(t, []string{"github.com/go-sql-driver/mysql", "github.com/jackc/pgx/v5"}, direct)

	pgx := []string{
		"github.com/jackc/pgpassfile",
		"github.com/jackc/pgservicefile",
		"github.com/jackc/pgx/v5",
		"github.com/jackc/puddle/v2",
		"golang.org/x/sync",
		"golang.org/x/text",
	}
	mysql := []string{"filippo.io/edwards25519", "github.com/go-sql-driver/mysql"}
	// A program builds what the driver of its own database needs, and no more.
	for packages, want := range map[string][]string{
		"./...": slices.Concat(pgx, mysql), "./idem": nil, "./idemsql": nil, "./idempgx": pgx, "./idemmysql": mysql,
	} {
		assert.ElementsMatch(t, append(want, runtimePath), modulesOf(t, packages), packages)
	}
}

// modulesOf are the modules that packages of the runtime are built from.
func modulesOf(t *testing.T, packages string) []string {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", packages)
	cmd.Dir = "runtime"
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	require.NoError(t, err)
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	return slices.Compact(modules)
}

// The generated pages of docs/ are current.
func TestDocs(t *testing.T) {
	t.Parallel()
	for file, write := range map[string]func(io.Writer) error{
		"docs/directives.md":  generator.DirectivesMarkdown,
		"docs/diagnostics.md": generator.DiagnosticsMarkdown,
	} {
		var want bytes.Buffer
		require.NoError(t, write(&want))
		if *update {
			require.NoError(t, os.WriteFile(file, want.Bytes(), 0o644))
		}
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, want.String(), string(got), "%s: run make generate", file)
	}
}

// walk calls visit for each regular file of the repository, by its slash-separated path.
func walk(t *testing.T, visit func(file string, data []byte)) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(file)
		if err == nil {
			visit(filepath.ToSlash(file), data)
		}
		return err
	}))
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// Links from one page to another lead somewhere.
func TestLinks(t *testing.T) {
	t.Parallel()
	walk(t, func(file string, data []byte) {
		if !strings.HasSuffix(file, ".md") {
			return
		}
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(file), filepath.FromSlash(m[1])))
			assert.NoError(t, err, "%s links to %s", file, m[1])
		}
	})
}

func TestGoFilesAreFormatted(t *testing.T) {
	t.Parallel()
	walk(t, func(file string, data []byte) {
		if !strings.HasSuffix(file, ".go") {
			return
		}
		formatted, err := format.Source(data)
		require.NoError(t, err, file)
		assert.True(t, bytes.Equal(formatted, data), "%s is not formatted", file)
	})
}

// Paths of somebody's machine have no place in a file that others read.
func TestNoMachinePaths(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	require.NoError(t, err)
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	private := [][]byte{[]byte(here), []byte(home + "/")}
	walk(t, func(file string, data []byte) {
		for _, dir := range private {
			assert.False(t, bytes.Contains(data, dir), "%s has a path of this machine, below %s", file, dir)
		}
	})
}

var (
	namedTest    = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9_]+)`")
	declaredTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)\(`)
)

// A promise names the tests that hold it, and they are there.
func TestGuaranteesNameTests(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{}
	walk(t, func(file string, data []byte) {
		if strings.HasSuffix(file, "_test.go") {
			for _, m := range declaredTest.FindAllSubmatch(data, -1) {
				declared[string(m[1])] = true
			}
		}
	})
	var page []byte
	for _, file := range []string{"docs/operating.md", "docs/guarantees.md"} {
		var err error
		page, err = os.ReadFile(file)
		require.NoError(t, err)
		named := namedTest.FindAllSubmatch(page, -1)
		require.NotEmpty(t, named)
		for _, m := range named {
			assert.True(t, declared[string(m[1])], "%s names %s, which is not there", file, m[1])
		}
	}
	for row := range strings.Lines(string(page)) {
		if regexp.MustCompile(`^\| \d+ \|`).MatchString(row) {
			assert.Regexp(t, namedTest, row, "a promise without a test")
		}
	}
}
