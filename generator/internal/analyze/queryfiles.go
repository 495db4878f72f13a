package analyze

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/load"
	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/schema"
)

// packageLine is the line of a file of statements that says whose they are. Package sqlcode writes it.
var packageLine = regexp.MustCompile(`(?m)^-- Package: (\S+)\r?$`)

// checkQueries completes the files of statements: it keeps those of packages that this run does not see, names the files so
// that no two are one, and refuses statements of one name.
func (a *analyzer) checkQueries(scans []*scan) {
	stores := map[*model.Store][]*scan{}
	var order []*model.Store
	for _, s := range scans {
		if st := s.out.Store; st != nil {
			if stores[st] == nil {
				order = append(order, st)
			}
			stores[st] = append(stores[st], s)
		}
	}
	for _, st := range order {
		a.keepQueries(st, scans)
		nameFiles(st)
		a.equalQueries(st, scans)
		st.Gone = gone(st)
	}
}

// gone are the files of statements that stand in a store's folder and are none of its files any more.
func gone(st *model.Store) []string {
	found, err := filepath.Glob(filepath.Join(st.Dir, "*.sql"))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(found, func(file string) bool {
		text, err := os.ReadFile(file)
		return err != nil || !packageLine.Match(text) || !ownHeader(file) ||
			slices.ContainsFunc(st.Transitions, func(f *model.QueryFile) bool { return f.Name == filepath.Base(file) })
	})
}

// keepQueries adds the files of packages that are not among those of this run and still have generated code.
func (a *analyzer) keepQueries(st *model.Store, scans []*scan) {
	found, err := filepath.Glob(filepath.Join(st.Dir, "*.sql"))
	if err != nil {
		return // the folder's name has a pattern in it; there can be nothing to keep
	}
	for _, file := range found {
		text, err := os.ReadFile(file)
		m := packageLine.FindSubmatch(text)
		if err != nil || m == nil || !ownHeader(file) {
			continue
		}
		path := string(m[1])
		if slices.ContainsFunc(scans, func(s *scan) bool { return s.Path == path }) {
			continue // written anew, or gone
		}
		if !a.standsStill(st, path) {
			continue
		}
		st.Transitions = append(st.Transitions, &model.QueryFile{Name: filepath.Base(file), Package: path, Text: text})
		if st.UserSchema == nil {
			a.keepSchema(st)
		}
	}
}

// standsStill says that a package that this run does not see has its generated code yet.
func (a *analyzer) standsStill(st *model.Store, path string) bool {
	root, modulePath := moduleOf(st.Dir)
	rel, inside := strings.CutPrefix(path, modulePath+"/")
	if root == "" || !inside {
		return path == modulePath && root != ""
	}
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(rel), load.GenFile))
	return err == nil
}

// nameFiles gives every file a name of its own: that of its package, with more of its path before it where that is taken.
// Files that stand keep theirs.
func nameFiles(st *model.Store) {
	taken := map[string]bool{"keys.sql": true, "schema.sql": true}
	for _, f := range st.Transitions {
		if f.Text != nil {
			taken[f.Name] = true
		}
	}
	slices.SortFunc(st.Transitions, func(x, y *model.QueryFile) int { return strings.Compare(x.Package, y.Package) })
	for _, f := range st.Transitions {
		if f.Text != nil {
			continue
		}
		elems := strings.Split(f.Package, "/")
		base := strings.TrimSuffix(f.Name, ".sql")
		if there := standing(st, f.Package); there != "" && !taken[there] {
			f.Name = there
			taken[there] = true
			continue
		}
		for i := len(elems) - 2; taken[fileName(base)] && i >= 0; i-- {
			base = word(elems[i]) + "_" + base
		}
		for n := 2; taken[fileName(base)]; n++ {
			base = fmt.Sprintf("%s%d", base, n)
		}
		f.Name = fileName(base)
		taken[f.Name] = true
	}
	slices.SortFunc(st.Transitions, func(x, y *model.QueryFile) int { return strings.Compare(x.Name, y.Name) })
}

// standing is the name of the file that a package's statements are in already; empty for none.
func standing(st *model.Store, path string) string {
	found, err := filepath.Glob(filepath.Join(st.Dir, "*.sql"))
	if err != nil {
		return ""
	}
	for _, file := range found {
		text, err := os.ReadFile(file)
		if m := packageLine.FindSubmatch(text); err == nil && m != nil && string(m[1]) == path && ownHeader(file) {
			return filepath.Base(file)
		}
	}
	return ""
}

// constrained are the words that the go command takes for a build constraint at the end of a file's name, behind an
// underscore, and "test". Go, "go help buildconstraint".
var constrained = regexp.MustCompile(`_(aix|android|darwin|dragonfly|freebsd|illumos|ios|js|linux|netbsd|openbsd|plan9|solaris|wasip1|windows|386|amd64|arm|arm64|loong64|mips|mips64|mips64le|mipsle|ppc64|ppc64le|riscv64|s390x|wasm|test)$`)

func fileName(base string) string {
	if constrained.MatchString(base) {
		base += "_"
	}
	return base + ".sql"
}

// word is a path's element as a part of a file's name.
func word(elem string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, elem)
}

// reservedQueries are the names that a store's package has already.
var reservedQueries = []string{"Claim", "TakeOver", "Complete", "Lookup", "Renew", "Finish", "Release", "Park", "Sweep", "New", "Queries", "DBTX", "Schema", "Store"}

// equalQueries refuses two statements of one name: sqlc would make two functions of it.
func (a *analyzer) equalQueries(st *model.Store, scans []*scan) {
	first := map[string]*handler{}
	for _, name := range reservedQueries {
		first[name] = nil
	}
	for _, s := range scans {
		if s.out.Store != st {
			continue
		}
		for _, h := range s.handlers {
			if h.Transition == nil {
				continue
			}
			told := false
			for _, name := range []string{h.Transition.Query, h.Transition.Query + "State"} {
				other, taken := first[name]
				switch {
				case !taken:
					first[name] = h
					continue
				case told:
					continue
				case other == nil:
					h.fail(h.Pos, codeTwoQueries, "rename the handler, or its package", "the statement of %s would be called %s, as one of the store's own is", h.Source, name)
				default:
					h.fail(h.Pos, codeTwoQueries, "rename one of the two, or give one of the packages a store of its own with out=./idemdb",
						"the statement of %s would be called %s, as that of %s at %s is", h.Source, name, other.Source, at(other.Pos))
				}
				told = true
			}
		}
	}
}

// keepSchema reads the schema that the statements of other packages are compiled against, as the store's sqlc.yaml names it.
func (a *analyzer) keepSchema(st *model.Store) {
	conf, err := readSQLC(filepath.Join(st.Dir, "sqlc.yaml"))
	if err != nil || len(conf.blocks) != 1 {
		return // sqlc says what is missing
	}
	ours := filepath.Join(st.Dir, "schema.sql")
	st.OwnTable = !slices.Contains(conf.blocks[0].schema, ours)
	for _, path := range conf.blocks[0].schema {
		if path != ours {
			st.UserPaths = append(st.UserPaths, path)
		}
	}
	files, err := schema.Files(st.UserPaths)
	if err != nil {
		return // sqlc says what is missing
	}
	st.UserSchema = slices.DeleteFunc(files, func(f model.SchemaFile) bool { return f.Path == ours })
}
