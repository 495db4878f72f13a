package analyze

import (
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/load"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// share makes one store of those in one folder, and reports packages that disagree about it.
func (a *analyzer) share(choices []*choice) []*model.Store {
	first := map[string]*choice{}
	var out []*model.Store
	for _, c := range choices {
		st := &c.store
		other, shared := first[st.Dir]
		if !shared {
			if !a.completeStore(c) || !a.keepsOthers(c, choices) {
				continue
			}
			first[st.Dir] = c
			out = append(out, st)
			c.scan.out.Store = st
			continue
		}
		c.scan.out.Store = &other.store
		a.agree(other, c)
	}
	slices.SortFunc(out, func(x, y *model.Store) int { return strings.Compare(x.Dir, y.Dir) })
	return out
}

// agree reports where two packages want different things of one store.
func (a *analyzer) agree(first, c *choice) {
	x, y := &first.store, &c.store
	disagree := func(pos token.Position, what, mine, theirs string) {
		a.diags.Add(pos, codeDisagree, "make them agree, or give one of the packages a store of its own with out=./idemdb",
			"packages %s and %s share the store %s and disagree about its %s: %s here, %s for %s at %s",
			c.scan.Name, first.scan.Name, filepath.ToSlash(y.Dir), what, mine, theirs, first.scan.Name, at(x.Pos))
	}
	switch {
	case x.Engine != y.Engine:
		disagree(y.Pos, "engine", y.Engine, x.Engine)
	case x.Driver != y.Driver:
		disagree(y.Pos, "driver", driverText(y.Driver), driverText(x.Driver))
	case x.Schema != y.Schema || x.Table != y.Table:
		disagree(c.tablePos, "table", tableText(y), tableText(x))
	}
}

func tableText(s *model.Store) string {
	if s.Schema == "" {
		return s.Table
	}
	return s.Schema + "." + s.Table
}

// keepsOthers reports a store that would change under a package that this run does not see: its generated code would no
// longer compile, or look into another table.
func (a *analyzer) keepsOthers(c *choice, choices []*choice) bool {
	there, ok := readStore(c.store.Dir)
	st := &c.store
	if !ok || there.Engine == st.Engine && there.Driver == st.Driver && (there.Table == "" || there.Table == quoted(st)) {
		return true
	}
	user := a.otherUser(c, choices)
	if user == "" {
		return a.keepsEngine(c, there.Engine)
	}
	a.diags.Add(st.Pos, codeDisagree, "make them agree and generate both in one run, or give this package a store of its own with out=./idemdb",
		"the store %s is there for %s by %s in %s, and used by %s; package %s wants %s by %s in %s",
		filepath.ToSlash(st.Dir), there.Engine, driverText(there.Driver), there.Table, filepath.ToSlash(user),
		c.scan.Name, st.Engine, driverText(st.Driver), quoted(st))
	return false
}

// keepsEngine reports a store that would become one for another database: the keys stay in the old one, and whoever has
// only lost a setting would not notice.
func (a *analyzer) keepsEngine(c *choice, there string) bool {
	st := &c.store
	if there == "" || there == st.Engine {
		return true
	}
	a.diags.Add(c.scan.enginePos(), codeEngineChange,
		fmt.Sprintf("to keep it, write //idem:package engine=%s; to move to %s, remove the folder first (the keys that are stored do not move along)", there, st.Engine),
		"the store %s is for %s, and package %s now asks for %s", filepath.ToSlash(st.Dir), there, c.scan.Name, st.Engine)
	return false
}

// quoted is the table's name as the statements of a store spell it. No name has a quote in it: see chooseTable.
func quoted(s *model.Store) string {
	mark := `"`
	if s.Engine == mysql {
		mark = "`"
	}
	if s.Schema == "" {
		return mark + s.Table + mark
	}
	return mark + s.Schema + mark + "." + mark + s.Table + mark
}

var insertInto = regexp.MustCompile(`(?m)^INSERT INTO (\S+)`)

// readStore reads what a store on disk is for, from the inputs that were written for sqlc. Its table is quoted.
func readStore(dir string) (model.Store, bool) {
	conf, err := readSQLC(filepath.Join(dir, "sqlc.yaml"))
	if err != nil || len(conf.blocks) != 1 {
		return model.Store{}, false
	}
	st := model.Store{Engine: conf.blocks[0].engine, Driver: conf.blocks[0].driver}
	if keys, err := os.ReadFile(filepath.Join(dir, "keys.sql")); err == nil {
		if m := insertInto.FindSubmatch(keys); m != nil {
			st.Table = string(m[1])
		}
	}
	return st, true
}

// otherUser finds generated code that imports a store and that this run does not write anew.
func (a *analyzer) otherUser(c *choice, choices []*choice) string {
	rewritten := slices.Clone(a.prog.OwnFiles)
	for _, other := range choices {
		rewritten = append(rewritten, other.scan.Own)
	}
	user, err := importer(c.scan.Module.Dir, c.store.Dir, c.store.ImportPath, func(file string) bool {
		return filepath.Base(file) != load.GenFile || slices.Contains(rewritten, file)
	})
	if err != nil {
		return ""
	}
	return user
}

// importer finds a Go file in a module, outside of a package's own folder, that imports the package; empty for none.
func importer(root, dir, importPath string, skip func(file string) bool) (found string, err error) {
	spelled := `"` + importPath + `"`
	err = filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (file == dir || e.Name() == ".git"):
			return filepath.SkipDir
		case e.IsDir() || filepath.Ext(file) != ".go" || skip(file):
			return nil
		}
		src, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(src), spelled) {
			found = file
			return filepath.SkipAll
		}
		return err
	})
	return found, err
}
