package sqlcode

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/templates"
)

// transitionFile is the template of a package's statements.
const transitionFile = "transitions.sql"

// statements is what a template makes the statements of a package of.
type statements struct {
	Package     string
	Tables      string
	Transitions []change
}

// change is a transition as its statements spell it.
type change struct {
	Query  string // OrdersServiceConfirmOrder
	Text   string // orders.status: pending -> confirmed
	Table  string
	Column string
	From   string // 'pending', 'paid'
	To     string // 'confirmed'
	Set    []assignment
	// Version is the column that is incremented; empty for none.
	Version string
	Row     []assignment
	Expect  *assignment
	Unique  bool
}

// assignment is a column and its parameter.
type assignment struct{ Column, Arg string }

// transitions renders a package's statements.
func transitions(s *model.Store, f *model.QueryFile) (File, error) {
	if f.Text != nil {
		return File{f.Name, bytes.ReplaceAll(f.Text, []byte("\r\n"), []byte("\n"))}, nil
	}
	path := s.Engine + "/" + transitionFile + ".tmpl"
	t, err := template.ParseFS(templates.FS, path)
	if err != nil {
		return File{}, bug("no template for engine %q: %v", s.Engine, err)
	}
	values := statements{Package: f.Package, Tables: f.Tables}
	for _, tr := range f.Transitions {
		values.Transitions = append(values.Transitions, spelled(s, tr))
	}
	var b bytes.Buffer
	if err := t.Execute(&b, values); err != nil {
		return File{}, bug("%s: %v", path, err)
	}
	return File{f.Name, b.Bytes()}, nil
}

// spelled spells a transition for an engine.
func spelled(s *model.Store, t *model.Transition) change {
	c := change{
		Query: t.Query, Text: inComment(t),
		Table: identifier(s, t.Table), Column: identifier(s, t.Column), To: literal(s.Engine, t.To), Unique: t.Unique,
	}
	if t.Schema != "" {
		c.Table = identifier(s, t.Schema) + "." + c.Table
	}
	var from []string
	for _, state := range t.From {
		from = append(from, literal(s.Engine, state))
	}
	c.From = strings.Join(from, ", ")
	if t.Version != "" {
		c.Version = identifier(s, t.Version)
	}
	for _, v := range t.Set {
		c.Set = append(c.Set, assignment{identifier(s, v.Column), Arg(v.Column)})
	}
	for _, v := range t.Row {
		c.Row = append(c.Row, assignment{identifier(s, v.Column), Arg(v.Column)})
	}
	if t.Expect != nil {
		c.Expect = &assignment{identifier(s, t.Expect.Column), Arg(t.Expect.Column)}
	}
	return c
}

// inComment is a transition on one line of a comment, whatever its states are called.
func inComment(t *model.Transition) string {
	var from []string
	for _, s := range t.From {
		from = append(from, word(s))
	}
	return fmt.Sprintf("%s: %s -> %s", word(t.Text()), strings.Join(from, " | "), word(t.To))
}

// word is a name as one word: quoted where it has anything in it that is not printed, or a space.
func word(name string) string {
	if strings.ContainsRune(name, ' ') || strconv.Quote(name) != `"`+name+`"` {
		return strconv.Quote(name)
	}
	return name
}

// literal is a text of SQL. A backslash escapes in MySQL only.
func literal(engine, s string) string {
	if engine == "mysql" {
		s = strings.ReplaceAll(s, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// identifier is a name as a statement spells it: quoted where it has to be.
func identifier(st *model.Store, name string) string {
	folded := name
	if st.Engine != "postgresql" {
		folded = strings.ToLower(name) // case does not matter there, and sqlc finds such a name only without quotes
	}
	if plain(folded) && !slices.Contains(reserved[st.Engine], folded) {
		return name
	}
	return quote(st, name)
}

// plain says that a name consists of lower-case letters, digits and underscores, and does not begin with a digit.
func plain(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// Arg is the name of the parameter for a column: the column's, where a statement can say that.
func Arg(column string) string {
	arg := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, column)
	anywhere := func(words []string) bool { return slices.Contains(words, arg) }
	if slices.ContainsFunc(slices.Collect(maps.Values(reserved)), anywhere) {
		arg += "_value"
	}
	if first := strings.TrimLeft(arg, "_"); first != arg || first == "" || first[0] >= '0' && first[0] <= '9' {
		arg = "column_" + first // a field's name begins with a letter
	}
	return arg
}
