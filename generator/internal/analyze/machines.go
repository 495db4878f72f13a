package analyze

import (
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/directive"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// machinesAgree holds the transitions on one column against all that is said of it, in each package of the run: what a row's
// state tells about its past is only true if there is no change of state but those of the machine. A package with a schema of
// its own has other tables.
func (a *analyzer) machinesAgree(scans []*scan) {
	for _, s := range scans {
		for i, m := range s.machines {
			if slices.ContainsFunc(s.machines[:i], func(o *machine) bool { return s.about(m.said, o) }) {
				continue // that has been said of the first one
			}
			for _, o := range scans {
				switch {
				case o == s:
					s.spelledOtherwise(m)
				case s.sharesSchema(o):
					o.agreesWith(s, m)
				}
			}
		}
	}
}

// sharesSchema says that two packages have their tables in one schema.
func (s *scan) sharesSchema(o *scan) bool {
	a, b := s.out.Store, o.out.Store
	return a != nil && b != nil && a.Engine == b.Engine && len(a.UserPaths) > 0 && slices.Equal(a.UserPaths, b.UserPaths)
}

// wholeName is a column's name with everything that may be left out, in the case that counts.
func (s *scan) wholeName(schema, table, column string) string {
	engine := postgresql
	if s.out.Store != nil {
		engine = s.out.Store.Engine
	}
	if schema == "" {
		schema = map[string]string{postgresql: "public", sqlite: "main"}[engine]
	}
	name := schema + "." + table + "." + column
	if engine != postgresql {
		name = strings.ToLower(name)
	}
	return name
}

// about says that a directive's column is the one of a machine, however it is spelled.
func (s *scan) about(c directive.ColumnRef, m *machine) bool {
	return s.wholeName(c.Schema, c.Table, c.Column) == s.wholeName(m.Schema, m.Table, m.Column)
}

// spelledOtherwise reports transitions and machines on a machine's column that name it in another way: they would not be held
// against it.
func (s *scan) spelledOtherwise(m *machine) {
	report := func(c directive.ColumnRef) {
		s.a.diags.Add(c.Pos, codeStatesSpelled, "write "+m.Text(), "%s is the column of the machine at %s, which spells it %s", c, at(m.Pos), m.Text())
	}
	for _, h := range s.handlers {
		if h.Transition != nil && s.about(h.change.Change.Column, m) && h.change.Change.Column.String() != m.said.String() {
			report(h.change.Change.Column)
		}
	}
	for _, o := range s.machines {
		if o != m && s.about(o.said, m) {
			report(o.said)
		}
	}
}

// agreesWith reports changes of state of this package that another package's machine of the column does not have.
func (s *scan) agreesWith(other *scan, m *machine) {
	const mend = "add it to the //idem:states there, if the change is allowed: a row's state tells its past only where all changes are known"
	missing := func(e model.Edge) bool {
		return !slices.ContainsFunc(m.Edges, func(o model.Edge) bool { return o.From == e.From && o.To == e.To })
	}
	said := false
	for _, own := range s.machines {
		if !s.about(own.said, m) {
			continue
		}
		said = true
		for _, e := range own.Edges {
			if missing(e) {
				s.a.diags.Add(e.Pos, codeNoEdge, mend, "%s -> %s is no arrow of the machine of %s in package %s, at %s", e.From, e.To, m.Text(), other.Name, at(m.Pos))
			}
		}
	}
	if said {
		return // the transitions are held against that one
	}
	for _, h := range s.handlers {
		if h.Transition == nil || !s.about(h.change.Change.Column, m) {
			continue
		}
		for _, from := range h.change.Change.Steps[0] {
			if missing(model.Edge{From: from.Name, To: h.Transition.To}) {
				h.fail(from.Pos, codeNoEdge, mend, "%s -> %s is no arrow of the machine of %s in package %s, at %s", from.Name, h.Transition.To, m.Text(), other.Name, at(m.Pos))
			}
		}
	}
}
