package analyze

import (
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/mod/modfile"

	"github.com/idemgen/idemgen/generator/internal/model"
)

// orphans are the files and folders that are ours and whose reason is gone: idem_gen.go of packages without handlers,
// and stores that nothing in their module can still need.
func (a *analyzer) orphans(scans []*scan, stores []*model.Store) []string {
	out := slices.Clone(a.prog.OwnFiles)
	for _, s := range scans {
		if len(s.handlers) == 0 && s.Own != "" {
			out = append(out, s.Own)
		}
	}
	for _, dir := range a.prog.OwnStores {
		planned := slices.ContainsFunc(stores, func(st *model.Store) bool { return st.Dir == dir })
		if !planned && isStore(dir) && !a.inUse(dir, scans, out) {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// isStore says that a folder is a store, be it an unfinished one. One file with our header makes none: sqlc.yaml and
// schema.sql may have been copied to somebody's own database code, header and all.
func isStore(dir string) bool {
	ours := func(name string) bool { return ownHeader(filepath.Join(dir, name)) }
	return ours("store_gen.go") || ours("keys.sql") && ours("sqlc.yaml")
}

// inUse says that a store may still be needed: that this run has not seen all of its module, or that a Go file imports it
// which the run neither removes nor writes anew. What cannot be found out counts as a use: a store too many is a
// nuisance, one too few breaks a build.
func (a *analyzer) inUse(dir string, scans []*scan, removed []string) bool {
	root, modulePath := moduleOf(dir)
	if root == "" || !slices.Contains(a.prog.Whole, root) {
		return true
	}
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return true
	}
	rewritten := slices.Clone(removed)
	for _, s := range scans {
		rewritten = append(rewritten, s.Own)
	}
	user, err := importer(root, dir, path.Join(modulePath, filepath.ToSlash(rel)), func(file string) bool {
		return slices.Contains(rewritten, file)
	})
	return user != "" || err != nil
}

// moduleOf finds the module that a folder is in.
func moduleOf(dir string) (root, modulePath string) {
	for d := dir; ; d = filepath.Dir(d) {
		data, err := os.ReadFile(filepath.Join(d, "go.mod"))
		if err == nil {
			return d, modfile.ModulePath(data)
		}
		if d == filepath.Dir(d) {
			return "", ""
		}
	}
}
