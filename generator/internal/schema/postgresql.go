package schema

import (
	"errors"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/idemgen/idemgen/generator/internal/model"
)

// homePostgreSQL is the schema of a table that names none.
const homePostgreSQL = "public"

// pgName is a qualified name. The default schema is written out.
type pgName struct{ schema, name string }

// pgTable is a table on its way: its constraints have names, by which later statements drop them.
type pgTable struct {
	*Table
	constraints []*pgConstraint
	// typeOf are the columns' types, which may be domains.
	typeOf map[*Column]pgName
	// collations are those that columns name.
	collations map[*Column]string
}

// pgConstraint is a constraint or a unique index: a key, or a condition.
type pgConstraint struct {
	name    string
	columns []*Column // of a key; of a condition the one that it is about
	expr    *pg.Node  // of a condition
	as      string    // how expr calls its column
}

// pgReader executes DDL, as far as tables, types and keys are concerned.
type pgReader struct {
	tables  map[pgName]*pgTable
	order   []*pgTable
	enums   map[pgName]*[]string
	domains map[pgName]*pgDomain
	// loose are the collations that take different texts for equal.
	loose map[string]bool
}

func readPostgreSQL(files []model.SchemaFile) (*Schema, error) {
	r := &pgReader{
		tables: map[pgName]*pgTable{}, enums: map[pgName]*[]string{}, domains: map[pgName]*pgDomain{}, loose: map[string]bool{},
	}
	for _, f := range files {
		text := statements(f.Text)
		tree, err := parsePostgreSQL(text)
		if err != nil {
			return nil, &Error{Path: f.Path, Line: pgLine(text, err), Err: errors.New(strings.Join(strings.Fields(err.Error()), " "))}
		}
		for _, s := range tree.GetStmts() {
			r.statement(s.GetStmt())
		}
	}
	out := &Schema{home: homePostgreSQL}
	for _, t := range r.order {
		out.tables = append(out.tables, r.finished(t))
	}
	return out, nil
}

// pgLine is the line of a parser's error; 0 where it does not say.
func pgLine(text string, err error) int {
	var at *pgError
	if !errors.As(err, &at) || at.Cursorpos <= 0 || at.Cursorpos > len(text) {
		return 0
	}
	return 1 + strings.Count(text[:at.Cursorpos-1], "\n")
}

func (r *pgReader) statement(n *pg.Node) {
	switch {
	case n.GetCreateStmt() != nil:
		r.create(n.GetCreateStmt(), Base)
	case n.GetCreateForeignTableStmt() != nil:
		r.create(n.GetCreateForeignTableStmt().GetBaseStmt(), Foreign)
	case n.GetCreateSchemaStmt() != nil:
		for _, e := range n.GetCreateSchemaStmt().GetSchemaElts() {
			r.statement(e)
		}
	case n.GetViewStmt() != nil:
		r.add(rangeName(n.GetViewStmt().GetView()), View)
	case n.GetCreateTableAsStmt() != nil:
		kind := Unreadable
		if n.GetCreateTableAsStmt().GetObjtype() == pg.ObjectType_OBJECT_MATVIEW {
			kind = View
		}
		r.add(rangeName(n.GetCreateTableAsStmt().GetInto().GetRel()), kind)
	case n.GetSelectStmt().GetIntoClause() != nil:
		r.add(rangeName(n.GetSelectStmt().GetIntoClause().GetRel()), Unreadable)
	case n.GetCreateEnumStmt() != nil:
		labels := stringsOf(n.GetCreateEnumStmt().GetVals())
		r.enums[listName(n.GetCreateEnumStmt().GetTypeName())] = &labels
	case n.GetAlterEnumStmt() != nil:
		r.alterEnum(n.GetAlterEnumStmt())
	case n.GetCreateDomainStmt() != nil:
		r.createDomain(n.GetCreateDomainStmt())
	case n.GetAlterDomainStmt() != nil:
		r.alterDomain(n.GetAlterDomainStmt())
	case n.GetDefineStmt().GetKind() == pg.ObjectType_OBJECT_COLLATION:
		r.collation(n.GetDefineStmt())
	case n.GetIndexStmt() != nil:
		r.index(n.GetIndexStmt())
	case n.GetRuleStmt() != nil:
		if t := r.tables[rangeName(n.GetRuleStmt().GetRelation())]; t != nil && n.GetRuleStmt().GetEvent() == pg.CmdType_CMD_UPDATE {
			t.Ruled = true
		}
	case n.GetAlterTableStmt() != nil:
		r.alter(n.GetAlterTableStmt())
	case n.GetRenameStmt() != nil:
		r.rename(n.GetRenameStmt())
	case n.GetAlterObjectSchemaStmt() != nil:
		r.moveSchema(n.GetAlterObjectSchemaStmt())
	case n.GetDropStmt() != nil:
		r.drop(n.GetDropStmt())
	}
}

// add adds a relation without columns.
func (r *pgReader) add(name pgName, kind Kind) *pgTable {
	if there := r.tables[name]; there != nil {
		return there // IF NOT EXISTS, or OR REPLACE
	}
	t := &pgTable{Table: &Table{Schema: name.schema, Name: name.name, Kind: kind}, typeOf: map[*Column]pgName{}, collations: map[*Column]string{}}
	if t.Schema == homePostgreSQL {
		t.Schema = ""
	}
	r.tables[name] = t
	r.order = append(r.order, t)
	return t
}

func (r *pgReader) create(s *pg.CreateStmt, kind Kind) {
	name := rangeName(s.GetRelation())
	if r.tables[name] != nil {
		return
	}
	t := r.add(name, kind)
	if s.GetOfTypename() != nil {
		t.Kind = Unreadable
	}
	for _, parent := range s.GetInhRelations() {
		r.inherit(t, r.tables[rangeName(parent.GetRangeVar())], s.GetPartbound() != nil)
	}
	for _, e := range s.GetTableElts() {
		switch {
		case e.GetColumnDef() != nil:
			r.column(t, e.GetColumnDef())
		case e.GetConstraint() != nil:
			r.constraint(t, nil, e.GetConstraint())
		case e.GetTableLikeClause() != nil:
			r.like(t, e.GetTableLikeClause())
		}
	}
}

// inherit gives a table the columns and the conditions of its parent, and a partition its keys too.
func (r *pgReader) inherit(t, parent *pgTable, partition bool) {
	if parent == nil {
		t.Kind = Unreadable
		return
	}
	if !partition {
		parent.Parent = true
	}
	r.copy(t, parent, true, partition)
}

// like copies what LIKE copies.
func (r *pgReader) like(t *pgTable, l *pg.TableLikeClause) {
	from := r.tables[rangeName(l.GetRelation())]
	if from == nil {
		t.Kind = Unreadable
		return
	}
	const constraints, indexes = 1 << 2, 1 << 6 // CREATE_TABLE_LIKE_CONSTRAINTS and _INDEXES, of PostgreSQL's parsenodes.h
	r.copy(t, from, l.GetOptions()&constraints != 0, l.GetOptions()&indexes != 0)
}

func (r *pgReader) copy(t, from *pgTable, checks, keys bool) {
	of := map[*Column]*Column{}
	for _, c := range from.Columns {
		n := *c
		of[c] = &n
		t.Columns = append(t.Columns, &n)
		t.typeOf[&n], t.collations[&n] = from.typeOf[c], from.collations[c]
	}
	for _, c := range from.constraints {
		if c.expr != nil && !checks || c.expr == nil && !keys {
			continue
		}
		n := &pgConstraint{name: c.name, expr: c.expr, as: c.as}
		for _, col := range c.columns {
			n.columns = append(n.columns, of[col])
		}
		t.constraints = append(t.constraints, n)
	}
}

// column adds a column, or completes one that was inherited.
func (r *pgReader) column(t *pgTable, d *pg.ColumnDef) {
	c := t.Column(d.GetColname(), false)
	if c == nil {
		c = &Column{Name: d.GetColname()}
		t.Columns = append(t.Columns, c)
		r.setType(t, c, d.GetTypeName())
		t.collations[c] = listName(d.GetCollClause().GetCollname()).name
	}
	for _, n := range d.GetConstraints() {
		r.constraint(t, c, n.GetConstraint())
	}
}

func (r *pgReader) setType(t *pgTable, c *Column, name *pg.TypeName) {
	full := listName(name.GetNames())
	t.typeOf[c] = full
	c.Type, c.Size = typeText(name), 0
	if full.name == "varchar" || full.name == "bpchar" {
		c.Size = typeSize(name)
	}
	if full.name == "timestamptz" && len(name.GetTypmods()) > 0 && typeSize(name) < microseconds {
		t.typeOf[c] = pgName{} // it rounds
	}
	if len(name.GetArrayBounds()) > 0 {
		t.typeOf[c] = pgName{"", "[]"}
		c.Type += "[]"
	}
	switch last := full.name; last {
	case "smallserial", "serial2", "serial", "serial4", "bigserial", "serial8":
		c.NotNull = true
	}
}

// constraint adds a constraint of a column, or of the table where c is nil.
func (r *pgReader) constraint(t *pgTable, c *Column, n *pg.Constraint) {
	switch n.GetContype() {
	case pg.ConstrType_CONSTR_NOTNULL:
		if c == nil && len(n.GetKeys()) > 0 {
			c = t.Column(stringsOf(n.GetKeys())[0], false)
		}
		if c != nil {
			c.NotNull = true
		}
	case pg.ConstrType_CONSTR_NULL:
		c.NotNull = false
	case pg.ConstrType_CONSTR_DEFAULT:
		c.Default, _ = textOf(n.GetRawExpr())
	case pg.ConstrType_CONSTR_GENERATED:
		c.Generated = true
	case pg.ConstrType_CONSTR_IDENTITY:
		c.NotNull = true
		c.Generated = c.Generated || n.GetGeneratedWhen() == "a"
	case pg.ConstrType_CONSTR_PRIMARY, pg.ConstrType_CONSTR_UNIQUE:
		r.key(t, c, n)
	case pg.ConstrType_CONSTR_ATTR_DEFERRABLE, pg.ConstrType_CONSTR_ATTR_DEFERRED:
		// It stands behind the constraint of the column that it is about.
		if last := len(t.constraints) - 1; last >= 0 && t.constraints[last].expr == nil {
			t.constraints[last].columns = nil
		}
	case pg.ConstrType_CONSTR_CHECK:
		r.check(t, n)
	}
}

func (r *pgReader) key(t *pgTable, c *Column, n *pg.Constraint) {
	k := &pgConstraint{name: n.GetConname()}
	if c != nil {
		k.columns = []*Column{c}
	}
	for _, name := range stringsOf(n.GetKeys()) {
		if col := t.Column(name, false); col != nil {
			k.columns = append(k.columns, col)
		}
	}
	primary := n.GetContype() == pg.ConstrType_CONSTR_PRIMARY
	for _, col := range k.columns {
		col.NotNull = col.NotNull || primary
	}
	if n.GetIndexname() != "" { // ADD CONSTRAINT … USING INDEX: the index is there, under its own name
		for _, there := range t.constraints {
			if there.name == n.GetIndexname() && n.GetConname() != "" {
				there.name = n.GetConname()
			}
		}
		return
	}
	if k.name == "" && primary {
		k.name = t.free("", "pkey")
	} else if k.name == "" {
		k.name = t.free(strings.Join(columnNames(k.columns), "_"), "key")
	}
	if n.GetDeferrable() || len(k.columns) == 0 {
		k.columns = nil // within a transaction such a key does not hold
	}
	t.constraints = append(t.constraints, k)
}

func (r *pgReader) check(t *pgTable, n *pg.Constraint) {
	k := &pgConstraint{name: n.GetConname(), expr: n.GetRawExpr()}
	about := columnsOf(n.GetRawExpr())
	if len(about) == 1 {
		if col := t.Column(about[0], false); col != nil {
			k.columns, k.as = []*Column{col}, about[0]
		}
	}
	if k.name == "" {
		column := ""
		if len(about) == 1 {
			column = about[0]
		}
		k.name = t.free(column, "check")
	}
	t.constraints = append(t.constraints, k)
}

func (r *pgReader) index(s *pg.IndexStmt) {
	t := r.tables[rangeName(s.GetRelation())]
	if t == nil || !s.GetUnique() || s.GetWhereClause() != nil || !s.GetRelation().GetInh() {
		return // of ON ONLY a partitioned table, the partitions know nothing
	}
	k := &pgConstraint{name: s.GetIdxname()}
	for _, p := range s.GetIndexParams() {
		col := t.Column(p.GetIndexElem().GetName(), false)
		if col == nil || !t.compares(col, p.GetIndexElem()) {
			return // an expression, or a key to another comparison than the column's
		}
		k.columns = append(k.columns, col)
	}
	if k.name == "" {
		k.name = t.free(strings.Join(columnNames(k.columns), "_"), "idx")
	}
	t.constraints = append(t.constraints, k)
}

func (r *pgReader) alterEnum(s *pg.AlterEnumStmt) {
	labels := r.enums[listName(s.GetTypeName())]
	if labels == nil {
		return
	}
	if i := slices.Index(*labels, s.GetOldVal()); s.GetOldVal() != "" && i >= 0 {
		(*labels)[i] = s.GetNewVal()
		return
	}
	if slices.Contains(*labels, s.GetNewVal()) {
		return
	}
	at := len(*labels)
	if i := slices.Index(*labels, s.GetNewValNeighbor()); i >= 0 {
		at = i
		if s.GetNewValIsAfter() {
			at++
		}
	}
	*labels = slices.Insert(*labels, at, s.GetNewVal())
}

// finished is a table with what its types and constraints say.
func (r *pgReader) finished(t *pgTable) *Table {
	for _, c := range t.Columns {
		r.classify(t, c)
	}
	for _, k := range t.constraints {
		switch {
		case len(k.columns) == 0:
		case k.expr == nil:
			t.Keys = append(t.Keys, columnNames(k.columns))
		default:
			k.columns[0].addCheck(k.expr, k.as)
		}
	}
	return t.Table
}

// classify says what a column can hold, through domains.
func (r *pgReader) classify(t *pgTable, c *Column) {
	name := t.typeOf[c]
	for range 16 {
		if d := r.domains[name]; d != nil {
			c.NotNull = c.NotNull || d.notNull
			if c.Default == "" {
				c.Default = d.byDefault
			}
			c.Size = max(c.Size, d.size)
			for _, condition := range d.conditions {
				c.addCheck(condition.expr, "value")
			}
			name = d.base
			continue
		}
		break
	}
	if labels := r.enums[name]; labels != nil {
		c.Class, c.Labels, c.Size = Enum, *labels, 0
		return
	}
	if name.schema != "pg_catalog" && name.schema != homePostgreSQL {
		return
	}
	c.Class, c.Bits = pgClass(name.name)
	c.Loose = name.name == "citext" || r.loose[t.collations[c]]
	if c.Class != Text {
		c.Size = 0
	}
}

// pgClass is the class of a type of the system, and its size in bits.
func pgClass(name string) (Class, int) {
	switch name {
	case "text", "varchar", "bpchar", "citext":
		return Text, 0
	case "int2", "smallint", "smallserial", "serial2":
		return Integer, 16
	case "int4", "integer", "serial", "serial4":
		return Integer, 32
	case "int8", "bigint", "bigserial", "serial8":
		return Integer, 64
	case "float4":
		return Float, 32
	case "float8":
		return Float, 64
	case "bool":
		return Bool, 0
	case "uuid":
		return UUID, 0
	case "bytea":
		return Bytes, 0
	case "json", "jsonb":
		return JSON, 0
	case "timestamptz":
		return Time, 0
	}
	return Other, 0
}

func (c *Column) addCheck(expr *pg.Node, as string) {
	c.checks = append(c.checks, check{
		text:  deparsed(expr),
		holds: func(value string) (bool, bool) { return pgEval(expr, as, value) },
	})
	if c.Class != Enum {
		c.Labels = append(c.Labels, stringsIn(expr)...)
	}
}

func columnNames(columns []*Column) []string {
	var out []string
	for _, c := range columns {
		out = append(out, c.Name)
	}
	return out
}
