package analyze_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/idemgen/idemgen/generator/internal/analyze"
	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/load"
)

var update = flag.Bool("update", false, "rewrite what the cases in testdata want")

// TestCases runs every testdata/*.txtar: a module, and what it wants: in want/diagnostics what is wrong with it, as a
// user sees it, or in want/model what comes of it.
func TestCases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(file)
			require.NoError(t, err)
			w := newWorkspace(t, ar)

			loaded := w.program()
			name, got := analyzed(t, w, loaded)
			slices.Reverse(loaded.Packages)
			_, again := analyzed(t, w, loaded)
			require.Equal(t, got, again, "the packages in another order")
			if *update {
				ar.Files = slices.DeleteFunc(ar.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "want") })
				ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(got)})
				require.NoError(t, os.WriteFile(file, txtar.Format(ar), 0o644))
				return
			}
			i := slices.IndexFunc(ar.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "want") })
			require.GreaterOrEqual(t, i, 0, "the case wants nothing; run with -update")
			require.Equal(t, ar.Files[i].Name, name, "%s", got)
			require.Equal(t, string(ar.Files[i].Data), got)
		})
	}
}

// analyzed is what a case wants, by the name of its file.
func analyzed(t *testing.T, w *workspace, loaded *load.Program) (name, text string) {
	t.Helper()
	var diags diag.List
	prog := analyze.Analyze(loaded, &diags)
	if diags.Len() == 0 {
		require.NotNil(t, prog)
		checkGenerated(t, w, prog)
		return "want/model", dump(prog, w.dir)
	}
	require.Nil(t, prog, "a model in spite of diagnostics")
	var b bytes.Buffer
	require.NoError(t, diag.Print(&b, w.dir, diags.Sorted()))
	assert.NotContains(t, b.String(), w.dir, "a path of the machine")
	for _, d := range diags.Sorted() {
		assert.NotEmpty(t, d.Hint, "%s has no mend", d.Message)
	}
	return "want/diagnostics", b.String()
}

// TestEveryCode requires a case for each code of this package, and a meaning for it.
func TestEveryCode(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("codes.go")
	require.NoError(t, err)
	codes := regexp.MustCompile(`"(IDEM\d+)"`).FindAllSubmatch(source, -1)
	require.NotEmpty(t, codes)
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	require.NoError(t, err)
	var wanted bytes.Buffer
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		require.NoError(t, err)
		for _, f := range ar.Files {
			if f.Name == "want/diagnostics" {
				wanted.Write(f.Data)
			}
		}
	}
	seen := map[string]bool{}
	for _, m := range codes {
		code := string(m[1])
		assert.False(t, seen[code], "%s is there twice", code)
		seen[code] = true
		assert.True(t, strings.Contains(wanted.String(), "["+code+"]"), "no case produces %s", code)
		_, ok := diag.Explain(diag.Code(code))
		assert.True(t, ok, "package diag does not explain %s", code)
	}
}
