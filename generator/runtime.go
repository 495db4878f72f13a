package generator

import (
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/mod/module"

	"github.com/idemgen/idemgen/generator/internal/model"
)

const (
	toolModule    = "github.com/idemgen/idemgen"
	runtimeModule = toolModule + "/runtime"
)

// runtimeGet is the commands that add the runtime where it is missing, one line for each module, to be run in dir. What
// the generated code imports besides may lack its own requirements or sums, pgx's pool for one: tidy adds them.
func runtimeGet(program *model.Program, dir string) string {
	var lines []string
	for _, p := range program.Packages {
		if !p.RuntimeMissing {
			continue
		}
		in := inModule(p.Module.Dir, dir)
		line := fmt.Sprintf("go %sget %s@%s && go %smod tidy", in, runtimeModule, runtimeVersion(), in)
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// inModule is the flag that takes the go command from dir into a module; none where dir is in it.
func inModule(module, dir string) string {
	if rel, err := filepath.Rel(module, dir); err == nil && filepath.IsLocal(rel) {
		return ""
	}
	if rel, err := filepath.Rel(dir, module); err == nil {
		module = rel
	}
	return "-C " + filepath.ToSlash(module) + " "
}

// runtimeVersion is the version of the runtime that goes with this build: the two are released together. A build that
// is no release takes the latest.
func runtimeVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "latest"
	}
	version := ""
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == toolModule {
			version = m.Version
		}
	}
	if version == "" || version == "(devel)" || module.IsPseudoVersion(version) || strings.Contains(version, "+") {
		return "latest"
	}
	return version
}
