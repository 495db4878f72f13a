package main

import (
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// workspace is one Go workspace with the results of all scenarios, so that one go vet and one staticcheck serve all.
type workspace struct {
	dir string

	mu    sync.Mutex
	cases []string
}

func newWorkspace(t *testing.T) *workspace { return &workspace{dir: realTempDir(t)} }

// folder is where a scenario plays.
func (w *workspace) folder(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(w.dir, name)
	require.NoError(t, os.Mkdir(dir, 0o755))
	return dir
}

// add says that a scenario's result shall compile.
func (w *workspace) add(t *testing.T, name string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cases = append(w.cases, name)
}

// check compiles, vets and staticchecks everything that was added.
func (w *workspace) check(t *testing.T) {
	if len(w.cases) == 0 {
		return // -run named scenarios that generate nothing
	}
	slices.Sort(w.cases)
	var work strings.Builder
	work.WriteString("go 1.26.0\n\nuse (\n")
	patterns := make([]string, 0, len(w.cases))
	for _, name := range w.cases {
		fmt.Fprintf(&work, "\t./%s\n", name)
		patterns = append(patterns, "./"+name+"/...")
	}
	work.WriteString(")\n")
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "go.work"), []byte(work.String()), 0o644))

	out, err := w.command("go", append([]string{"vet", "-tags", scenarioTags}, patterns...)...)
	require.NoError(t, err, out)
	staticcheck := buildStaticcheck(t)
	// Unexported handlers have accessors that nobody need use: that is to be forgiven in files that are generated.
	assert.Empty(t, w.staticcheck(staticcheck, "U1000", patterns))
	for _, name := range w.cases {
		w.ownUp(t, filepath.Join(w.dir, name))
	}
	// ST1000 asks each input for a package comment.
	assert.Empty(t, w.staticcheck(staticcheck, "all,-ST1000,-U1000", patterns))
}

// staticcheck returns what it says about our files.
func (w *workspace) staticcheck(binary, checks string, patterns []string) []string {
	out, err := w.command(binary, append([]string{"-tags", scenarioTags, "-checks", checks}, patterns...)...)
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return slices.DeleteFunc(lines, func(line string) bool {
		return strings.Contains(line, ".go:") && !ours(strings.SplitN(line, ":", 2)[0])
	})
}

// scenarioTags are the build tags that scenarios use.
const scenarioTags = "integration"

// ours reports whether a file is written by idemgen itself rather than by a user or by sqlc.
func ours(file string) bool {
	base := filepath.Base(file)
	return base == "idem_gen.go" || base == "store_gen.go" || isReplay(base)
}

// isReplay reports whether a file has tests that idemgen has written once, without its header.
func isReplay(base string) bool {
	return base == "idem_test.go" || strings.HasPrefix(base, "idem_") && strings.HasSuffix(base, "_replay_test.go")
}

// ownUp checks that the generated files are formatted, and takes the line from them that says that they are generated:
// vet and staticcheck shall judge them as if a person had written them.
func (w *workspace) ownUp(t *testing.T, dir string) {
	t.Helper()
	for name, f := range readTree(t, dir) {
		if !ours(name) {
			continue
		}
		formatted, err := format.Source([]byte(f.data))
		require.NoError(t, err, name)
		assert.Equal(t, string(formatted), f.data, "%s is not formatted", name)
		if isReplay(filepath.Base(name)) {
			continue
		}
		_, body, ok := strings.Cut(f.data, "\n")
		require.True(t, ok, name)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte("\n"+body), 0o644))
	}
}

func (w *workspace) command(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(w.dir, "go.work"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// buildStaticcheck builds the version that testdata/tools pins.
func buildStaticcheck(t *testing.T) string {
	t.Helper()
	tools, err := filepath.Abs("../../testdata/tools")
	require.NoError(t, err)
	binary := filepath.Join(t.TempDir(), "staticcheck")
	cmd := exec.Command("go", "build", "-o", binary, "honnef.co/go/tools/cmd/staticcheck")
	cmd.Dir = tools
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}
