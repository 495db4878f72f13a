package main

import (
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// scenarioDir holds the scenarios, and the go.mod and go.sum that their modules are given.
const scenarioDir = "../../testdata/scenario"

// A scenario is one file of testdata/scenario. Its comment says what it is about in lines that begin with "#", and
// then what to do, one command a line:
//
//	idemgen ARGS…         run the command; "exit=1 idemgen ARGS…" where it must end with another code than 0, and
//	                      "once idemgen ARGS…" where a second run is not to write nothing, but to fail
//	rm PATH               remove a file or folder
//	cp FROM TO            copy a file
//	crlf                  (before all else) rewrite the input's line ends to CRLF
//	golden PATTERN        compare the contents of matching files below idemdb/ too, which are else only named
//	uncompiled REASON     leave the result out of the module that is compiled, vetted and staticchecked at the end
//
// Files below want/ are what must come out: want/stdout and want/stderr, want/files with every path that differs from
// the input (+ new, ~ changed, - gone), and the contents of what was written. All others are the input. A go.mod is
// added where there is none; in one that is there, {{require}} stands for what the shared one requires.
type scenario struct {
	name       string
	file       string
	archive    *txtar.Archive
	steps      []step
	crlf       bool
	golden     []string
	uncompiled bool
}

// step is one line of a scenario's comment that does something.
type step struct {
	line string // as the output names it
	args []string
	exit int
	once bool
}

func readScenario(t *testing.T, file string) *scenario {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	require.NoError(t, err)
	s := &scenario{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), file: file, archive: archive}
	for _, line := range strings.Split(string(archive.Comment), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		switch fields[0] {
		case "crlf":
			s.crlf = true
		case "golden":
			s.golden = append(s.golden, fields[1:]...)
		case "uncompiled":
			s.uncompiled = true
		default:
			s.steps = append(s.steps, parseStep(t, line))
		}
	}
	require.NotEmpty(t, s.steps, "%s does nothing", file)
	return s
}

func parseStep(t *testing.T, line string) step {
	t.Helper()
	st := step{args: strings.Fields(line)}
	if code, ok := strings.CutPrefix(st.args[0], "exit="); ok {
		var err error
		st.exit, err = strconv.Atoi(code)
		require.NoError(t, err, line)
		st.args = st.args[1:]
	}
	if st.args[0] == "once" {
		st.once = true
		st.args = st.args[1:]
	}
	st.line = strings.Join(st.args, " ")
	switch st.args[0] {
	case "idemgen", "rm", "cp":
	default:
		require.Fail(t, "unknown command", line)
	}
	return st
}

// input writes the scenario's module to dir.
func (s *scenario) input(t *testing.T, dir string) {
	t.Helper()
	files := map[string][]byte{}
	for _, f := range s.archive.Files {
		if !strings.HasPrefix(f.Name, "want/") {
			files[f.Name] = f.Data
		}
	}
	addModule(t, s.name, files)
	for name, data := range files {
		if s.crlf && !strings.HasPrefix(path.Base(name), "go.") {
			data = []byte(strings.ReplaceAll(string(data), "\n", "\r\n"))
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, data, 0o644))
	}
}

// addModule gives a scenario its go.mod and go.sum. An empty go.mod in the archive means that there shall be none.
func addModule(t *testing.T, name string, files map[string][]byte) {
	t.Helper()
	shared, err := os.ReadFile(filepath.Join(scenarioDir, "go.mod"))
	require.NoError(t, err)
	sum, err := os.ReadFile(filepath.Join(scenarioDir, "go.sum"))
	require.NoError(t, err)
	parts := strings.SplitN(string(shared), "\n\n", 3)
	require.Len(t, parts, 3, "module, go, and the rest")
	requirements := strings.ReplaceAll(parts[2], "=> ../../runtime", "=> "+runtimeDir(t))
	if _, ok := files["go.mod"]; !ok {
		files["go.mod"] = []byte("module example.com/" + name + "\n\n" + parts[1] + "\n\n" + requirements)
		files["go.sum"] = sum
		return
	}
	for file, data := range files {
		switch {
		case path.Base(file) != "go.mod":
		case len(data) == 0:
			delete(files, file)
		case strings.Contains(string(data), "{{require}}"):
			files[file] = []byte(strings.Replace(string(data), "{{require}}", requirements, 1))
			files[path.Join(path.Dir(file), "go.sum")] = sum
		}
	}
}

func runtimeDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../runtime")
	require.NoError(t, err)
	return dir
}

// wanted returns the contents of want/name, empty where there is no such file.
func (s *scenario) wanted(name string) string {
	for _, f := range s.archive.Files {
		if f.Name == "want/"+name {
			return string(f.Data)
		}
	}
	return ""
}

// rewrite replaces the want/ files by what came out.
func (s *scenario) rewrite(t *testing.T, names []string, got map[string]string) {
	t.Helper()
	kept := s.archive.Files[:0:0]
	for _, f := range s.archive.Files {
		if !strings.HasPrefix(f.Name, "want/") {
			kept = append(kept, f)
		}
	}
	for _, name := range names {
		if got[name] != "" {
			kept = append(kept, txtar.File{Name: "want/" + name, Data: []byte(got[name])})
		}
	}
	s.archive.Files = kept
	require.NoError(t, os.WriteFile(s.file, txtar.Format(s.archive), 0o644))
}

// isGolden reports whether the contents of an output are compared. What is below an idemdb/ is the same in nearly
// every scenario, so there only its name is, unless the scenario says golden.
func (s *scenario) isGolden(name string) bool {
	if !strings.Contains("/"+name, "/idemdb/") {
		return true
	}
	for _, pattern := range s.golden {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			return true
		}
	}
	return false
}
