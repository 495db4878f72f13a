package schema

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// alter executes ALTER TABLE.
func (r *pgReader) alter(s *pg.AlterTableStmt) {
	t := r.tables[rangeName(s.GetRelation())]
	if t == nil {
		return
	}
	for _, n := range s.GetCmds() {
		r.alterCmd(t, n.GetAlterTableCmd())
	}
}

func (r *pgReader) alterCmd(t *pgTable, cmd *pg.AlterTableCmd) {
	c := t.Column(cmd.GetName(), false)
	switch cmd.GetSubtype() {
	case pg.AlterTableType_AT_AddColumn:
		if t.Column(cmd.GetDef().GetColumnDef().GetColname(), false) == nil {
			r.column(t, cmd.GetDef().GetColumnDef())
		}
	case pg.AlterTableType_AT_DropColumn:
		t.dropColumn(c)
	case pg.AlterTableType_AT_AddConstraint:
		r.constraint(t, nil, cmd.GetDef().GetConstraint())
	case pg.AlterTableType_AT_DropConstraint:
		t.constraints = slices.DeleteFunc(t.constraints, func(k *pgConstraint) bool { return k.name == cmd.GetName() })
	case pg.AlterTableType_AT_AttachPartition:
		// A partition has to be updated through its table for the table's keys to count; by itself it has its own.
	case pg.AlterTableType_AT_AddInherit:
		if parent := r.tables[rangeName(cmd.GetDef().GetRangeVar())]; parent != nil {
			parent.Parent = true
		}
	}
	if c == nil {
		return
	}
	switch cmd.GetSubtype() {
	case pg.AlterTableType_AT_AlterColumnType:
		c.Class = Other
		r.setType(t, c, cmd.GetDef().GetColumnDef().GetTypeName())
		t.collations[c] = listName(cmd.GetDef().GetColumnDef().GetCollClause().GetCollname()).name
	case pg.AlterTableType_AT_ColumnDefault:
		c.Default, _ = textOf(cmd.GetDef())
	case pg.AlterTableType_AT_SetNotNull:
		c.NotNull = true
	case pg.AlterTableType_AT_DropNotNull:
		c.NotNull = false
	case pg.AlterTableType_AT_SetExpression:
		c.Generated = true
	case pg.AlterTableType_AT_DropExpression, pg.AlterTableType_AT_DropIdentity:
		c.Generated = false
	case pg.AlterTableType_AT_AddIdentity:
		r.constraint(t, c, cmd.GetDef().GetConstraint())
	}
}

// dropColumn drops a column with its keys and conditions.
func (t *pgTable) dropColumn(c *Column) {
	if c == nil {
		return
	}
	t.Columns = slices.DeleteFunc(t.Columns, func(o *Column) bool { return o == c })
	t.constraints = slices.DeleteFunc(t.constraints, func(k *pgConstraint) bool { return slices.Contains(k.columns, c) })
}

// rename executes ALTER … RENAME.
func (r *pgReader) rename(s *pg.RenameStmt) {
	name := rangeName(s.GetRelation())
	t := r.tables[name]
	switch s.GetRenameType() {
	case pg.ObjectType_OBJECT_TABLE, pg.ObjectType_OBJECT_VIEW, pg.ObjectType_OBJECT_MATVIEW, pg.ObjectType_OBJECT_FOREIGN_TABLE:
		if t != nil {
			delete(r.tables, name)
			t.Name = s.GetNewname()
			r.tables[pgName{name.schema, t.Name}] = t
		}
	case pg.ObjectType_OBJECT_COLUMN:
		if t != nil {
			if c := t.Column(s.GetSubname(), false); c != nil {
				c.Name = s.GetNewname()
			}
		}
	case pg.ObjectType_OBJECT_TABCONSTRAINT:
		if t != nil {
			for _, k := range t.constraints {
				if k.name == s.GetSubname() {
					k.name = s.GetNewname()
				}
			}
		}
	case pg.ObjectType_OBJECT_INDEX:
		for _, k := range r.keys(name) {
			k.name = s.GetNewname()
		}
	case pg.ObjectType_OBJECT_DOMCONSTRAINT:
		if d := r.domains[nodeName(s.GetObject())]; d != nil {
			for _, condition := range d.conditions {
				if condition.name == s.GetSubname() {
					condition.name = s.GetNewname()
				}
			}
		}
	case pg.ObjectType_OBJECT_TYPE, pg.ObjectType_OBJECT_DOMAIN:
		r.renameType(nodeName(s.GetObject()), func(n pgName) pgName { return pgName{n.schema, s.GetNewname()} })
	}
}

// renameType gives an enum or a domain another name, and with it the columns that are of it.
func (r *pgReader) renameType(old pgName, renamed func(pgName) pgName) {
	fresh := renamed(old)
	if e := r.enums[old]; e != nil {
		delete(r.enums, old)
		r.enums[fresh] = e
	}
	if d := r.domains[old]; d != nil {
		delete(r.domains, old)
		r.domains[fresh] = d
	}
	for _, d := range r.domains {
		if d.base == old {
			d.base = fresh
		}
	}
	for _, t := range r.order {
		for c, n := range t.typeOf {
			if n == old {
				t.typeOf[c] = fresh
			}
		}
	}
}

// keys are the keys of an index's name: one, or none.
func (r *pgReader) keys(name pgName) []*pgConstraint {
	var out []*pgConstraint
	for full, t := range r.tables {
		for _, k := range t.constraints {
			if k.expr == nil && k.name == name.name && full.schema == name.schema {
				out = append(out, k)
			}
		}
	}
	return out
}

func (r *pgReader) moveSchema(s *pg.AlterObjectSchemaStmt) {
	switch s.GetObjectType() {
	case pg.ObjectType_OBJECT_TABLE, pg.ObjectType_OBJECT_VIEW, pg.ObjectType_OBJECT_MATVIEW, pg.ObjectType_OBJECT_FOREIGN_TABLE:
		name := rangeName(s.GetRelation())
		if t := r.tables[name]; t != nil {
			delete(r.tables, name)
			t.Schema = s.GetNewschema()
			r.tables[pgName{t.Schema, t.Name}] = t
			if t.Schema == homePostgreSQL {
				t.Schema = ""
			}
		}
	case pg.ObjectType_OBJECT_TYPE, pg.ObjectType_OBJECT_DOMAIN:
		r.renameType(nodeName(s.GetObject()), func(n pgName) pgName { return pgName{s.GetNewschema(), n.name} })
	}
}

func (r *pgReader) drop(s *pg.DropStmt) {
	for _, n := range s.GetObjects() {
		name := nodeName(n)
		switch s.GetRemoveType() {
		case pg.ObjectType_OBJECT_TABLE, pg.ObjectType_OBJECT_VIEW, pg.ObjectType_OBJECT_MATVIEW, pg.ObjectType_OBJECT_FOREIGN_TABLE:
			t := r.tables[name]
			delete(r.tables, name)
			r.order = slices.DeleteFunc(r.order, func(o *pgTable) bool { return o == t })
		case pg.ObjectType_OBJECT_TYPE, pg.ObjectType_OBJECT_DOMAIN:
			delete(r.enums, name)
			delete(r.domains, name)
		case pg.ObjectType_OBJECT_INDEX:
			for _, k := range r.keys(name) {
				k.name, k.columns = "", nil
			}
		case pg.ObjectType_OBJECT_RULE:
			// Whether it was the only one is not kept: a table that had a rule is taken for one that has.
		}
	}
}
