package schema

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // the values of the tree
	"github.com/pingcap/tidb/pkg/parser/types"

	"github.com/idemgen/idemgen/generator/internal/model"
)

// myReader executes the DDL of MySQL and MariaDB, as far as tables and keys are concerned.
type myReader struct {
	tables []*myTable
}

// myTable is a table on its way: its keys and conditions have names, by which later statements drop them.
type myTable struct {
	*Table
	constraints []*myConstraint
	// collation is the columns' where they name none; empty for the database's.
	collation string
	// checks and tableChecks count the conditions without a name: all, and those that are not in a column's definition.
	checks, tableChecks int
}

// myConstraint is a unique key, or a condition on one column.
type myConstraint struct {
	name    string
	columns []*Column
	check   *check
	// others are what other engines call a condition without a name.
	others []string
	// inline says that a condition without a name stands in a column's definition.
	inline bool
}

// primaryName is the name of every primary key.
const primaryName = "PRIMARY"

func readMySQL(files []model.SchemaFile) (*Schema, error) {
	r := &myReader{}
	for _, f := range files {
		// A parser keeps its options from one text to the next.
		nodes, _, err := parser.New().Parse(statements(f.Text), "", "")
		if err != nil {
			return nil, &Error{Path: f.Path, Line: myLine(err), Err: errors.New(strings.Join(strings.Fields(err.Error()), " "))}
		}
		for _, n := range nodes {
			r.statement(n)
		}
	}
	out := &Schema{fold: true}
	for _, t := range r.tables {
		for _, k := range t.constraints {
			if k.check != nil {
				k.columns[0].checks = append(k.columns[0].checks, *k.check)
			} else {
				t.Keys = append(t.Keys, columnNames(k.columns))
			}
		}
		out.tables = append(out.tables, t.Table)
	}
	return out, nil
}

// lineOf matches where the parser says that a fault is.
var lineOf = regexp.MustCompile(`^line (\d+) column \d+`)

// myLine is the line of a parser's error; 0 where it does not say.
func myLine(err error) int {
	m := lineOf.FindStringSubmatch(err.Error())
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return n
}

func (r *myReader) table(n *ast.TableName) *myTable {
	i := slices.IndexFunc(r.tables, func(t *myTable) bool {
		return strings.EqualFold(t.Name, n.Name.O) && strings.EqualFold(t.Schema, n.Schema.O)
	})
	if i < 0 {
		return nil
	}
	return r.tables[i]
}

func (r *myReader) add(n *ast.TableName, kind Kind) *myTable {
	t := &myTable{Table: &Table{Schema: n.Schema.O, Name: n.Name.O, Kind: kind}}
	r.tables = append(r.tables, t)
	return t
}

func (r *myReader) remove(n *ast.TableName) {
	t := r.table(n)
	r.tables = slices.DeleteFunc(r.tables, func(o *myTable) bool { return o == t })
}

func (r *myReader) statement(n ast.StmtNode) {
	switch n := n.(type) {
	case *ast.CreateTableStmt:
		r.create(n)
	case *ast.CreateViewStmt:
		if r.table(n.ViewName) == nil {
			r.add(n.ViewName, View)
		}
	case *ast.CreateIndexStmt:
		if t := r.table(n.Table); t != nil && n.KeyType == ast.IndexKeyTypeUnique {
			t.key(n.IndexName, n.IndexPartSpecifications)
		}
	case *ast.DropIndexStmt:
		if t := r.table(n.Table); t != nil {
			t.dropKey(n.IndexName)
		}
	case *ast.DropTableStmt:
		for _, name := range n.Tables {
			r.remove(name)
		}
	case *ast.RenameTableStmt:
		for _, to := range n.TableToTables {
			if t := r.table(to.OldTable); t != nil {
				t.Name, t.Schema = to.NewTable.Name.O, to.NewTable.Schema.O
			}
		}
	case *ast.AlterTableStmt:
		if t := r.table(n.Table); t != nil {
			for _, s := range n.Specs {
				t.alter(s)
			}
		}
	}
}

func (r *myReader) create(n *ast.CreateTableStmt) {
	if r.table(n.Table) != nil {
		return // IF NOT EXISTS
	}
	t := r.add(n.Table, Base)
	if n.Select != nil {
		t.Kind = Unreadable
	}
	if n.ReferTable != nil {
		from := r.table(n.ReferTable)
		if from == nil {
			t.Kind = Unreadable
			return
		}
		t.like(from)
	}
	for _, o := range n.Options {
		switch o.Tp {
		case ast.TableOptionCollate:
			t.collation = o.StrValue
		case ast.TableOptionCharset:
			if t.collation == "" && o.StrValue == "binary" {
				t.collation = o.StrValue
			}
		}
	}
	t.storage(n.Options)
	for _, c := range n.Cols {
		t.column(c)
	}
	for _, c := range n.Constraints {
		t.constraint(c)
	}
}

// lasting are the storage engines without transactions. MySQL, "Alternative Storage Engines"; MariaDB, "Storage Engines".
var lasting = []string{"MyISAM", "Aria", "MEMORY", "HEAP", "CSV", "ARCHIVE", "BLACKHOLE", "MERGE", "MRG_MyISAM", "FEDERATED", "CONNECT", "S3"}

// storage notes the storage engine, if one is named.
func (t *myTable) storage(options []*ast.TableOption) {
	for _, o := range options {
		if o.Tp != ast.TableOptionEngine {
			continue
		}
		t.Lasting = ""
		if i := slices.IndexFunc(lasting, func(name string) bool { return strings.EqualFold(name, o.StrValue) }); i >= 0 {
			t.Lasting = lasting[i]
		}
	}
}

// like copies another table's columns, keys and conditions.
func (t *myTable) like(from *myTable) {
	of := map[*Column]*Column{}
	for _, c := range from.Columns {
		n := *c
		of[c] = &n
		t.Columns = append(t.Columns, &n)
	}
	for _, k := range from.constraints {
		n := &myConstraint{name: k.name, check: k.check, others: k.others, inline: k.inline}
		for _, c := range k.columns {
			n.columns = append(n.columns, of[c])
		}
		t.constraints = append(t.constraints, n)
	}
}

// column adds a column.
func (t *myTable) column(d *ast.ColumnDef) {
	c := &Column{Name: d.Name.Name.O}
	t.Columns = append(t.Columns, c)
	t.define(c, d)
}

// define gives a column its type and its constraints.
func (t *myTable) define(c *Column, d *ast.ColumnDef) {
	*c = Column{Name: d.Name.Name.O, Type: strings.ToLower(d.Tp.CompactStr())}
	c.Class, c.Size = myClass(d.Tp)
	c.Bits, c.Unsigned = myBits[d.Tp.GetType()], mysql.HasUnsignedFlag(d.Tp.GetFlag())
	if c.Class == Bytes && d.Tp.GetType() == mysql.TypeString { // BINARY, which is as long as it says
		c.Bits = 8 * d.Tp.GetFlen()
	}
	if c.Class == Enum {
		c.Type, c.Labels = "the enum", d.Tp.GetElems()
	}
	collation := t.collation
	if named := d.Tp.GetCollate(); named != "" {
		collation = named
	}
	for _, o := range d.Options {
		switch o.Tp {
		case ast.ColumnOptionCollate:
			collation = o.StrValue
		case ast.ColumnOptionDefaultValue:
			c.Default, _ = myText(o.Expr)
		case ast.ColumnOptionNotNull:
			c.NotNull = true
		case ast.ColumnOptionPrimaryKey:
			c.NotNull = true
			t.constraints = append(t.constraints, &myConstraint{name: primaryName, columns: []*Column{c}})
		case ast.ColumnOptionUniqKey:
			t.constraints = append(t.constraints, &myConstraint{name: t.free(c.Name), columns: []*Column{c}})
		case ast.ColumnOptionGenerated:
			c.Generated = true
		case ast.ColumnOptionCheck:
			if o.Enforced {
				t.check(o.ConstraintName, o.Expr, o.ConstraintName == "")
			}
		}
	}
	if c.Class == Enum && c.NotNull && c.Default == "" && len(c.Labels) > 0 {
		c.Default = c.Labels[0] // MySQL, "Data Type Default Values"
	}
	exact := strings.HasSuffix(collation, "_bin") || strings.HasSuffix(collation, "_cs") || collation == "binary"
	c.Loose = !exact && !mysql.HasBinaryFlag(d.Tp.GetFlag())
}

// myBits are the sizes of integers and floats.
var myBits = map[byte]int{
	mysql.TypeTiny: 8, mysql.TypeShort: 16, mysql.TypeInt24: 24, mysql.TypeLong: 32, mysql.TypeLonglong: 64,
	mysql.TypeFloat: 32, mysql.TypeDouble: 64,
}

// myClass is a type's class, and its size in characters.
func myClass(tp *types.FieldType) (Class, int) {
	binary := tp.GetCharset() == "binary"
	switch tp.GetType() {
	case mysql.TypeEnum:
		return Enum, 0
	case mysql.TypeVarchar, mysql.TypeVarString, mysql.TypeString:
		if binary {
			return Bytes, 0
		}
		return Text, max(tp.GetFlen(), 0)
	case mysql.TypeTinyBlob, mysql.TypeBlob, mysql.TypeMediumBlob, mysql.TypeLongBlob:
		if binary || mysql.HasBinaryFlag(tp.GetFlag()) {
			return Bytes, 0
		}
		return Text, 0
	case mysql.TypeTiny, mysql.TypeShort, mysql.TypeInt24, mysql.TypeLong, mysql.TypeLonglong:
		return Integer, 0
	case mysql.TypeFloat, mysql.TypeDouble:
		if tp.GetDecimal() < 0 {
			return Float, 0
		}
	case mysql.TypeDatetime, mysql.TypeTimestamp:
		if tp.GetDecimal() >= microseconds {
			return Time, 0
		}
	case mysql.TypeJSON:
		return JSON, 0
	}
	return Other, 0
}

func (t *myTable) constraint(n *ast.Constraint) {
	switch n.Tp {
	case ast.ConstraintPrimaryKey:
		t.key(primaryName, n.Keys)
	case ast.ConstraintUniq, ast.ConstraintUniqKey, ast.ConstraintUniqIndex:
		t.key(n.Name, n.Keys)
	case ast.ConstraintCheck:
		if n.Enforced {
			t.check(n.Name, n.Expr, false)
		}
	}
}

// key adds a unique key. One of the beginnings of columns is none: to a collation that takes ß for ss, two texts of different
// beginnings can be equal.
func (t *myTable) key(name string, parts []*ast.IndexPartSpecification) {
	k := &myConstraint{name: name}
	for _, p := range parts {
		if p.Column == nil {
			return // an expression
		}
		if p.Length > 0 {
			return
		}
		c := t.Column(p.Column.Name.O, true)
		if c == nil {
			return
		}
		c.NotNull = c.NotNull || name == primaryName
		k.columns = append(k.columns, c)
	}
	if k.name == "" && len(k.columns) > 0 {
		k.name = t.free(k.columns[0].Name)
	}
	t.constraints = append(t.constraints, k)
}

// free is a key's default name, with a number where it is taken.
func (t *myTable) free(name string) string {
	for n, i := name, 2; ; i++ {
		if !slices.ContainsFunc(t.constraints, func(c *myConstraint) bool { return strings.EqualFold(c.name, n) }) {
			return n
		}
		n = fmt.Sprintf("%s_%d", name, i)
	}
}

func (t *myTable) dropKey(name string) {
	t.constraints = slices.DeleteFunc(t.constraints, func(k *myConstraint) bool { return k.check == nil && strings.EqualFold(k.name, name) })
}

// alter executes one part of ALTER TABLE.
func (t *myTable) alter(s *ast.AlterTableSpec) {
	switch s.Tp {
	case ast.AlterTableAddColumns:
		for _, c := range s.NewColumns {
			if t.Column(c.Name.Name.O, true) == nil {
				t.column(c)
			}
		}
	case ast.AlterTableDropColumn:
		c := t.Column(s.OldColumnName.Name.O, true)
		t.Columns = slices.DeleteFunc(t.Columns, func(o *Column) bool { return o == c })
		t.constraints = slices.DeleteFunc(t.constraints, func(k *myConstraint) bool { return c != nil && slices.Contains(k.columns, c) })
	case ast.AlterTableModifyColumn, ast.AlterTableChangeColumn:
		name := s.NewColumns[0].Name.Name.O
		if s.OldColumnName != nil {
			name = s.OldColumnName.Name.O
		}
		if c := t.Column(name, true); c != nil {
			primary := slices.ContainsFunc(t.constraints, func(k *myConstraint) bool { return k.name == primaryName && slices.Contains(k.columns, c) })
			// MariaDB replaces the conditions that stand in the column's definition, MySQL keeps them: they are left to the database.
			t.constraints = slices.DeleteFunc(t.constraints, func(k *myConstraint) bool { return k.inline && slices.Contains(k.columns, c) })
			t.define(c, s.NewColumns[0])
			c.NotNull = c.NotNull || primary
		}
	case ast.AlterTableAlterColumn:
		if c := t.Column(s.NewColumns[0].Name.Name.O, true); c != nil {
			c.Default = ""
			for _, o := range s.NewColumns[0].Options {
				c.Default, _ = myText(o.Expr)
			}
		}
	case ast.AlterTableRenameColumn:
		if c := t.Column(s.OldColumnName.Name.O, true); c != nil {
			c.Name = s.NewColumnName.Name.O
		}
	case ast.AlterTableAddConstraint:
		t.constraint(s.Constraint)
	case ast.AlterTableDropPrimaryKey:
		t.dropKey(primaryName)
	case ast.AlterTableDropIndex:
		t.dropKey(s.Name)
	case ast.AlterTableRenameIndex:
		for _, k := range t.constraints {
			if strings.EqualFold(k.name, s.FromKey.O) {
				k.name = s.ToKey.O
			}
		}
	case ast.AlterTableDropCheck: // DROP CONSTRAINT too, which may be of a key
		t.constraints = slices.DeleteFunc(t.constraints, func(k *myConstraint) bool { return t.named(k, s.Constraint.Name) })
	case ast.AlterTableOption:
		t.storage(s.Options)
	case ast.AlterTableRenameTable:
		t.Name, t.Schema = s.NewTable.Name.O, s.NewTable.Schema.O
	}
}
