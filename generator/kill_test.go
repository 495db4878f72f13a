package generator_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/generator"
)

// TestKilledAtEachFailpoint kills the command wherever output has a failpoint, each time that it passes there. Each
// file must then be as it was or as it is to be, and the next run must end as if nothing had happened.
func TestKilledAtEachFailpoint(t *testing.T) {
	t.Parallel()
	tool := filepath.Join(t.TempDir(), "idemgen")
	if runtime.GOOS == "windows" {
		tool += ".exe"
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-tags=failpoint", "-o", tool, "../cmd/idemgen")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	sources := map[string]string{
		"a/a.go": handler("a", "A", "table=new_keys"), // every file of the store changes
		"b/b.go": "package b\n",                       // everything goes
		"c/c.go": handler("c", "C", "out=../a/idemdb table=new_keys"),
	}
	older := func(t *testing.T) string {
		dir := module(t, map[string]string{"a/a.go": handler("a", "A", ""), "b/b.go": handler("b", "B", "")})
		run(t, dir, generator.Generate)
		write(t, dir, sources)
		return dir
	}
	fresh := func(t *testing.T) string { return module(t, sources) }
	for _, c := range []struct {
		name   string
		start  func(*testing.T) string
		points map[string]int // and at every how manieth passing
	}{
		{"older", older, map[string]int{
			"temp-created": 3, "half-written": 2, "before-rename": 1, "after-rename": 1, "before-removal": 3, "after-removal": 4,
		}},
		{"fresh", fresh, map[string]int{"before-rename": 4, "after-rename": 2}},
	} {
		for point, step := range c.points {
			t.Run(c.name+"/"+point, func(t *testing.T) {
				t.Parallel()
				old := read(t, c.start(t))
				finished := c.start(t)
				run(t, finished, generator.Generate)
				want := read(t, finished)
				for n := 1; ; n += step {
					dir := t.TempDir()
					write(t, dir, old)
					if !killed(t, tool, dir, fmt.Sprintf("%s:%d", point, n)) {
						assert.Greater(t, n, 5, "times killed")
						assert.Equal(t, want, read(t, dir))
						return
					}
					for file, text := range read(t, dir) {
						temporary := strings.HasPrefix(filepath.Base(file), ".idemgen-")
						assert.True(t, temporary || text == old[file] || text == want[file], "%s is whole", file)
					}
					run(t, dir, generator.Generate)
					assert.Equal(t, want, read(t, dir), "after %s:%d and another run", point, n)
				}
			})
		}
	}
}

// killed runs the command with a failpoint and says whether that killed it.
func killed(t *testing.T, tool, dir, failpoint string) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool, "-C", dir, "./...")
	cmd.Env = append(os.Environ(), "IDEMGEN_FAILPOINT="+failpoint)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	require.Equal(t, -1, cmd.ProcessState.ExitCode(), "%s: %v\n%s", failpoint, err, out)
	return true
}
