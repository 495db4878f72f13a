package sqlcode

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"

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
	args := Args(t)
	for _, v := range t.Set {
		c.Set = append(c.Set, assignment{identifier(s, v.Column), args[v.Column]})
	}
	for _, v := range t.Row {
		c.Row = append(c.Row, assignment{identifier(s, v.Column), args[v.Column]})
	}
	if t.Expect != nil {
		c.Expect = &assignment{identifier(s, t.Expect.Column), args[t.Expect.Column]}
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

// word is a name as one word of ASCII: quoted where it has anything else in it, or a space.
func word(name string) string {
	if strings.ContainsRune(name, ' ') || strconv.QuoteToASCII(name) != `"`+name+`"` {
		return strconv.QuoteToASCII(name)
	}
	return name
}

// literal is a text of SQL. A backslash escapes in MySQL, and in PostgreSQL where a session is set to that, unless it is said.
// For SQLite, sqlc counts letters where it should count bytes: there the text is ASCII.
func literal(engine, s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	escaped := strings.ReplaceAll(quoted, `\`, `\\`)
	switch {
	case engine == "mysql":
		return escaped
	case engine == "postgresql" && escaped != quoted:
		return "E" + escaped
	case engine == "sqlite" && !ASCII(s):
		return fmt.Sprintf("CAST(X'%x' AS TEXT)", s)
	}
	return quoted
}

// ASCII says that there is nothing else in a text.
func ASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
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

// Args are the names of the parameters for a transition's columns: by SameArg, no two are one.
func Args(t *model.Transition) map[string]string {
	args := map[string]string{}
	taken := func(arg string) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(args)), func(other string) bool { return SameArg(arg, other) })
	}
	add := func(column string) {
		name := arg(column)
		for n := 2; taken(name); n++ {
			name = fmt.Sprintf("%s_%d", arg(column), n)
		}
		args[column] = name
	}
	for _, v := range t.Row {
		add(v.Column)
	}
	for _, v := range t.Set {
		add(v.Column)
	}
	if t.Expect != nil {
		add(t.Expect.Column)
	}
	return args
}

// SameArg says that sqlc may make fields of one name of two parameters, or that a field is a parameter's: it writes user_id
// as UserID, and userid as Userid.
func SameArg(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, "_", ""), strings.ReplaceAll(b, "_", ""))
}

// arg is the name of the parameter for a column: the column's, where a statement can say that.
func arg(column string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, column)
	anywhere := func(words []string) bool { return slices.Contains(words, name) }
	if slices.ContainsFunc(slices.Collect(maps.Values(reserved)), anywhere) {
		name += "_value"
	}
	if first := strings.TrimLeft(name, "_"); first != name || first == "" || first[0] >= '0' && first[0] <= '9' {
		name = "column_" + first // a field's name begins with a letter
	}
	return name
}
