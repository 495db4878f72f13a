package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/cmd/idemgen/internal/cli"
)

var update = flag.Bool("update", false, "rewrite the want/ files of the scenarios")

// TestMain takes away what the surroundings may say about modules: a scenario's module stands for itself.
func TestMain(m *testing.M) {
	flag.Parse()
	for _, name := range []string{"GOWORK", "GOFLAGS", "GOFILE", "GOPACKAGE", "GOLINE", "GO111MODULE"} {
		if err := os.Unsetenv(name); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// TestScenarios runs every scenario: its steps once, each generating step again (it must write nothing), and the
// whole in another folder (it must give the same bytes). At the end all results are compiled, vetted and
// staticchecked together.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(scenarioDir, "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	ws := newWorkspace(t)
	t.Run("case", func(t *testing.T) {
		for _, file := range files {
			s := readScenario(t, file)
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.run(t, ws)
			})
		}
	})
	t.Run("compiled", ws.check)
}

func (s *scenario) run(t *testing.T, ws *workspace) {
	dir := ws.folder(t, s.name)
	s.input(t, dir)
	before := readTree(t, dir)
	got := s.play(t, dir, true)
	after := readTree(t, dir)

	listing, written := changes(before, after)
	got["files"] = listing
	names := []string{"stdout", "stderr", "files"}
	for _, name := range written {
		if s.isGolden(name) {
			names = append(names, name)
			got[name] = after[name].data
		}
	}
	if *update {
		s.rewrite(t, names, got)
	}
	for _, name := range names {
		assert.Equal(t, s.wanted(name), got[name], "want/%s of %s", name, s.file)
	}
	for _, f := range s.archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "want/"); ok {
			assert.Contains(t, names, name, "%s wants a file that did not come out", s.file)
		}
	}
	s.again(t, after)
	if !s.uncompiled && slices.ContainsFunc(written, func(n string) bool { return strings.HasSuffix(n, "idem_gen.go") }) {
		ws.add(t, s.name)
	}
}

// again plays the scenario in a second folder.
func (s *scenario) again(t *testing.T, after tree) {
	dir := realTempDir(t)
	s.input(t, dir)
	s.play(t, dir, false)
	want, got := after.contents(), readTree(t, dir).contents()
	assert.Equal(t, want, got, "another folder, other bytes")
}

// play runs the steps in dir and returns what they printed. With repeat each step that generates is run twice.
func (s *scenario) play(t *testing.T, dir string, repeat bool) map[string]string {
	var stdout, stderr strings.Builder
	commands := 0
	for _, st := range s.steps {
		if st.args[0] == "idemgen" {
			commands++
		}
	}
	for _, st := range s.steps {
		if st.args[0] != "idemgen" {
			fileStep(t, dir, st)
			continue
		}
		untouched := readTree(t, dir)
		code, out, errOut := runIn(t, dir, st.args[1:])
		require.Equal(t, st.exit, code, "exit code of %q\nstdout:\n%s\nstderr:\n%s", st.line, out, errOut)
		if st.exit != 0 {
			assert.Equal(t, untouched, readTree(t, dir), "%q failed and touched files", st.line)
		}
		if commands > 1 {
			stdout.WriteString("$ " + st.line + "\n")
			stderr.WriteString("$ " + st.line + "\n")
		}
		stdout.WriteString(out)
		stderr.WriteString(errOut)
		if repeat && !st.once {
			repeatStep(t, dir, st)
		}
	}
	got := map[string]string{"stdout": stdout.String(), "stderr": stderr.String()}
	if silent := strings.Count(got["stderr"], "\n") == commands && commands > 1; silent {
		delete(got, "stderr")
	}
	return got
}

// repeatStep runs a step again: whatever it was, now there is nothing to write.
func repeatStep(t *testing.T, dir string, st step) {
	untouched := readTree(t, dir)
	code, out, _ := runIn(t, dir, st.args[1:])
	assert.Equal(t, st.exit, code, "exit code of %q, run again", st.line)
	for _, line := range strings.Split(out, "\n") {
		assert.False(t, strings.HasPrefix(line, "wrote ") || strings.HasPrefix(line, "removed "), "%q, run again, %s", st.line, line)
	}
	assert.Equal(t, untouched, readTree(t, dir), "%q, run again, touched files", st.line)
}

// runIn runs the command as if in dir and returns its exit code and what it printed, with the machine's own paths
// replaced.
func runIn(t *testing.T, dir string, args []string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = cli.Run(context.Background(), inDir(dir, args), strings.NewReader(""), &out, &errOut)
	return code, neutral(t, dir, out.String()), neutral(t, dir, errOut.String())
}

// inDir makes the arguments start from dir: -C as far as they have it, else with one in front.
func inDir(dir string, args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "-C" && i+1 < len(args) {
			args[i+1] = filepath.Join(dir, args[i+1])
			return args
		}
		if sub, ok := strings.CutPrefix(arg, "-C="); ok {
			args[i] = "-C=" + filepath.Join(dir, sub)
			return args
		}
	}
	return append([]string{"-C", dir}, args...)
}

func neutral(t *testing.T, dir, text string) string {
	return strings.NewReplacer(dir, "$WORK", runtimeDir(t), "$RUNTIME").Replace(text)
}

func fileStep(t *testing.T, dir string, st step) {
	t.Helper()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	if st.args[0] == "rm" {
		require.NoError(t, os.RemoveAll(in(st.args[1])))
		return
	}
	data, err := os.ReadFile(in(st.args[1]))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(in(st.args[2])), 0o755))
	require.NoError(t, os.WriteFile(in(st.args[2]), data, 0o644))
}

// realTempDir is a temporary folder by the name that the go command will use for it.
func realTempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}
