package schema

import (
	"strings"
	"unicode"

	"github.com/ncruces/go-sqlite3"
)

// sqliteChecks gives the columns those conditions of the table that are about one of them alone. A condition is evaluated
// by SQLite, here and now, for each label that a directive may name: there is no list of them to be had. So the connection's
// answers are kept for the values that the condition itself names, and any other is one that it does not name.
func sqliteChecks(db *sqlite3.Conn, t *Table) error {
	var ddl string
	if err := query(db, `SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?`, func(s *sqlite3.Stmt) { ddl = s.ColumnText(0) }, t.Name); err != nil {
		return err
	}
	for _, expr := range conditions(ddl) {
		column := t.about(expr)
		if column == nil {
			continue
		}
		allowed := map[string]bool{}
		evaluate := func(value string) (holds, known bool) {
			sql := `SELECT (` + joined(expr) + `) IS NOT 0 FROM (SELECT CAST(? AS TEXT) AS ` + quoted(column.Name) + `)`
			err := query(db, sql, func(s *sqlite3.Stmt) { holds, known = s.ColumnBool(0), true }, value)
			return holds, known && err == nil
		}
		// A text that nobody writes stands for all that the condition does not name.
		other, known := evaluate("\x01 no state is called so \x01")
		if !known {
			continue
		}
		for _, tok := range expr {
			if !t.isText(tok) {
				continue
			}
			holds, _ := evaluate(tok.value)
			allowed[tok.value] = holds
			column.Labels = append(column.Labels, tok.value)
		}
		column.checks = append(column.checks, check{joined(expr), func(value string) (bool, bool) {
			if holds, named := allowed[value]; named {
				return holds, true
			}
			// What compares lengths or patterns is not known by example.
			return other, comparesOnly(expr)
		}})
	}
	return nil
}

// isText says that a token is a text: in double quotes too, where no column is called so.
func (t *Table) isText(tok sqlToken) bool {
	return tok.kind == sqlString || tok.kind == sqlName && tok.text[0] == '"' && t.Column(tok.value, true) == nil
}

// about is the only column that a condition mentions, or nil.
func (t *Table) about(expr []sqlToken) *Column {
	var found *Column
	for _, tok := range expr {
		if tok.kind != sqlName {
			continue
		}
		if c := t.Column(tok.value, true); c != nil {
			if found != nil && found != c {
				return nil
			}
			found = c
		}
	}
	return found
}

// comparesOnly says that a condition consists of names, texts, IN, comparisons for equality and what joins them.
func comparesOnly(expr []sqlToken) bool {
	for i, tok := range expr {
		switch tok.kind {
		case sqlName:
			called := i+1 < len(expr) && expr[i+1].text == "("
			switch strings.ToUpper(tok.text) {
			case "IN", "AND", "OR", "NOT":
			case "LIKE", "GLOB", "BETWEEN", "REGEXP", "MATCH", "CASE", "COLLATE", "CAST":
				return false
			default:
				if called {
					return false
				}
			}
		case sqlOther:
			if !strings.Contains("(),=<>!", tok.text) {
				return false
			}
			if (tok.text == "<" || tok.text == ">") && !neighbours(expr, i) {
				return false
			}
		}
	}
	return true
}

// neighbours says that an angle bracket is half of <>.
func neighbours(expr []sqlToken, i int) bool {
	return expr[i].text == "<" && i+1 < len(expr) && expr[i+1].text == ">" || expr[i].text == ">" && i > 0 && expr[i-1].text == "<"
}

type sqlKind int

const (
	sqlOther  sqlKind = iota // one character
	sqlName                  // a bare or quoted name, or a keyword
	sqlString                // '…'
	sqlNumber
)

type sqlToken struct {
	kind  sqlKind
	text  string // as written
	value string // without quotes
}

// conditions are the expressions of all CHECKs of a CREATE TABLE.
func conditions(ddl string) [][]sqlToken {
	var out [][]sqlToken
	tokens := tokenize(ddl)
	for i := 0; i+1 < len(tokens); i++ {
		if tokens[i].kind != sqlName || !strings.EqualFold(tokens[i].text, "CHECK") || tokens[i+1].text != "(" {
			continue
		}
		depth, from := 0, i+2
		for i++; i < len(tokens); i++ {
			if tokens[i].text == "(" {
				depth++
			} else if tokens[i].text == ")" {
				if depth--; depth == 0 {
					break
				}
			}
		}
		out = append(out, tokens[from:min(i, len(tokens))])
	}
	return out
}

func joined(tokens []sqlToken) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 && t.kind != sqlOther && tokens[i-1].kind != sqlOther || i > 0 && t.kind != sqlOther && strings.Contains("=,<>", tokens[i-1].text) ||
			i > 0 && (t.text == "=" || t.text == "(") && tokens[i-1].kind != sqlOther {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}

// tokenize cuts SQL into words, texts and single characters. SQLite, "SQL Syntax", the literals.
func tokenize(s string) []sqlToken {
	var out []sqlToken
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case unicode.IsSpace(rune(c)):
			i++
		case strings.HasPrefix(s[i:], "--"):
			i += until(s[i:], "\n")
		case strings.HasPrefix(s[i:], "/*"):
			i += until(s[i:], "*/")
		case c == '\'' || c == '"' || c == '`' || c == '[':
			n, value := delimited(s[i:])
			kind := sqlName
			if c == '\'' {
				kind = sqlString
			}
			out = append(out, sqlToken{kind, s[i : i+n], value})
			i += n
		case c == '_' || c >= 0x80 || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)):
			n := 1
			for i+n < len(s) && (s[i+n] == '_' || s[i+n] == '$' || s[i+n] >= 0x80 || unicode.IsLetter(rune(s[i+n])) || unicode.IsDigit(rune(s[i+n]))) {
				n++
			}
			kind := sqlName
			if unicode.IsDigit(rune(c)) {
				kind = sqlNumber
			}
			out = append(out, sqlToken{kind, s[i : i+n], s[i : i+n]})
			i += n
		default:
			out = append(out, sqlToken{sqlOther, s[i : i+1], s[i : i+1]})
			i++
		}
	}
	return out
}

// until is the length up to and with an end, or of all.
func until(s, end string) int {
	if i := strings.Index(s, end); i >= 0 {
		return i + len(end)
	}
	return len(s)
}

// delimited is the length and the value of what is in quotes: a quote within them is doubled.
func delimited(s string) (n int, value string) {
	end := s[0]
	if end == '[' {
		end = ']'
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != end {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == end && end != ']' {
			b.WriteByte(end)
			i++
			continue
		}
		return i + 1, b.String()
	}
	return len(s), b.String()
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
