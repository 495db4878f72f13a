package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/model"
)

// Kind is what a relation is.
type Kind int

// The kinds of relation.
const (
	Base       Kind = iota // a table, partitioned or not
	View                   // of either kind
	Foreign                // a foreign or a virtual table
	Unreadable             // a table whose columns the DDL does not list, such as one made by a query
)

func (k Kind) String() string {
	return [...]string{"a table", "a view", "a foreign or virtual table", "a table made by a query"}[k]
}

// Class is what a column can hold, as far as transitions are concerned.
type Class = model.ColumnClass

// The classes of column.
const (
	Other   = model.OtherColumn
	Text    = model.TextColumn
	Enum    = model.EnumColumn
	Integer = model.IntegerColumn
	Float   = model.FloatColumn
	Bool    = model.BoolColumn
	UUID    = model.UUIDColumn
	Bytes   = model.BytesColumn
	Time    = model.TimeColumn
	JSON    = model.JSONColumn
	Untyped = model.UntypedColumn
)

// microseconds is how many digits of a second a column has to keep for a time not to be rounded away.
const microseconds = 6

// A Table is a table or a view.
type Table struct {
	Schema  string // empty where the engine has none, or the schema is the default one
	Name    string
	Kind    Kind
	Columns []*Column
	// Keys are the sets of columns that a row is unique by.
	Keys [][]string
	// Ruled says that a rule takes the place of an UPDATE, so that the number of rows affected is not the table's.
	Ruled bool
	// Lasting is MySQL's storage engine, where the DDL names one that keeps what is rolled back.
	Lasting string
	// Parent says that other tables inherit from it, whose rows its keys do not cover.
	Parent bool
}

// Text is the table's name as messages and directives write it.
func (t *Table) Text() string {
	if t.Schema == "" {
		return t.Name
	}
	return t.Schema + "." + t.Name
}

// Definition is everything of the table that statements on it are compiled by.
func (t *Table) Definition() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %d\n", t.Text(), t.Kind)
	for _, c := range t.Columns {
		fmt.Fprintf(&b, "%q %q %t %t %d %d %t", c.Name, c.Type, c.NotNull, c.Generated, c.Class, c.Bits, c.Unsigned)
		if c.Class == Enum {
			fmt.Fprintf(&b, " %q", c.Labels)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Column finds a column by its name.
func (t *Table) Column(name string, fold bool) *Column {
	i := slices.IndexFunc(t.Columns, func(c *Column) bool { return equal(c.Name, name, fold) })
	if i < 0 {
		return nil
	}
	return t.Columns[i]
}

// ColumnNames are the names of the columns, in order.
func (t *Table) ColumnNames() []string {
	var out []string
	for _, c := range t.Columns {
		out = append(out, c.Name)
	}
	return out
}

// Covered says that a set of columns covers one of the table's keys.
func (t *Table) Covered(columns []string) bool {
	return slices.ContainsFunc(t.Keys, func(key []string) bool {
		return !slices.ContainsFunc(key, func(c string) bool { return !slices.Contains(columns, c) })
	})
}

// A Column is a column of a table.
type Column struct {
	Name     string
	Type     string // as the DDL writes it, more or less
	Class    Class
	Size     int // of a Text in characters; 0 for no limit
	Bits     int // of an Integer and a Float
	Unsigned bool
	// Loose says that the column, or it for all that the DDL says, takes texts for equal that differ in case.
	Loose     bool
	NotNull   bool
	Generated bool
	// Default is the text that a row gets which is inserted without one; empty for none, and for one that is no constant.
	Default string
	// Labels are an Enum's, in order; of a Text the values that its CHECK names, which are good for a hint only.
	Labels []string
	// collation is what an SQLite column is compared by.
	collation string
	// checks are the conditions on the column alone.
	checks []check
}

// check is a CHECK: its text, and what it says about a value. known is false where it cannot tell.
type check struct {
	text  string
	holds func(value string) (ok, known bool)
}

// ColumnType is what the column can hold, for what is given to it.
func (c *Column) ColumnType() model.ColumnType {
	return model.ColumnType{Text: c.Type, Class: c.Class, Bits: c.Bits, Unsigned: c.Unsigned}
}

// Holds says whether the column can hold a state; why names what keeps it from that.
func (c *Column) Holds(state string) (why string, ok bool) {
	switch {
	case c.Class == Enum && !slices.Contains(c.Labels, state):
		return "is not a label of " + c.Type, false
	case c.Class == Text && c.Size > 0 && len([]rune(state)) > c.Size:
		return fmt.Sprintf("is longer than %s", c.Type), false
	}
	for _, check := range c.checks {
		if holds, known := check.holds(state); known && !holds && !c.holdsLoosely(check, state) {
			return "is not allowed by CHECK (" + check.text + ")", false
		}
	}
	return "", true
}

// holdsLoosely says that a condition holds for a value that the column takes for equal to a state.
func (c *Column) holdsLoosely(check check, state string) bool {
	return c.Loose && slices.ContainsFunc(c.Labels, func(label string) bool {
		holds, _ := check.holds(label)
		return holds && c.Same(label, state)
	})
}

// Same says that the column takes two states for equal.
func (c *Column) Same(a, b string) bool {
	return a == b || c.Loose && strings.EqualFold(strings.TrimRight(a, " "), strings.TrimRight(b, " "))
}

// A Schema is the tables of all files.
type Schema struct {
	tables []*Table
	// fold says that the engine compares names without regard to case.
	fold bool
	// home is the schema of a table that names none.
	home string
}

// Fold says that the engine compares names without regard to case.
func (s *Schema) Fold() bool { return s.fold }

// Table finds a table; schema is empty for the default one.
func (s *Schema) Table(schema, name string) *Table {
	if schema == s.home {
		schema = ""
	}
	i := slices.IndexFunc(s.tables, func(t *Table) bool { return equal(t.Name, name, s.fold) && equal(t.Schema, schema, s.fold) })
	if i < 0 {
		return nil
	}
	return s.tables[i]
}

// Names are the names of all tables, as directives write them.
func (s *Schema) Names() []string {
	var out []string
	for _, t := range s.tables {
		out = append(out, t.Text())
	}
	return out
}

func equal(a, b string, fold bool) bool { return a == b || fold && strings.EqualFold(a, b) }

// An Error is a file of the schema that cannot be read as SQL.
type Error struct {
	Path string
	Line int // 0 where it is not known
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the parser's error.
func (e *Error) Unwrap() error { return e.Err }

// Read reads files of an engine, by sqlc's name for it. An error that the text is the reason of is an *Error.
func Read(engine string, files []model.SchemaFile) (*Schema, error) {
	switch engine {
	case "postgresql":
		return readPostgreSQL(files)
	case "mysql":
		return readMySQL(files)
	case "sqlite":
		return readSQLite(files)
	}
	return nil, fmt.Errorf("bug in idemgen: no reader of schemas for engine %q; please report it", engine)
}
