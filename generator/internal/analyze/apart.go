package analyze

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/model"
)

// A package that names no store and finds none gets one of its own. That is right for one package, but packages beside
// each other get one each, for one and the same table. It works, and so it is no fault; but whoever creates such a store
// is told so, once.

// A kind is what two stores have in common that could be one.
type kind struct {
	module, engine string
	driver         model.Driver
	table          string // quoted
}

// siblings are the stores of one kind.
type siblings struct {
	fresh []*scan  // the packages that get a store of their own by this run, without having asked for it
	other []string // the folders of other stores, on disk or planned
}

// apart tells of stores that this run creates although there are others for the same table in the module.
func (a *analyzer) apart(scans []*scan, orphans []string) []string {
	kinds := map[kind]*siblings{}
	planned := map[string]bool{}
	for _, s := range scans {
		st := s.out.Store
		if st == nil || planned[st.Dir] {
			continue
		}
		planned[st.Dir] = true
		k := kind{s.Module.Dir, st.Engine, st.Driver, quoted(st)}
		if kinds[k] == nil {
			kinds[k] = &siblings{}
		}
		if asked(scans, st) || onDisk(st.Dir) {
			kinds[k].other = append(kinds[k].other, st.Dir)
		} else {
			kinds[k].fresh = append(kinds[k].fresh, s)
		}
	}
	found := map[string]map[kind][]string{} // by module
	var notes []string
	for k, all := range kinds {
		if len(all.fresh) == 0 {
			continue
		}
		if found[k.module] == nil {
			found[k.module] = storesIn(k.module)
		}
		for _, dir := range found[k.module][k] {
			if !planned[dir] && !slices.Contains(orphans, dir) {
				all.other = append(all.other, dir)
			}
		}
		if len(all.fresh)+len(all.other) > 1 {
			notes = append(notes, all.note())
		}
	}
	slices.Sort(notes)
	return notes
}

// asked says that a package has named the folder of the store.
func asked(scans []*scan, st *model.Store) bool {
	return slices.ContainsFunc(scans, func(s *scan) bool {
		_, explicit := s.settingsArg("out")
		return explicit && s.out.Store == st
	})
}

// onDisk says that a folder is one of our stores already.
func onDisk(dir string) bool {
	return slices.ContainsFunc(storeFiles, func(name string) bool { return ownHeader(filepath.Join(dir, name)) })
}

// storesIn finds the stores of a module, where the go command would look for packages. What cannot be read has none.
func storesIn(module string) map[kind][]string {
	out := map[kind][]string{}
	// The callback returns no error but SkipDir, so the walk has none.
	_ = filepath.WalkDir(module, func(dir string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || !e.IsDir():
			return nil
		case dir == module:
		case strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "_") || e.Name() == "testdata" || e.Name() == "vendor":
			return filepath.SkipDir
		default:
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				return filepath.SkipDir
			}
		}
		if ownHeader(filepath.Join(dir, "store_gen.go")) {
			if st, ok := readStore(dir); ok {
				k := kind{module, st.Engine, st.Driver, st.Table}
				out[k] = append(out[k], dir)
			}
		}
		return nil
	})
	return out
}

// note says which stores could be one, and how.
func (all *siblings) note() string {
	s := all.fresh[0]
	table := tableText(s.out.Store)
	slices.Sort(all.other)
	if len(all.fresh) == 1 {
		for _, dir := range all.other {
			if importable(s.importPath(dir), s.Path) {
				return fmt.Sprintf("%s is another store for the table %s, beside %s; to share %s, write //idem:package out=%s in package %s",
					filepath.ToSlash(s.out.Store.Dir), table, list(all.other), filepath.ToSlash(dir), s.outTo(dir), s.Name)
			}
		}
	}
	dirs := slices.Clone(all.other)
	for _, f := range all.fresh {
		dirs = append(dirs, f.out.Store.Dir)
	}
	slices.Sort(dirs)
	shared := filepath.Dir(dirs[0])
	for _, dir := range dirs {
		for !strings.HasPrefix(dir, shared+string(filepath.Separator)) && len(shared) > len(s.Module.Dir) {
			shared = filepath.Dir(shared)
		}
	}
	return fmt.Sprintf("%s are stores for one table, %s; to share one, write //idem:package out=%s in package %s, and likewise in the others",
		list(dirs), table, s.outTo(filepath.Join(shared, defaultOut)), s.Name)
}

// outTo is a folder as the package's out= writes it.
func (s *scan) outTo(dir string) string {
	rel, err := filepath.Rel(s.Dir, dir)
	if err != nil {
		return filepath.ToSlash(dir)
	}
	if rel = filepath.ToSlash(rel); !strings.HasPrefix(rel, "../") {
		rel = "./" + rel
	}
	return rel
}

// importPath is the import path of a folder of the package's module.
func (s *scan) importPath(dir string) string {
	rel, err := filepath.Rel(s.Module.Dir, dir)
	if err != nil {
		return ""
	}
	return path.Join(s.Module.Path, filepath.ToSlash(rel))
}

// maxListed bounds the paths in a note.
const maxListed = 5

// list writes paths as a sentence does: "a, b and c".
func list(paths []string) string {
	var items []string
	for _, p := range paths {
		items = append(items, filepath.ToSlash(p))
	}
	if more := len(items) - maxListed; more > 0 {
		items = append(items[:maxListed], fmt.Sprintf("%d more", more))
	}
	last := len(items) - 1
	if last == 0 {
		return items[0]
	}
	return strings.Join(items[:last], ", ") + " and " + items[last]
}
