package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// runtimePath is the module that generated code needs.
const runtimePath = "github.com/idemgen/idemgen/runtime"

// A goEnv is what we need to know of the go command's settings, which may come from the environment or from its own
// configuration file.
type goEnv struct {
	GOMOD, GOWORK, GOVERSION, GOFLAGS, GO111MODULE string
}

func readGoEnv(ctx context.Context, cfg Config) (goEnv, error) {
	var env goEnv
	cmd := exec.CommandContext(ctx, "go", "env", "-json", "GOMOD", "GOWORK", "GOVERSION", "GOFLAGS", "GO111MODULE")
	cmd.Dir = cfg.Dir
	cmd.Env = append(cfg.Env[:len(cfg.Env):len(cfg.Env)], "PWD="+cfg.Dir)
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return env, ctx.Err()
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return env, fmt.Errorf("run go env: %w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	if err != nil {
		return env, fmt.Errorf("run the go command, which idemgen needs in the PATH: %w", err)
	}
	if err := json.Unmarshal(out, &env); err != nil {
		return env, fmt.Errorf("read the output of go env: %w", err)
	}
	return env, nil
}

// A module is one of the modules that the user works in.
type module struct {
	path string
	dir  string // absolute
	file *modfile.File
}

// modules are the main modules of a run: the one that the directory is in, or those of the workspace.
type modules struct {
	all  []*module // in the order of go.work
	work string    // go.work's path; empty outside of a workspace
	dir  map[string]*module
}

// findModules returns nil where there is no module to work in, which is then diagnosed.
func findModules(env goEnv, dir string, diags *diag.List) *modules {
	mods := &modules{dir: map[string]*module{}}
	if env.GOWORK != "" && env.GOWORK != "off" {
		mods.work = env.GOWORK
		if !mods.addWork(env.GOWORK, diags) {
			return nil
		}
	} else {
		if env.GOMOD == "" || env.GOMOD == os.DevNull {
			hint := "run idemgen inside the module, or with -C DIR; if there is none yet, run go mod init in its root first"
			if env.GO111MODULE == "off" {
				hint = "set GO111MODULE=on, or unset it"
			}
			diags.Add(token.Position{}, codeNoModule, hint, "there is no go.mod in %s or above", dir)
			return nil
		}
		if !mods.add(filepath.Dir(env.GOMOD), token.Position{}, diags) {
			return nil
		}
	}
	if len(mods.all) == 0 {
		diags.Add(token.Position{Filename: mods.work}, codeNoModule, "run go work use DIR for the module to work in", "the workspace has no module")
		return nil
	}
	return mods
}

// addWork adds the modules of a go.work file.
func (m *modules) addWork(name string, diags *diag.List) bool {
	src, err := os.ReadFile(name)
	if err != nil {
		diags.Add(token.Position{Filename: name}, codeGo, "make the file readable", "%v", err)
		return false
	}
	work, err := modfile.ParseWork(name, src, nil)
	if err != nil {
		addFileErrors(name, err, diags)
		return false
	}
	good := true
	for _, use := range work.Use {
		dir := filepath.FromSlash(use.Path)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(name), dir)
		}
		pos := token.Position{Filename: name}
		if use.Syntax != nil {
			pos.Line, pos.Column = use.Syntax.Start.Line, use.Syntax.Start.LineRune
		}
		good = m.add(filepath.Clean(dir), pos, diags) && good
	}
	return good
}

// add adds the module in dir, which pos asks for.
func (m *modules) add(dir string, pos token.Position, diags *diag.List) bool {
	name := filepath.Join(dir, "go.mod")
	src, err := os.ReadFile(name)
	if err != nil {
		diags.Add(pos, codeNoModule, "run go work edit -dropuse, or create the module", "%v", err)
		return false
	}
	file, err := modfile.ParseLax(name, src, nil)
	if err != nil {
		addFileErrors(name, err, diags)
		return false
	}
	if file.Module == nil {
		diags.Add(token.Position{Filename: name, Line: 1, Column: 1}, codeGo, "write module example.com/name in the first line", "there is no module line")
		return false
	}
	mod := &module{path: file.Module.Mod.Path, dir: dir, file: file}
	m.all = append(m.all, mod)
	m.dir[dir] = mod
	return true
}

// addFileErrors reports the syntax errors of a go.mod or go.work file.
func addFileErrors(name string, err error, diags *diag.List) {
	var list modfile.ErrorList
	if !errors.As(err, &list) {
		diags.Add(token.Position{Filename: name}, codeGo, "mend the file", "%v", err)
		return
	}
	for _, e := range list {
		diags.Add(token.Position{Filename: name, Line: e.Pos.Line, Column: e.Pos.LineRune}, codeGo, "mend the file", "%v", e.Err)
	}
}

// of returns the main module that dir belongs to: the one at the nearest go.mod above. It returns nil where that is
// another module, or none.
func (m *modules) of(dir string) *module {
	for {
		if mod := m.dir[dir]; mod != nil {
			return mod
		}
		if isFile(filepath.Join(dir, "go.mod")) || filepath.Dir(dir) == dir {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// below returns the main modules in or below dir.
func (m *modules) below(dir string) []*module {
	var out []*module
	for _, mod := range m.all {
		if rel, err := filepath.Rel(dir, mod.dir); err == nil && filepath.IsLocal(rel) {
			out = append(out, mod)
		}
	}
	return out
}

// importPath returns the import path of a folder of the module.
func (mod *module) importPath(dir string) string {
	rel, err := filepath.Rel(mod.dir, dir)
	if err != nil || rel == "." {
		return mod.path
	}
	return mod.path + "/" + filepath.ToSlash(rel)
}

// ignores says whether go.mod's ignore lines leave a folder out of patterns with "...".
func (mod *module) ignores(dir string) bool {
	if len(mod.file.Ignore) == 0 {
		return false
	}
	rel, err := filepath.Rel(mod.dir, dir)
	if err != nil {
		return false
	}
	rel = filepath.ToSlash(rel)
	for _, line := range mod.file.Ignore {
		path := strings.TrimSuffix(line.Path, "/")
		if rooted, ok := strings.CutPrefix(path, "./"); ok {
			if rel == rooted {
				return true
			}
			continue
		}
		if rel == path || strings.HasSuffix(rel, "/"+path) {
			return true
		}
	}
	return false
}

// requires says whether code of the module can import packages of the module called path.
func (m *modules) requires(mod *module, path string) bool {
	among := []*module{mod}
	if m.work != "" {
		among = m.all // in a workspace the modules share one list of requirements
	}
	for _, one := range among {
		if one.path == path {
			return true
		}
		for _, r := range one.file.Require {
			if r.Mod.Path == path {
				return true
			}
		}
	}
	return false
}

// model is the module as the model has it.
func (mod *module) model() model.Module {
	out := model.Module{Path: mod.path, Dir: mod.dir}
	if mod.file.Go != nil {
		out.GoVersion = mod.file.Go.Version
	}
	return out
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
