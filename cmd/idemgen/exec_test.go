package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const toolPath = "github.com/idemgen/idemgen"

// repository is the root of this repository.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	require.NoError(t, err)
	return dir
}

// command runs a program in dir with env added to this process's.
func command(t *testing.T, dir string, env []string, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := command(t, ".", nil, "go", "env", name)
	require.NoError(t, err, out)
	return strings.TrimSpace(out)
}

// The documented way: a go:generate line with go run and a version. The version comes from a module proxy made of this
// working tree, so that it is what a user would download: without a nested module, a workspace or a replacement.
func TestGoGenerate(t *testing.T) {
	t.Parallel()
	version := fmt.Sprintf("v0.0.0-test.%d", time.Now().UnixNano())
	env := []string{
		"GOPROXY=file://" + filepath.ToSlash(proxyOf(t, version)) + "," + goEnv(t, "GOPROXY"),
		"GONOSUMDB=" + toolPath, "GOFLAGS=-modcacherw",
	}
	forget(t, version)
	dir := realTempDir(t)
	files := manyPackages(t, 1)
	source := strings.Replace(string(files["p0/p0.go"]), "import (",
		"//go:generate go run "+toolPath+"/cmd/idemgen@"+version+"\n\nimport (", 1)
	files["p0/p0.go"] = []byte(source)
	writeFiles(t, dir, files)
	before := readTree(t, dir)

	out, err := command(t, dir, env, "go", "generate", "./...")
	require.NoError(t, err, out)
	after := readTree(t, dir)
	assert.Equal(t, before["go.mod"], after["go.mod"])
	assert.Equal(t, before["go.sum"], after["go.sum"])
	assert.Contains(t, out, "wrote idem_gen.go\n")
	assert.Contains(t, after, "p0/idem_gen.go")
	assert.Contains(t, after, "p0/idemdb/store_gen.go")

	// A version of the tool leaves no trace in what it writes.
	for name, f := range after {
		if _, input := before[name]; !input {
			assert.NotContains(t, f.data, version, name)
		}
	}
	out, err = command(t, dir, nil, "go", "vet", "./...")
	require.NoError(t, err, out)
}

// proxyOf makes a module proxy that has this working tree as one version of the tool's module.
func proxyOf(t *testing.T, version string) string {
	t.Helper()
	proxy := realTempDir(t)
	dir := filepath.Join(proxy, filepath.FromSlash(toolPath), "@v")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	mod, err := os.ReadFile(filepath.Join(repository(t), "go.mod"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, version+".mod"), mod, 0o644))
	info := fmt.Sprintf(`{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, version)
	require.NoError(t, os.WriteFile(filepath.Join(dir, version+".info"), []byte(info), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "list"), []byte(version+"\n"), 0o644))
	archive, err := os.Create(filepath.Join(dir, version+".zip"))
	require.NoError(t, err)
	require.NoError(t, zip.CreateFromDir(archive, module.Version{Path: toolPath, Version: version}, repository(t)))
	require.NoError(t, archive.Close())
	return proxy
}

// forget removes the test's version from the module cache in the end.
func forget(t *testing.T, version string) {
	t.Helper()
	cache := goEnv(t, "GOMODCACHE")
	t.Cleanup(func() {
		assert.NoError(t, os.RemoveAll(filepath.Join(cache, filepath.FromSlash(toolPath)+"@"+version)))
		downloads, err := filepath.Glob(filepath.Join(cache, "cache", "download", filepath.FromSlash(toolPath), "@v", version+".*"))
		assert.NoError(t, err)
		for _, file := range downloads {
			assert.NoError(t, os.Remove(file))
		}
	})
}

// The other documented way: go tool with a modfile for tools, which keeps the tool's requirements out of go.mod.
func TestToolsModfile(t *testing.T) {
	t.Parallel()
	dir := realTempDir(t)
	files := manyPackages(t, 2)
	files["tools.mod"], files["tools.sum"] = toolsModfile(t)
	writeFiles(t, dir, files)
	before := readTree(t, dir)

	out, err := command(t, dir, nil, "go", "tool", "-modfile=tools.mod", "idemgen", "./...")
	require.NoError(t, err, out)
	after := readTree(t, dir)
	for name, f := range before {
		assert.Equal(t, f, after[name], name)
	}
	assert.Contains(t, after, "p1/idem_gen.go")

	out, err = command(t, dir, nil, "go", "run", "-modfile=tools.mod", toolPath+"/cmd/idemgen", "check", "./...")
	require.NoError(t, err, out)
	assert.Empty(t, out)
}

// toolsModfile is what "go get -tool -modfile=tools.mod" leaves, with this working tree in the place of a version.
func toolsModfile(t *testing.T) (mod, sum []byte) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repository(t), "go.mod"))
	require.NoError(t, err)
	sum, err = os.ReadFile(filepath.Join(repository(t), "go.sum"))
	require.NoError(t, err)
	file, err := modfile.Parse("go.mod", data, nil)
	require.NoError(t, err)
	require.NoError(t, file.AddModuleStmt("example.com/many"))
	require.NoError(t, file.AddRequire(toolPath, "v0.0.0"))
	require.NoError(t, file.AddReplace(toolPath, "", repository(t), ""))
	require.NoError(t, file.AddTool(toolPath+"/cmd/idemgen"))
	mod, err = file.Format()
	require.NoError(t, err)
	return mod, sum
}

// Without a C compiler sqlc parses PostgreSQL by WebAssembly: the same bytes must come out.
func TestWithoutCgo(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "idemgen")
	env := []string{"CGO_ENABLED=0", "GOWORK=off"}
	out, err := command(t, repository(t), env, "go", "build", "-o", binary, "./cmd/idemgen")
	require.NoError(t, err, out)

	for _, name := range []string{"tx02_sql_postgresql", "tx03_sqlite", "tx04_pgx", "shape01_functions_and_methods", "bad_directives"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := readScenario(t, filepath.Join(scenarioDir, name+".txtar"))
			dir := realTempDir(t)
			s.input(t, dir)
			for _, st := range s.steps {
				code, stdout, stderr := execute(t, binary, inDir(dir, st.args[1:]), env)
				require.Equal(t, st.exit, code, stderr)
				assert.Equal(t, s.wanted("stdout"), neutral(t, dir, stdout))
				assert.Equal(t, s.wanted("stderr"), neutral(t, dir, stderr))
			}
			after := readTree(t, dir)
			for _, f := range s.archive.Files {
				if name, ok := strings.CutPrefix(f.Name, "want/"); ok && strings.Contains(name, ".") {
					assert.Equal(t, string(f.Data), after[name].data, name)
				}
			}
		})
	}
	t.Run("quickstart", func(t *testing.T) {
		t.Parallel()
		code, stdout, stderr := execute(t, binary, []string{"check", "-C", filepath.Join(repository(t), "testdata", "quickstart"), "./..."}, env)
		assert.Zero(t, code, stdout+stderr)
	})
}

func execute(t *testing.T, binary string, args, env []string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut strings.Builder
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errOut.String()
}
