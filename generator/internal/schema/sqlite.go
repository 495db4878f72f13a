package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/embed" // SQLite itself

	"github.com/idemgen/idemgen/generator/internal/model"
)

// readSQLite has SQLite execute the files in memory, and asks what has come of it.
func readSQLite(files []model.SchemaFile) (_ *Schema, err error) {
	db, err := sqlite3.Open(":memory:")
	if err != nil {
		return nil, fmt.Errorf("SQLite in memory: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	// A text in double quotes is one to SQLite as the drivers build it.
	for _, option := range []sqlite3.DBConfig{sqlite3.DBCONFIG_DQS_DDL, sqlite3.DBCONFIG_DQS_DML} {
		if _, err := db.Config(option, true); err != nil {
			return nil, fmt.Errorf("SQLite in memory: %w", err)
		}
	}
	for _, f := range files {
		if err := db.Exec(statements(f.Text)); err != nil {
			return nil, &Error{Path: f.Path, Err: errors.New(strings.TrimPrefix(firstLine(err), "sqlite3: "))}
		}
	}
	out := &Schema{fold: true, home: "main"}
	err = query(db, "SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
		func(s *sqlite3.Stmt) {
			kind := map[string]Kind{"table": Base, "view": View, "virtual": Foreign}[s.ColumnText(1)]
			out.tables = append(out.tables, &Table{Name: s.ColumnText(0), Kind: kind})
		})
	if err != nil {
		return nil, err
	}
	for _, t := range out.tables {
		if t.Kind != Base {
			continue
		}
		if err := errors.Join(sqliteColumns(db, t), sqliteKeys(db, t), sqliteChecks(db, t)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// firstLine is an error's text up to the statement that it quotes.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// query calls row for each row of a query.
func query(db *sqlite3.Conn, sql string, row func(*sqlite3.Stmt), args ...string) (err error) {
	s, _, err := db.Prepare(sql)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for i, a := range args {
		if err := s.BindText(i+1, a); err != nil {
			return err
		}
	}
	for s.Step() {
		row(s)
	}
	return s.Err()
}

func sqliteColumns(db *sqlite3.Conn, t *Table) error {
	var primary []string
	strict := false
	err := query(db, `SELECT strict FROM pragma_table_list WHERE schema = 'main' AND name = ?`, func(s *sqlite3.Stmt) { strict = s.ColumnBool(0) }, t.Name)
	err = errors.Join(err, query(db, `SELECT name, type, "notnull", hidden, pk, dflt_value FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid`, func(s *sqlite3.Stmt) {
		c := &Column{
			Name: s.ColumnText(0), Type: strings.ToLower(s.ColumnText(1)), NotNull: s.ColumnBool(2),
			Generated: s.ColumnInt(3) >= 2,
		}
		c.Class, c.Bits = affinity(c.Type), 64
		if strict && c.Type == "any" {
			c.Class = Untyped
		}
		if c.Class == Other {
			c.Type += " (a number to SQLite)"
		}
		if tokens := tokenize(s.ColumnText(5)); len(tokens) == 1 && t.isText(tokens[0]) {
			c.Default = tokens[0].value
		}
		if s.ColumnInt(4) > 0 {
			primary = append(primary, c.Name)
		}
		t.Columns = append(t.Columns, c)
	}, t.Name))
	for _, c := range t.Columns {
		_, collation, _, _, _, metaErr := db.TableColumnMetadata("main", t.Name, c.Name)
		err = errors.Join(err, metaErr)
		c.collation = collation
		c.Loose = !strings.EqualFold(collation, "BINARY")
	}
	// A primary key that is the rowid itself has no index; any other has, which says by what it is compared.
	indexed := false
	err = errors.Join(err, query(db, `SELECT 1 FROM pragma_index_list(?) WHERE origin = 'pk'`, func(*sqlite3.Stmt) { indexed = true }, t.Name))
	if len(primary) > 0 && !indexed {
		t.Keys = append(t.Keys, primary)
	}
	return err
}

// affinity is a declared type's class. SQLite, "Datatypes", chapter 3.1: of the types that it takes for numbers, those that
// sqlc and the drivers know better have a class, and the others none. A text that looks like a number becomes one there.
func affinity(declared string) Class {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(declared, part) })
	}
	switch name, _, _ := strings.Cut(declared, "("); {
	case has("int"):
		return Integer
	case has("char", "clob", "text"):
		return Text
	case declared == "":
		return Untyped
	case has("blob"):
		return Bytes
	case has("real", "floa", "doub"), name == "decimal", name == "numeric":
		return Float
	case name == "boolean", name == "bool":
		return Bool
	case name == "date", name == "datetime", name == "timestamp":
		return Time
	case name == "json", name == "jsonb":
		return JSON
	default:
		return Other
	}
}

// sqliteKeys takes the unique indexes that cover all rows.
func sqliteKeys(db *sqlite3.Conn, t *Table) error {
	var indexes []string
	err := query(db, `SELECT name FROM pragma_index_list(?) WHERE "unique" AND NOT partial`, func(s *sqlite3.Stmt) {
		indexes = append(indexes, s.ColumnText(0))
	}, t.Name)
	for _, name := range indexes {
		var columns []string
		whole := true
		err = errors.Join(err, query(db, `SELECT name, cid, coll FROM pragma_index_xinfo(?) WHERE key ORDER BY seqno`, func(s *sqlite3.Stmt) {
			columns = append(columns, s.ColumnText(0))
			whole = whole && s.ColumnInt(1) >= 0 // below: an expression, or the rowid
			if c := t.Column(s.ColumnText(0), true); whole && c != nil {
				// Every collation takes for equal what BINARY does. Of another one no more can be said.
				whole = strings.EqualFold(c.collation, "BINARY") || strings.EqualFold(c.collation, s.ColumnText(2))
			}
		}, name))
		if whole && len(columns) > 0 {
			t.Keys = append(t.Keys, columns)
		}
	}
	return err
}
