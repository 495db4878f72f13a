package load

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"

	"github.com/idemgen/idemgen/generator/internal/header"
)

// storeFiles are the files by which a folder is known as one of our stores. The first is written last, so that a run
// that was killed may have left only others.
var storeFiles = []string{"store_gen.go", "keys.sql", "schema.sql", "sqlc.yaml"}

// isStore says whether a folder is one of our stores. An empty file does not count here: the names are not ours alone.
func isStore(dir string, names []string) bool {
	return slices.ContainsFunc(storeFiles, func(name string) bool {
		if !slices.Contains(names, name) {
			return false
		}
		src, err := os.ReadFile(filepath.Join(dir, name))
		return err == nil && len(bytes.TrimSpace(src)) > 0 && header.Ours(src)
	})
}

// withStoresAbove adds to stores those that a package with directives would take by default: idemdb or
// internal/idemdb in its folder or above, up to the module's root. The result is sorted and without repeats.
func withStoresAbove(stores []string, hits []*folder) []string {
	looked := map[string]bool{}
	for _, hit := range hits {
		for dir := hit.dir; !looked[dir]; dir = filepath.Dir(dir) {
			looked[dir] = true
			for _, name := range []string{"idemdb", filepath.Join("internal", "idemdb")} {
				candidate := filepath.Join(dir, name)
				if isStore(candidate, storeFiles) {
					stores = append(stores, candidate)
				}
			}
			if dir == hit.module.dir {
				break
			}
		}
	}
	slices.Sort(stores)
	return slices.Compact(stores)
}
