package model

import "go/token"

// Transition is a change of state: the UPDATE that decides whether a handler runs.
type Transition struct {
	Pos    token.Position // of the directive
	Schema string         // as the schema spells it; empty where the directive leaves it out
	Table  string
	Column string
	// From are the states that it may begin in, To the one that it leads to.
	From []string
	To   string
	// Past are the states that a row can only be in if it was in To before: a row in one of them makes a repeat. To is the
	// first.
	Past []string
	// Again says that the machine leads from To back to it, so that a row can be in it more than once.
	Again   bool
	Row     []ColumnValue // the columns of WHERE
	Set     []ColumnValue
	Expect  *ColumnValue // the version that the event knows; nil for none
	Version string       // the column that is incremented; empty for none
	// Unique says that Row covers a primary or unique key, so that one row changes at most.
	Unique bool
	// Query is the name of the statement, and of what follows from it.
	Query string
}

// Text is the column as messages name it: "orders.status".
func (t *Transition) Text() string {
	text := t.Table + "." + t.Column
	if t.Schema != "" {
		text = t.Schema + "." + text
	}
	return text
}

// ColumnValue is a column and where its value comes from.
type ColumnValue struct {
	Column  string
	Pos     token.Position // of the column's name
	Path    string         // as written
	PathPos token.Position
	Part    Part
	// Nullable says that the column may be NULL.
	Nullable bool
	// Holds is what the column can hold.
	Holds ColumnType
	// Field and Type are the field of sqlc's parameters and its type, known once sqlc has run.
	Field string
	Type  GoType
}

// Optional says that a value may be absent itself, and not only what leads to it: a pointer, or a NULL.
func (p *Part) Optional() bool {
	if p.Deref {
		return true
	}
	for _, g := range p.Guards {
		if g.Field != "" && g.Depth >= len(p.Steps)-1 {
			return true
		}
	}
	return false
}

// GoType is a type of sqlc's making: int64, pgtype.UUID, or an enum of the store's own.
type GoType struct {
	Text    string // as the store's code writes it
	Path    string // the import path of its package; empty for a predeclared type, or one of the store's
	Package string // that package's name
	Own     bool   // declared in the store
}

// Machine is the states of a column and the changes that there are, as //idem:states says them.
type Machine struct {
	Pos    token.Position // of the first directive
	Schema string
	Table  string
	Column string
	States []string // in order of appearance
	Edges  []Edge
	// Default is the state of rows that are inserted without one, as the schema says; empty where it says none of States.
	Default string
}

// Text is the column as messages name it.
func (m *Machine) Text() string {
	return (&Transition{Schema: m.Schema, Table: m.Table, Column: m.Column}).Text()
}

// Edge is one change of state.
type Edge struct {
	From, To string
	Pos      token.Position // of To, in the directive
}
