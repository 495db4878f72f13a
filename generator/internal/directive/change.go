package directive

import (
	"fmt"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Change is the part of a directive that is not name=value: a column, and states of it that follow each other.
type Change struct {
	Column ColumnRef
	// Steps are the states in order, each step one state or alternatives: pending|paid -> confirmed has two steps.
	Steps [][]State
}

// A ColumnRef is a column as a directive writes it: [SCHEMA.]TABLE.COLUMN.
type ColumnRef struct {
	Schema, Table, Column string // Schema is empty where it is not written
	Pos                   token.Position
}

func (c ColumnRef) String() string {
	text := c.Table + "." + c.Column
	if c.Schema != "" {
		text = c.Schema + "." + text
	}
	return text
}

// A State is the label of one state, unquoted.
type State struct {
	Name string
	Pos  token.Position
}

// lexeme is a piece of the text that a Change is read from.
type lexeme struct {
	text string
	at   int
	kind lexKind
}

type lexKind int

const (
	name lexKind = iota
	quotedName
	arrow
	bar
)

// startsArg matches where name=value begins. An arrow that is written => does not.
var startsArg = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*=([^>]|$)`)

// spelledArrow matches what is written for an arrow by those who do not know ours, or have an editor that draws one.
var spelledArrow = regexp.MustCompile(`^(?:[-=~–—]*>+|<[-=]+>?|[-–—=~]+>?|→|⟶|➔|➜|⇒|to|To|TO|-+>)$`)

// change reads what stands before the arguments.
func (p *argParser) change() *Change {
	words := p.lexemes()
	if p.stopped {
		return nil
	}
	form := p.verb.change
	if len(words) == 0 {
		p.diags.Add(p.pos(0), codeChange, "write "+p.verb.example, "//idem:%s has no column", p.verb.name)
		return nil
	}
	c := &Change{}
	if words[0].kind != name {
		p.diags.Add(p.pos(words[0].at), codeChange, "write "+p.verb.example, "//idem:%s begins with a column, as in orders.status", p.verb.name)
		return nil
	}
	if !p.column(words[0], &c.Column) || !p.steps(words[1:], c) {
		return nil
	}
	return p.checkSteps(c, form)
}

// lexemes cuts the text up to the first argument.
func (p *argParser) lexemes() []lexeme {
	var out []lexeme
	for {
		p.skipSpace()
		rest := p.text[p.next:]
		switch {
		case rest == "" || startsArg.MatchString(rest) || strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") || strings.HasPrefix(rest, "#"):
			return out
		case strings.HasPrefix(rest, "->") && !strings.HasPrefix(rest, "->>"):
			out = append(out, lexeme{"->", p.next, arrow})
			p.next += 2
		case rest[0] == '|':
			out = append(out, lexeme{"|", p.next, bar})
			p.next++
		case rest[0] == '"' || rest[0] == '`':
			text, ok := p.quotedState()
			if !ok {
				return nil
			}
			out = append(out, text)
		default:
			out = append(out, p.bareName())
		}
	}
}

// quotedState reads a state in quotes.
func (p *argParser) quotedState() (lexeme, bool) {
	at := p.next
	quoted, err := strconv.QuotedPrefix(p.text[at:])
	if err != nil {
		p.diags.Add(p.pos(at), codeQuote, "end it with "+p.text[at:at+1], "the quote of a state does not end")
		p.stopped = true
		return lexeme{}, false
	}
	text, err := strconv.Unquote(quoted)
	if err != nil {
		p.diags.Add(p.pos(at), codeQuote, "write a Go string", "a state is not a Go string")
		p.stopped = true
		return lexeme{}, false
	}
	p.next += len(quoted)
	return lexeme{text, at, quotedName}, true
}

// bareName reads up to a space, a bar or an arrow.
func (p *argParser) bareName() lexeme {
	at, rest := p.next, p.text[p.next:]
	end := len(rest)
	for i, r := range rest {
		if unicode.IsSpace(r) || r == '|' || r == '"' || r == '`' || i > 0 && rest[i-1] != '-' && strings.HasPrefix(rest[i:], "->") {
			end = i
			break
		}
	}
	p.next += end
	return lexeme{rest[:end], at, name}
}

// column reads [SCHEMA.]TABLE.COLUMN.
func (p *argParser) column(w lexeme, c *ColumnRef) bool {
	parts := strings.Split(w.text, ".")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") || strings.ContainsAny(w.text, "<>=:;,()'") {
		p.diags.Add(p.pos(w.at), codeChange, "write the table and the column that holds the state, as in orders.status, or with a schema billing.orders.status",
			"%q is not a column", w.text)
		return false
	}
	*c = ColumnRef{Table: parts[len(parts)-2], Column: parts[len(parts)-1], Pos: p.pos(w.at)}
	if len(parts) == 3 {
		c.Schema = parts[0]
	}
	return true
}

// steps reads a|b -> c -> ….
func (p *argParser) steps(words []lexeme, c *Change) bool {
	var step []State
	wantState := true
	for _, w := range words {
		switch {
		case w.kind != arrow && w.kind != quotedName && misspeltArrow(w, wantState):
			p.diags.Add(p.pos(w.at), codeChange, "write ->", "%q is not an arrow", w.text)
			return false
		case wantState && (w.kind == arrow || w.kind == bar):
			p.diags.Add(p.pos(w.at), codeChange, "write "+p.verb.example, "there is no state before the %s", w.text)
			return false
		case wantState:
			if !p.stateName(w) {
				return false
			}
			step = append(step, State{w.text, p.pos(w.at)})
		case w.kind == arrow:
			c.Steps = append(c.Steps, step)
			step = nil
		case w.kind != bar:
			p.diags.Add(p.pos(w.at), codeChange, fmt.Sprintf("write -> or | before it; a state with a space in it is quoted: %q", step[len(step)-1].Name+" "+w.text),
				"%q follows a state", w.text)
			return false
		}
		wantState = w.kind == arrow || w.kind == bar
	}
	if wantState {
		at := len(strings.TrimRightFunc(p.text[:p.next], unicode.IsSpace))
		p.diags.Add(p.pos(at), codeChange, "write "+p.verb.example, "//idem:%s ends without a state", p.verb.name)
		return false
	}
	c.Steps = append(c.Steps, step)
	return true
}

// misspeltArrow says that a word is an arrow of another alphabet: any of them where an arrow is due, and where a state is
// due those that no state is called.
func misspeltArrow(w lexeme, wantState bool) bool {
	return spelledArrow.MatchString(w.text) && (!wantState || !strings.EqualFold(w.text, "to"))
}

// stateName checks a state that is not quoted: what looks like a part of an arrow has to be.
func (p *argParser) stateName(w lexeme) bool {
	if w.kind == quotedName {
		if w.text == "" {
			p.diags.Add(p.pos(w.at), codeChange, "name the state", "a state is empty")
			return false
		}
		if !utf8.ValidString(w.text) || strings.ContainsFunc(w.text, unicode.IsControl) {
			p.diags.Add(p.pos(w.at), codeChange, "name it by one line of text", "the state %q has something in it that is no text", w.text)
			return false
		}
		return true
	}
	if i := strings.IndexAny(w.text, "<>=→⇒"); i >= 0 || strings.HasPrefix(w.text, "-") || strings.HasSuffix(w.text, "-") {
		p.diags.Add(p.pos(w.at+max(i, 0)), codeChange, "write ->; or quote the state, if it is called so", "%q has an arrow in it that is none", w.text)
		return false
	}
	if strings.HasSuffix(w.text, ",") || strings.Contains(w.text, ",") {
		p.diags.Add(p.pos(w.at+strings.Index(w.text, ",")), codeChange, "write | between the states that a transition may begin in", "there is a comma in %q", w.text)
		return false
	}
	return true
}

// checkSteps checks what the words alone can tell: their number, and that nothing is named twice.
func (p *argParser) checkSteps(c *Change, form changeForm) *Change {
	switch last := c.Steps[len(c.Steps)-1]; {
	case len(c.Steps) == 1:
		p.diags.Add(c.Steps[0][0].Pos, codeChange, "write "+p.verb.example, "//idem:%s has no ->", p.verb.name)
		return nil
	case form == oneStep && len(c.Steps) > 2:
		p.diags.Add(c.Steps[2][0].Pos, codeChange, "write one //idem:transition for each step, each on a handler of its own", "a transition has one ->")
		return nil
	case form == oneStep && len(last) > 1:
		p.diags.Add(last[1].Pos, codeChange, "write one //idem:transition for each, each on a handler of its own", "a transition leads to one state")
		return nil
	}
	before := p.diags.Len()
	for i, step := range c.Steps {
		for j, s := range step {
			if slices.ContainsFunc(step[:j], func(o State) bool { return o.Name == s.Name }) {
				p.diags.Add(s.Pos, codeChange, "remove one", "%s is named twice", s.Name)
			}
			if i > 0 && slices.ContainsFunc(c.Steps[i-1], func(o State) bool { return o.Name == s.Name }) {
				p.diags.Add(s.Pos, codeSelfLoop, "remove it: what does not change the state is no transition", "%s -> %s leads from a state to itself", s.Name, s.Name)
			}
		}
	}
	if p.diags.Len() > before {
		return nil
	}
	return c
}

// checkColumnPath checks one column:Path of row=, set= or expect=.
func checkColumnPath(s string) (int, error) {
	column, path, ok := strings.Cut(s, ":")
	if !ok || column == "" || path == "" {
		return 0, &valueError{fmt.Sprintf("%q is not column:Path", s), "write the column, a colon, and the field that it is compared with, as in id:OrderID"}
	}
	if i := strings.IndexAny(column, ". \"'`()<>="); i >= 0 {
		return i, &valueError{fmt.Sprintf("%q is not the name of a column", column), "write the column's name alone, as in id:OrderID"}
	}
	at, err := checkPath(path)
	return len(column) + 1 + at, err
}

// checkColumn checks the name of one column.
func checkColumn(s string) (int, error) {
	if i := strings.IndexAny(s, ".:, \"'`()<>="); i >= 0 {
		return i, &valueError{fmt.Sprintf("%q is not the name of a column", s), "write the column's name alone, as in version=version"}
	}
	return 0, nil
}

// ColumnPath is one column:Path.
type ColumnPath struct {
	Column  string
	Pos     token.Position // of the column's name
	Path    string
	PathPos token.Position
}

// ColumnPaths are the elements of an argument of the form column:Path,….
func ColumnPaths(a Arg) []ColumnPath {
	var out []ColumnPath
	offset := 0
	for element := range strings.SplitSeq(a.Value, ",") {
		column, path, _ := strings.Cut(element, ":")
		out = append(out, ColumnPath{
			Column: column, Pos: moved(a.ValuePos, offset),
			Path: path, PathPos: moved(a.ValuePos, offset+len(column)+1),
		})
		offset += len(element) + 1
	}
	return out
}
