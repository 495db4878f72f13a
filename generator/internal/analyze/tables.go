package analyze

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/directive"
	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/schema"
	"github.com/idemgen/idemgen/generator/internal/sqlcode"
)

// transitions holds the transitions of all packages against the machines and the schemas, and gives each store their
// statements.
func (a *analyzer) transitions(scans []*scan) {
	for _, s := range scans {
		if !s.faulty {
			s.checkIdleMachines()
		}
		if !slices.ContainsFunc(s.handlers, func(h *handler) bool { return h.Transition != nil }) {
			continue
		}
		var tables *schema.Schema
		if s.out.Store != nil { // why not has been reported
			tables = s.schema()
		}
		if tables != nil {
			s.beginnings(tables)
		}
		for _, h := range s.handlers {
			if h.Transition != nil {
				h.inMachine()
				h.usesTwice()
			}
		}
		if tables != nil {
			s.checkTables(tables)
			s.addQueries(tables)
		}
	}
	a.machinesAgree(scans)
	a.checkQueries(scans)
}

// schema reads the schema that the package's transitions are about; nil where that has been reported.
func (s *scan) schema() *schema.Schema {
	paths, pos, ok := s.schemaPaths()
	if !ok {
		return nil
	}
	files, err := schema.Files(paths)
	if err != nil {
		s.a.diags.Add(pos, codeSchemaFault, "make it readable", "the schema cannot be read: %s", reason(err))
		return nil
	}
	if len(files) == 0 {
		s.a.diags.Add(pos, codeNoSchema, "name the files, or the folder that they are in", "there is no .sql file in %s", slashed(paths))
		return nil
	}
	st := s.out.Store
	ours := filepath.Join(st.Dir, "schema.sql")
	files = slices.DeleteFunc(files, func(f model.SchemaFile) bool { return f.Path == ours })
	if st.UserPaths != nil && !slices.Equal(st.UserPaths, paths) {
		s.a.diags.Add(pos, codeDisagree, "make them agree, or give one of the packages a store of its own with out=./idemdb",
			"package %s has its transitions' tables in %s, and another package that shares the store %s has them elsewhere", s.Name, slashed(paths), filepath.ToSlash(st.Dir))
		return nil
	}
	tables, err := schema.Read(st.Engine, files)
	var fault *schema.Error
	switch {
	case errors.As(err, &fault):
		s.a.diags.Add(token.Position{Filename: fault.Path, Line: fault.Line}, codeSchemaFault,
			"correct it; if the database takes it as it is, name the other files alone with schema=", "the schema of %s cannot be read: %s", st.Engine, fault)
		return nil
	case err != nil:
		s.a.diags.Add(pos, codeSchemaFault, "please report it", "the schema cannot be read: %s", oneLine(err))
		return nil
	}
	st.UserSchema, st.UserPaths = files, paths
	st.OwnTable = tables.Table(st.Schema, st.Table) != nil
	return tables
}

// schemaPaths are the files and folders of the schema: schema=, else those of sqlc's configuration.
func (s *scan) schemaPaths() (paths []string, pos token.Position, ok bool) {
	if arg, given := s.settingsArg("schema"); given {
		for item := range strings.SplitSeq(arg.Value, ",") {
			file := filepath.FromSlash(strings.TrimSpace(item))
			if !filepath.IsAbs(file) {
				file = filepath.Join(s.Dir, file)
			}
			paths = append(paths, file)
		}
		return paths, arg.ValuePos, true
	}
	pos = s.firstTransition().change.Pos
	if s.settings != nil {
		pos = s.settings.Pos
	}
	conf, ok := s.sqlc()
	if !ok {
		return nil, pos, false
	}
	const mend = "name the files of the schema, relative to the package: //idem:package schema=../db/schema.sql"
	if conf == nil {
		s.a.diags.Add(pos, codeNoSchema, mend,
			"package %s has transitions, and nothing says where the schema of their tables is: there is no schema=, and no sqlc.yaml above it", s.Name)
		return nil, pos, false
	}
	schemas := conf.schemas(s.out.Store)
	if len(schemas) != 1 {
		s.a.diags.Add(pos, codeNoSchema, mend, "package %s has transitions, and %s has %d schemas for %s", s.Name, filepath.ToSlash(conf.file), len(schemas), s.out.Store.Engine)
		return nil, pos, false
	}
	return schemas[0], pos, true
}

// schemas are the different schemas of a store's engine: of the blocks for its driver, if they have any.
func (c *sqlcConfig) schemas(st *model.Store) [][]string {
	collect := func(fits func(sqlcBlock) bool) [][]string {
		var out [][]string
		for _, b := range c.blocks {
			if fits(b) && len(b.schema) > 0 && !slices.ContainsFunc(out, func(o []string) bool { return slices.Equal(o, b.schema) }) {
				out = append(out, b.schema)
			}
		}
		return out
	}
	if own := collect(func(b sqlcBlock) bool { return b.engine == st.Engine && b.driver == st.Driver }); len(own) > 0 {
		return own
	}
	return collect(func(b sqlcBlock) bool { return b.engine == st.Engine })
}

func slashed(paths []string) string {
	var out []string
	for _, p := range paths {
		out = append(out, filepath.ToSlash(p))
	}
	return strings.Join(out, ", ")
}

// firstTransition is the first handler with a transition; the package has one.
func (s *scan) firstTransition() *handler {
	return s.handlers[slices.IndexFunc(s.handlers, func(h *handler) bool { return h.Transition != nil })]
}

// checkTables holds the transitions against the schema, and has them spell names as it does.
func (s *scan) checkTables(tables *schema.Schema) {
	for _, h := range s.handlers {
		if h.Transition == nil {
			continue
		}
		t := h.Transition
		table := tables.Table(t.Schema, t.Table)
		if table == nil {
			h.fail(h.change.Change.Column.Pos, codeNoTable, noTableMend(tables, t), "the schema has no table %s", strings.TrimSuffix(t.Text(), "."+t.Column))
			continue
		}
		c := tableCheck{h: h, table: table, fold: tables.Fold()}
		if s.out.Store.Engine == sqlite {
			c.names()
		}
		if c.relation() {
			c.state()
			c.version()
			c.values()
		}
	}
	for _, m := range s.machines {
		table, column := m.in(tables)
		if column == nil {
			continue // the transitions of its column have said so, or there are none, which has been said
		}
		for i, state := range m.States {
			if why, ok := column.Holds(state); !ok {
				s.a.diags.Add(m.states[state], codeState, stateMend(column, state), "%s.%s cannot hold %q, which %s", table.Text(), column.Name, state, why)
			}
			if n := slices.IndexFunc(m.States[:i], func(o string) bool { return column.Same(o, state) }); n >= 0 {
				s.a.diags.Add(m.states[state], codeState, sameMend, sameStates, table.Text(), column.Name, state, m.States[n])
			}
		}
	}
}

// What is said of two states that a column takes for one: a row that has been moved from the one to the other is still in the
// first, and would be moved again by every repeat.
const (
	sameStates = "%s.%s does not tell %q from %q: it compares without regard to case"
	sameMend   = "give one of the two another name, or declare that the column is compared byte by byte (on MySQL COLLATE utf8mb4_bin)"
)

// in finds a machine's column; nil where there is none.
func (m *machine) in(tables *schema.Schema) (*schema.Table, *schema.Column) {
	table := tables.Table(m.Schema, m.Table)
	if table == nil {
		return nil, nil
	}
	return table, table.Column(m.Column, tables.Fold())
}

// beginnings tells the machines what the schema knows of where rows begin.
func (s *scan) beginnings(tables *schema.Schema) {
	for _, m := range s.machines {
		if _, column := m.in(tables); column != nil && slices.Contains(m.States, column.Default) {
			m.Default = column.Default
		}
	}
}

// noTableMend names what may be meant.
func noTableMend(tables *schema.Schema, t *model.Transition) string {
	wanted := strings.TrimSuffix(t.Text(), "."+t.Column)
	var bare []string
	for _, name := range tables.Names() {
		last := name[strings.LastIndexByte(name, '.')+1:]
		if last == t.Table {
			return "did you mean " + name + "." + t.Column + "?"
		}
		bare = append(bare, last)
	}
	if near := directive.Nearest(wanted, tables.Names()); near != "" {
		return "did you mean " + near + "." + t.Column + "?"
	}
	if near := directive.Nearest(t.Table, bare); near != "" {
		return "did you mean " + tables.Names()[slices.Index(bare, near)] + "." + t.Column + "?"
	}
	return "there are: " + limited(tables.Names())
}

// limited is a list that is not too long to be read.
func limited(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	if len(all) > maxCandidates {
		all = append(all[:maxCandidates:maxCandidates], "…")
	}
	return strings.Join(all, ", ")
}

// stateMend names what a column can hold instead.
func stateMend(c *schema.Column, state string) string {
	var holds []string
	for _, l := range c.Labels {
		if _, ok := c.Holds(l); ok && !slices.Contains(holds, l) {
			holds = append(holds, l)
		}
	}
	if near := directive.Nearest(state, holds); near != "" {
		return "did you mean " + near + "?"
	}
	if len(holds) == 0 {
		return "correct the state, or the column"
	}
	return "there are: " + limited(holds)
}

// A tableCheck holds one transition against its table.
type tableCheck struct {
	h     *handler
	table *schema.Table
	fold  bool
}

// names refuses what sqlc does not compile for SQLite: it counts the letters of a statement where it should count the bytes.
func (c *tableCheck) names() {
	t, change := c.h.Transition, c.h.change
	check := func(pos token.Position, name, mend string) {
		if !sqlcode.ASCII(name) {
			c.h.fail(pos, codeSQLiteName, mend, "%s has other letters than those of ASCII, and sqlc cannot compile a statement with them for SQLite", name)
		}
	}
	check(c.h.Pos, t.Query, "rename the handler, its type or its package")
	const rename = "rename it in the schema"
	check(change.Change.Column.Pos, t.Text(), rename)
	for _, v := range slices.Concat(t.Row, t.Set) {
		check(v.Pos, v.Column, rename)
	}
	if arg, ok := change.Arg("version"); ok {
		check(arg.ValuePos, t.Version, rename)
	}
	if t.Expect != nil && t.Expect.Column != t.Version {
		check(t.Expect.Pos, t.Expect.Column, rename)
	}
}

// relation checks what is updated: that the number of rows affected says what happened.
func (c *tableCheck) relation() bool {
	pos, name := c.h.change.Change.Column.Pos, c.table.Text()
	switch {
	case c.table.Kind != schema.Base:
		c.h.fail(pos, codeNoBaseTable, "name the table that the rows are in", "%s is %s, and what an UPDATE of it changes cannot be relied on", name, c.table.Kind)
		return false
	case c.table.Ruled:
		c.h.fail(pos, codeNoBaseTable, "drop the rule; a trigger can do what it does", "%s has a rule for UPDATE, which may change other rows, or none", name)
		return false
	case c.table.Lasting != "":
		c.h.fail(pos, codeNoBaseTable, "declare it ENGINE=InnoDB", "%s is a table of %s's, which keeps what is rolled back", name, c.table.Lasting)
		return false
	}
	c.h.Transition.Table = c.table.Name
	return true
}

// column finds a column, and has the transition spell it as the schema does.
func (c *tableCheck) column(name *string, pos token.Position) *schema.Column {
	column := c.table.Column(*name, c.fold)
	if column == nil {
		mend := "there are: " + limited(c.table.ColumnNames())
		if near := directive.Nearest(*name, c.table.ColumnNames()); near != "" {
			mend = "did you mean " + near + "?"
		}
		c.h.fail(pos, codeNoColumn, mend, "table %s has no column %s", c.table.Text(), *name)
		return nil
	}
	*name = column.Name
	return column
}

// state checks the column of the state, and every state in it.
func (c *tableCheck) state() {
	t, change := c.h.Transition, c.h.change.Change
	column := c.column(&t.Column, change.Column.Pos)
	if column == nil {
		return
	}
	text := c.table.Text() + "." + column.Name
	switch {
	case column.Class != schema.Text && column.Class != schema.Enum:
		c.h.fail(change.Column.Pos, codeStateType, "keep the state in a text column or in an enum", "%s is of type %s, which holds no states", text, orNone(column.Type))
		return
	case column.Generated:
		c.h.fail(change.Column.Pos, codeGenerated, "name the column that it is made from", "%s is a generated column, which cannot be set", text)
		return
	case !column.NotNull:
		c.h.fail(change.Column.Pos, codeStateNull, "declare it NOT NULL", "%s may be NULL, and a row without a state is in none that a transition begins in", text)
		return
	}
	var before []string
	for _, step := range change.Steps {
		for _, state := range step {
			if n := slices.IndexFunc(before, func(o string) bool { return column.Same(o, state.Name) }); n >= 0 {
				c.h.fail(state.Pos, codeState, sameMend, sameStates, c.table.Text(), column.Name, state.Name, before[n])
			}
			before = append(before, state.Name)
			if why, ok := column.Holds(state.Name); !ok {
				c.h.fail(state.Pos, codeState, stateMend(column, state.Name), "%s cannot hold %q, which %s", text, state.Name, why)
			}
		}
	}
}

func orNone(declared string) string {
	if declared == "" {
		return "none"
	}
	return declared
}

// version checks what is counted, and what is compared with it.
func (c *tableCheck) version() {
	t := c.h.Transition
	if arg, ok := c.h.change.Arg("version"); ok {
		c.counts(&t.Version, arg.ValuePos, true)
	}
	if t.Expect != nil {
		if column := c.counts(&t.Expect.Column, t.Expect.Pos, false); column != nil {
			t.Expect.Holds = column.ColumnType()
		}
	}
}

// counts is the column, if it can be a version.
func (c *tableCheck) counts(name *string, pos token.Position, written bool) *schema.Column {
	column := c.column(name, pos)
	if column == nil {
		return nil
	}
	text := c.table.Text() + "." + column.Name
	switch {
	case column.Class != schema.Integer:
		c.h.fail(pos, codeVersion, "name an integer column", "%s is of type %s, and a version is an integer", text, orNone(strings.TrimPrefix(column.Type, "the ")))
	case !column.NotNull:
		c.h.fail(pos, codeVersion, "declare it NOT NULL, with a default", "%s may be NULL, which is no version", text)
	case column.Generated && written:
		c.h.fail(pos, codeGenerated, "name a column that can be set", "%s is a generated column, which cannot be set", text)
	default:
		return column
	}
	return nil
}

// values checks the columns of row= and set=, and whether row= is one row.
func (c *tableCheck) values() {
	t := c.h.Transition
	var row []string
	for i := range t.Row {
		if column := c.column(&t.Row[i].Column, t.Row[i].Pos); column != nil {
			row = append(row, column.Name)
			t.Row[i].Holds = column.ColumnType()
		}
	}
	t.Unique = !c.table.Parent && c.table.Covered(row)
	for i := range t.Set {
		v := &t.Set[i]
		column := c.column(&v.Column, v.Pos)
		switch {
		case column == nil:
		case column.Generated:
			c.h.fail(v.Pos, codeGenerated, "name a column that can be set", "%s.%s is a generated column, which cannot be set", c.table.Text(), column.Name)
		case column.NotNull && v.Part.Optional():
			c.h.fail(v.PathPos, codeColumnType, "declare the column NULL, or name a value that is always there",
				"%s may be absent, and %s.%s is NOT NULL", v.Path, c.table.Text(), column.Name)
		default:
			v.Nullable, v.Holds = !column.NotNull, column.ColumnType()
		}
	}
}

// addQueries gives the store the statements of the package's transitions.
func (s *scan) addQueries(tables *schema.Schema) {
	f := &model.QueryFile{Package: s.Path, Name: s.queryFile()}
	var definitions []string
	for _, h := range s.handlers {
		if h.Transition == nil {
			continue
		}
		f.Transitions = append(f.Transitions, h.Transition)
		if table := tables.Table(h.Transition.Schema, h.Transition.Table); table != nil {
			definitions = append(definitions, table.Definition())
		}
	}
	slices.Sort(definitions)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(definitions), "")))
	f.Tables = hex.EncodeToString(sum[:8])
	s.out.Store.Transitions = append(s.out.Store.Transitions, f)
}

// queryFile is the name of the file that the package's statements are in.
func (s *scan) queryFile() string { return fmt.Sprintf("%s.sql", s.Name) }
