package schema

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// pgDomain is a type with conditions.
type pgDomain struct {
	base       pgName
	size       int
	notNull    bool
	byDefault  string
	conditions []*pgCondition
}

// pgCondition is a CHECK of a domain.
type pgCondition struct {
	name string
	expr *pg.Node
}

func (r *pgReader) createDomain(s *pg.CreateDomainStmt) {
	d := &pgDomain{base: listName(s.GetTypeName().GetNames()), size: typeSize(s.GetTypeName())}
	name := listName(s.GetDomainname())
	for _, n := range s.GetConstraints() {
		d.constraint(name.name, n.GetConstraint())
	}
	r.domains[name] = d
}

func (d *pgDomain) constraint(domain string, n *pg.Constraint) {
	switch n.GetContype() {
	case pg.ConstrType_CONSTR_NOTNULL:
		d.notNull = true
	case pg.ConstrType_CONSTR_DEFAULT:
		d.byDefault, _ = textOf(n.GetRawExpr())
	case pg.ConstrType_CONSTR_CHECK:
		name := n.GetConname()
		if name == "" {
			name = pgFree(domain, "", "check", func(n string) bool {
				return slices.ContainsFunc(d.conditions, func(c *pgCondition) bool { return c.name == n })
			})
		}
		d.conditions = append(d.conditions, &pgCondition{name, n.GetRawExpr()})
	}
}

// alterDomain executes ALTER DOMAIN. The subtypes are those of PostgreSQL's parsenodes.h, AlterDomainStmt.
func (r *pgReader) alterDomain(s *pg.AlterDomainStmt) {
	name := listName(s.GetTypeName())
	d := r.domains[name]
	if d == nil {
		return
	}
	switch s.GetSubtype() {
	case "T":
		d.byDefault, _ = textOf(s.GetDef())
	case "N":
		d.notNull = false
	case "O":
		d.notNull = true
	case "C":
		d.constraint(name.name, s.GetDef().GetConstraint())
	case "X":
		d.conditions = slices.DeleteFunc(d.conditions, func(c *pgCondition) bool { return c.name == s.GetName() })
	}
}
