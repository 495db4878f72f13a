package load

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// Config says what to load.
type Config struct {
	Dir      string   // where patterns are relative to; empty means the current directory
	Patterns []string // as for the go command; none means "."
	Tags     string   // as for go build -tags
	Env      []string // of the go command; nil means the process's own
}

// Program is what one run has loaded.
type Program struct {
	Fset     *token.FileSet
	Packages []*Package // with a directive somewhere, by import path
	// OwnFiles are our idem_gen.go files in folders that the patterns cover whose package has no directive left:
	// absolute and sorted. Their reason is gone.
	OwnFiles []string
	// OwnStores are the folders of our stores, absolute and sorted: those in folders that the patterns cover, and those
	// called idemdb or internal/idemdb on the way from a package with directives up to its module's root.
	OwnStores []string
	// ForeignGen are idem_gen.go files in the way that we did not write: absolute, sorted, and diagnosed.
	ForeignGen []string
	// Whole are the roots of the modules that the patterns cover completely, absolute and sorted: of these it is known
	// that nothing but Packages uses a store.
	Whole []string
	// Loads is the number of times that packages were loaded: at most one, whatever the number of packages.
	Loads int
}

// Package is one package with at least one directive.
type Package struct {
	Name, Path string
	Dir        string // absolute
	Module     model.Module
	// RuntimeMissing says that the module does not require the runtime yet.
	RuntimeMissing bool
	// Files are the parsed files, by name, without our own generated one. A package in which a file with a directive or
	// a tag is broken is diagnosed, and is not in the program; other broken files are here as far as they could be read.
	Files []File
	Types *types.Package
	Info  *types.Info
	// Missing are the packages that Files import and whose modules go.mod or go.sum lacks, sorted.
	Missing []string
	// Constraint is the build constraint that all files with directives have, whether by a //go:build line or by their
	// names; empty for none.
	Constraint string
	// Own is the absolute path of our idem_gen.go in Dir; empty where there is none or it is not ours.
	Own string
}

// File is one parsed source file.
type File struct {
	Name   string // absolute
	Syntax *ast.File
	Src    []byte // only of files with a directive or a tag
}

// GenFile is the name of the file that we generate in each package with directives.
const GenFile = "idem_gen.go"

// Load finds and loads the packages with directives. Faults of the input go to diags, and the program holds what could
// be loaded all the same. The error is for trouble: the go command cannot be run, or ctx is done.
func Load(ctx context.Context, cfg Config, diags *diag.List) (*Program, error) {
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the directory to work in: %w", err)
	}
	cfg.Dir = dir
	if cfg.Env == nil {
		cfg.Env = os.Environ()
	}
	prog := &Program{Fset: token.NewFileSet()}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		diags.Add(token.Position{}, codeNoFolder, "give a folder that exists", "%s is not a folder", cfg.Dir)
		return prog, nil
	}
	env, err := readGoEnv(ctx, cfg)
	if err != nil {
		return nil, err
	}
	mods := findModules(env, dir, diags)
	if mods == nil {
		return prog, nil
	}
	before := diags.Len()
	found, err := find(ctx, cfg, mods, diags)
	if err != nil {
		return nil, err
	}
	prog.Whole = found.whole
	hits := prog.sort(found, diags)
	if len(hits) == 0 {
		if diags.Len() == before && len(prog.OwnFiles) == 0 && len(prog.OwnStores) == 0 {
			noDirective(found, diags)
		}
		return prog, nil
	}
	prog.OwnStores = withStoresAbove(prog.OwnStores, hits)
	if err := prog.load(ctx, cfg, env, mods, hits, diags); err != nil {
		return nil, err
	}
	slices.SortFunc(prog.Packages, func(a, b *Package) int { return strings.Compare(a.Path, b.Path) })
	return prog, nil
}

// sort divides the folders found into those to load, which it returns, and our output elsewhere.
func (prog *Program) sort(found *found, diags *diag.List) (hits []*folder) {
	for _, f := range found.folders {
		if f.store {
			prog.OwnStores = append(prog.OwnStores, f.dir)
		}
		for _, t := range f.tests {
			diags.Add(t, codeInTest, "move the handler to a file that is part of the package", "a directive in a test file has no effect")
		}
		switch {
		case len(f.hits) > 0:
			hits = append(hits, f)
			if f.foreign != "" {
				prog.ForeignGen = append(prog.ForeignGen, f.foreign)
				hint := "rename or remove it: the generated code goes there"
				if f.headless {
					hint = "remove it: it looks like an earlier " + GenFile + " that has lost its first line"
				}
				diags.Add(token.Position{Filename: f.foreign, Line: 1, Column: 1}, codeForeign,
					hint, "idemgen did not write this %s, and does not overwrite it", GenFile)
			}
		case f.own != "":
			prog.OwnFiles = append(prog.OwnFiles, f.own)
		}
	}
	return hits
}

// noDirective reports that there is nothing to do, and never was.
func noDirective(found *found, diags *diag.List) {
	if found.tagged != "" {
		diags.Add(token.Position{Filename: found.tagged}, codeNoDirective, "write //idem:handler window=24h directly above the handler of this payload",
			"there are idem tags here, but no //idem: directive anywhere")
		return
	}
	hint := "write //idem:handler window=24h directly above a handler, and idem:\"key\" on its payload's business ID; " +
		"idemgen help directives tells more"
	if !slices.ContainsFunc(found.patterns, func(p string) bool { return strings.HasSuffix(p, "...") }) {
		hint = "are the handlers in a folder below? then write ./...; else " + hint
	}
	diags.Add(token.Position{}, codeNoDirective, hint, "no //idem: directive in %s", strings.Join(found.patterns, " "))
}
