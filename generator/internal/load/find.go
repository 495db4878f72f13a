package load

import (
	"context"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/diag"
)

// found is what the patterns cover.
type found struct {
	patterns []string
	folders  []*folder // with Go files or one of our stores, sorted
	whole    []string  // roots of the modules that are covered completely
	tagged   string    // some file with idem tags
}

// find walks the folders that the patterns cover, and scans their files.
func find(ctx context.Context, cfg Config, mods *modules, diags *diag.List) (*found, error) {
	w := &walker{ctx: ctx, mods: mods, dir: cfg.Dir, diags: diags, folders: map[string]*folder{}, bare: len(cfg.Patterns) == 0}
	patterns := cfg.Patterns
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	for _, p := range patterns {
		w.pattern(p)
	}
	out := &found{patterns: patterns, whole: w.whole}
	for _, f := range w.folders {
		out.folders = append(out.folders, f)
	}
	slices.SortFunc(out.folders, func(a, b *folder) int { return strings.Compare(a.dir, b.dir) })
	slices.Sort(out.whole)
	out.whole = slices.Compact(out.whole)
	if err := scan(ctx, out.folders, cfg.Tags, diags); err != nil {
		return nil, err
	}
	for _, f := range out.folders {
		if f.tagged != "" {
			out.tagged = f.tagged
			break
		}
	}
	return out, nil
}

// A walker finds the folders of patterns.
type walker struct {
	ctx     context.Context
	mods    *modules
	dir     string
	diags   *diag.List
	folders map[string]*folder
	whole   []string
	bare    bool // no pattern was given
}

const patternHint = `a pattern is a folder such as ./orders, a tree such as ./..., or an import path of the module`

// pattern finds the folders of one pattern.
func (w *walker) pattern(p string) {
	slashed := filepath.ToSlash(p)
	switch {
	case p == "":
		w.diags.Add(token.Position{}, codeNoFolder, patternHint, "there is an empty pattern")
	case strings.HasPrefix(p, "-"):
		w.diags.Add(token.Position{}, codeNoFolder, "flags stand before the patterns", "%s is not a pattern", p)
	case slashed == "." || slashed == ".." || strings.HasPrefix(slashed, "./") || strings.HasPrefix(slashed, "../") || filepath.IsAbs(p):
		w.local(p, slashed)
	case strings.HasSuffix(p, ".go") && isFile(filepath.Join(w.dir, p)):
		w.notAFolder(p)
	default:
		w.imported(p)
	}
}

func (w *walker) notAFolder(p string) {
	w.diags.Add(token.Position{}, codeNoFolder, "give its folder: a package is loaded as a whole", "%s is a file", p)
}

// local handles a pattern that is a path in the file system.
func (w *walker) local(p, slashed string) {
	full := slashed
	if !filepath.IsAbs(p) {
		full = path.Join(filepath.ToSlash(w.dir), slashed)
	}
	full = path.Clean(full)
	before, _, wild := strings.Cut(full, "...")
	root := full
	if wild {
		root = path.Dir(before + "x") // the folder in which the wildcard begins
	}
	root = filepath.FromSlash(root)
	info, err := os.Stat(root)
	switch {
	case err != nil:
		w.diags.Add(token.Position{}, codeNoFolder, patternHint, "pattern %s: there is no folder %s", p, w.shown(root))
		return
	case !info.IsDir():
		w.notAFolder(p)
		return
	}
	mod := w.mods.of(root)
	if mod == nil && (!wild || len(w.mods.below(root)) == 0) || mod != nil && inVendor(mod, root) {
		w.outside(p, root)
		return
	}
	match := wildcard(full)
	v := &visit{walker: w, match: func(dir string, _ *module) bool { return match(filepath.ToSlash(dir)) }}
	if !wild {
		v.folder(root, mod)
	} else {
		v.tree(root, mod, true)
		if before+"..." == full && strings.HasSuffix(before, "/") {
			w.covered(root)
		}
	}
	v.end(p)
}

// covered notes the modules that lie in a tree completely.
func (w *walker) covered(root string) {
	for _, mod := range w.mods.below(root) {
		w.whole = append(w.whole, mod.dir)
	}
}

// imported handles a pattern that is an import path. Only the main modules can be written to, and their packages'
// folders are known without asking the go command.
func (w *walker) imported(p string) {
	match := wildcard(p)
	before, _, wild := strings.Cut(p, "...")
	if p == "all" || p == "work" {
		match, before, wild = func(string) bool { return true }, "", true
	}
	v := &visit{walker: w, match: func(dir string, mod *module) bool { return match(mod.importPath(dir)) }}
	near := false
	for _, mod := range w.mods.all {
		switch {
		case !wild && (p == mod.path || strings.HasPrefix(p, mod.path+"/")):
			root := filepath.Join(mod.dir, filepath.FromSlash(strings.TrimPrefix(strings.TrimPrefix(p, mod.path), "/")))
			if info, err := os.Stat(root); err == nil && info.IsDir() && w.mods.of(root) == mod {
				near = true
				v.folder(root, mod)
			}
		case wild && (strings.HasPrefix(mod.path, before) || strings.HasPrefix(before, mod.path+"/") || match(mod.path)):
			near = true
			v.tree(mod.dir, mod, false)
			if match(mod.path) && match(mod.path+"/x") && !strings.Contains(strings.TrimSuffix(p, "..."), "...") {
				w.whole = append(w.whole, mod.dir)
			}
		}
	}
	if !near {
		w.unknownImport(p)
		return
	}
	v.end(p)
}

// unknownImport reports an import path that is of no main module.
func (w *walker) unknownImport(p string) {
	if info, err := os.Stat(filepath.Join(w.dir, filepath.FromSlash(strings.TrimSuffix(p, "/...")))); err == nil && info.IsDir() {
		w.diags.Add(token.Position{}, codeNoFolder, "did you mean ./"+filepath.ToSlash(p)+"?", "pattern %s is no import path of the module", p)
		return
	}
	for _, mod := range w.mods.all {
		if strings.HasPrefix(p, mod.path+"/") {
			w.diags.Add(token.Position{}, codeNoPackage, patternHint, "pattern %s: module %s has no such package", p, mod.path)
			return
		}
	}
	w.outside(p, "")
}

// outside reports a pattern that leads out of the main modules. dir is where it leads, if known.
func (w *walker) outside(p, dir string) {
	where, hint := "module "+w.mods.all[0].path, "run idemgen in the module that it belongs to (-C DIR)"
	if w.mods.work != "" {
		where = "the workspace " + w.shown(w.mods.work)
		hint = "add its module by go work use, or run idemgen with GOWORK=off in it"
	}
	if dir != "" && !w.inSomeModule(dir) {
		hint = "run go mod init there first"
	}
	w.diags.Add(token.Position{}, codeOutside, hint, "pattern %s leads outside %s", p, where)
}

func (w *walker) inSomeModule(dir string) bool {
	for !isFile(filepath.Join(dir, "go.mod")) {
		if filepath.Dir(dir) == dir {
			return false
		}
		dir = filepath.Dir(dir)
	}
	return true
}

// shown is a path as a message shows it: relative where that is shorter.
func (w *walker) shown(name string) string {
	if rel, err := filepath.Rel(w.dir, name); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return name
}

// inVendor says whether dir is in the vendor folder at the module's root: other people's code.
func inVendor(mod *module, dir string) bool {
	rel, err := filepath.Rel(filepath.Join(mod.dir, "vendor"), dir)
	return err == nil && filepath.IsLocal(rel) && isFile(filepath.Join(mod.dir, "vendor", "modules.txt"))
}

// wildcard compiles a pattern in which "..." is any string, and "/..." at the end may be nothing.
func wildcard(p string) func(string) bool {
	if !strings.Contains(p, "...") {
		return func(s string) bool { return s == p }
	}
	re := strings.ReplaceAll(regexp.QuoteMeta(p), `\.\.\.`, `.*`)
	if cut, ok := strings.CutSuffix(re, `/.*`); ok {
		re = cut + `(/.*)?`
	}
	return regexp.MustCompile(`^` + re + `$`).MatchString
}
