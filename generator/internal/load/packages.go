package load

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/scanner"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/idemgen/idemgen/generator/internal/diag"
)

// mode is what the analysis needs: the packages themselves from source, everything that they import from what the
// compiler has left.
const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule

// load loads the packages in the folders with directives.
func (prog *Program) load(ctx context.Context, cfg Config, env goEnv, mods *modules, hits []*folder, diags *diag.List) error {
	flags, remove, err := buildFlags(cfg, env, hits)
	if err != nil {
		return err
	}
	defer remove()
	src := &sources{src: map[string][]byte{}, broken: map[string]*scanner.Error{}}
	patterns := make([]string, len(hits))
	for i, f := range hits {
		patterns[i] = "pattern=" + f.dir // the prefix keeps a "=" in the path from being read as a query
	}
	prog.Loads++
	loaded, err := packages.Load(&packages.Config{
		Mode: mode, Context: ctx, Dir: cfg.Dir, Env: cfg.Env, BuildFlags: flags, Fset: prog.Fset, ParseFile: src.parse,
	}, patterns...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		goFailed(err, diags)
		return nil
	}
	byDir := map[string]*packages.Package{}
	for _, p := range loaded {
		byDir[dirOf(p)] = p
	}
	var unknown []*folder
	for _, f := range hits {
		c := conversion{prog: prog, folder: f, src: src, diags: diags}
		if p := byDir[f.dir]; p != nil {
			c.convert(p, mods)
		} else {
			unknown = append(unknown, f)
		}
	}
	if len(unknown) > 0 {
		if err := askGo(ctx, cfg, flags, unknown, diags); err != nil {
			return err
		}
	}
	if !checkReadable(loaded, src, env, diags) {
		prog.Packages = nil // of types that nobody could read, analysis would only say that they are invalid
	}
	return nil
}

// dirOf returns the folder of a package. A driver other than the go command may leave it to be seen from the files.
func dirOf(p *packages.Package) string {
	if files := slices.Concat(p.GoFiles, p.IgnoredFiles); p.Dir == "" && len(files) > 0 {
		return filepath.Dir(files[0])
	}
	return filepath.Clean(p.Dir)
}

// buildFlags returns the flags for go list, and a function that removes what they need.
func buildFlags(cfg Config, env goEnv, hits []*folder) (flags []string, remove func(), err error) {
	flags = []string{"-buildvcs=false"} // there may be no git, and nothing is built
	if cfg.Tags != "" {
		flags = append(flags, "-tags="+strings.Join(splitTags(cfg.Tags), ","))
	}
	if modFlag(env.GOFLAGS) == "mod" {
		flags = append(flags, "-mod=readonly") // go.mod is the user's
	}
	hidden := map[string]string{}
	for _, f := range hits {
		if f.spoiled {
			hidden[f.own] = "" // not there
		}
	}
	if len(hidden) == 0 {
		return flags, func() {}, nil
	}
	name, err := writeOverlay(hidden)
	if err != nil {
		return nil, nil, fmt.Errorf("hide broken output from the go command: %w", err)
	}
	return append(flags, "-overlay="+name), func() { _ = os.Remove(name) }, nil
}

// writeOverlay writes a file for -overlay. This is not the Overlay of package packages, with which everything would be
// loaded from source.
func writeOverlay(replace map[string]string) (name string, err error) {
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file, err := os.CreateTemp("", "idemgen-overlay-*.json")
	if err != nil {
		return "", err
	}
	_, err = file.Write(text)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return file.Name(), err
}

// modFlag returns the value of -mod in GOFLAGS.
func modFlag(goflags string) string {
	value := ""
	for _, flag := range strings.Fields(goflags) {
		if v, ok := strings.CutPrefix(strings.TrimPrefix(flag, "-"), "-mod="); ok {
			value = v
		} else if v, ok := strings.CutPrefix(flag, "-mod="); ok {
			value = v
		}
	}
	return value
}

// A conversion makes a Package of what packages.Load says of a folder.
type conversion struct {
	prog   *Program
	folder *folder
	src    *sources
	diags  *diag.List
}

func (c *conversion) convert(p *packages.Package, mods *modules) {
	f := c.folder
	out := &Package{
		Name: p.Name, Path: p.PkgPath, Dir: f.dir, Own: f.own, Types: p.Types, Info: p.TypesInfo,
		Module: f.module.model(), RuntimeMissing: !mods.requires(f.module, runtimePath),
	}
	out.Missing = missing(p)
	parsed, broken := map[string]bool{}, false
	for _, syntax := range p.Syntax {
		name, onDisk := c.names(syntax)
		parsed[name], parsed[onDisk] = true, true
		if c.src.broken[onDisk] != nil {
			broken = true
		} else if name != f.own {
			out.Files = append(out.Files, File{Name: name, Syntax: syntax, Src: c.src.src[onDisk]})
		}
	}
	slices.SortFunc(out.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })

	in, left := c.divide(p, parsed)
	if len(in)+len(left) < len(f.hits) {
		c.notLoaded(p, parsed)
	}
	c.checkConstraints(in, left)
	if len(in) == 0 || broken {
		return // what analysis could say of half a package would only confuse
	}
	out.Constraint = constraintText(in[0].clause.expr)
	for _, h := range in {
		if h.clause.pkg != "" && h.clause.pkg != p.Types.Name() {
			c.diags.Add(h.first, codeGo, "a folder holds one package: move or rename one of them",
				"this file is of package %s, and its folder of package %s", h.clause.pkg, p.Types.Name())
			return
		}
	}
	c.prog.Packages = append(c.prog.Packages, out)
}

// missing are the imports whose modules go.mod or go.sum lacks.
func missing(p *packages.Package) []string {
	var out []string
	for path, imported := range p.Imports {
		if slices.ContainsFunc(imported.Errors, func(e packages.Error) bool {
			return strings.Contains(e.Msg, "no required module provides package ") || strings.Contains(e.Msg, "missing go.sum entry for module providing package ")
		}) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// names returns the name of a file as its author knows it, and of the file that was read: another one where cgo has
// rewritten it.
func (c *conversion) names(syntax *ast.File) (name, onDisk string) {
	onDisk = c.prog.Fset.File(syntax.FileStart).Name()
	if !syntax.Package.IsValid() {
		return onDisk, onDisk // broken at the top
	}
	name = c.prog.Fset.Position(syntax.Package).Filename
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.folder.dir, name)
	}
	return name, onDisk
}

// divide tells the files with directives that take part in this build from those that a constraint leaves out.
func (c *conversion) divide(p *packages.Package, parsed map[string]bool) (in, left []hit) {
	for _, h := range c.folder.hits {
		switch {
		case parsed[h.name]:
			in = append(in, h)
		case slices.Contains(p.IgnoredFiles, h.name):
			left = append(left, h)
		}
	}
	return in, left
}

// notLoaded reports files with directives that are neither loaded nor left out: the package is broken as a whole.
func (c *conversion) notLoaded(p *packages.Package, parsed map[string]bool) {
	for _, h := range c.folder.hits {
		if parsed[h.name] || slices.Contains(p.IgnoredFiles, h.name) {
			continue
		}
		message := "the go command does not count this file to any package"
		for _, e := range p.Errors {
			if e.Kind == packages.ListError {
				message = strings.TrimSpace(e.Msg)
				break
			}
		}
		c.diags.Add(h.first, codeGo, "let go vet accept the package first", "%s", message)
	}
}

// checkConstraints sees to it that one constraint holds for all files with directives: one generated file serves them.
func (c *conversion) checkConstraints(in, left []hit) {
	if len(in) == 0 {
		for _, h := range left {
			c.diags.Add(h.first, codeExcluded, howToBuild(h.clause.expr), "this build leaves the file out: it is only for %s", constraintText(h.clause.expr))
		}
		return
	}
	want := constraintText(in[0].clause.expr)
	for _, h := range slices.Concat(in[1:], left) {
		if got := constraintText(h.clause.expr); got != want {
			c.diags.Add(h.first, codeConstraints,
				fmt.Sprintf("one %s serves the whole package: give all of its files with directives the same build constraint, or let the files of one constraint be a package of their own", GenFile),
				"this file is built %s, but %s %s", when(got), filepath.Base(in[0].name), when(want))
		}
	}
}

func when(constraint string) string {
	if constraint == "" {
		return "always"
	}
	return "for " + constraint
}
