// Package diag holds diagnostics: what is wrong in a user's source, where, under which stable code, and how to mend it.
//
// Every stage adds to one List and goes on, so that a user sees all of their errors at once, in source order. The
// package prints; it decides nothing. The codes and their meanings are the table in codes.go.
package diag

import (
	"cmp"
	"fmt"
	"go/token"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// A Code names a kind of diagnostic, such as "IDEM004". It never changes its meaning.
type Code string

// A Diagnostic is one fault in the user's input.
type Diagnostic struct {
	Pos     token.Position // the deepest position known; without a Filename the fault is of the whole run
	Code    Code
	Message string // the cause, without a full stop
	Hint    string // the mend; empty only where the message says it
}

// A List collects diagnostics. The zero value is ready to use. It is not safe for concurrent use.
type List struct {
	all []Diagnostic
}

// Add records a diagnostic. Recording the same one twice keeps one.
func (l *List) Add(pos token.Position, code Code, hint, format string, args ...any) {
	d := Diagnostic{Pos: pos, Code: code, Hint: hint, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(l.all, d) {
		l.all = append(l.all, d)
	}
}

// Len is the number of diagnostics.
func (l *List) Len() int { return len(l.all) }

// Sorted returns the diagnostics by file, line, column and code.
func (l *List) Sorted() []Diagnostic {
	out := slices.Clone(l.all)
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(
			strings.Compare(a.Pos.Filename, b.Pos.Filename),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column),
			strings.Compare(string(a.Code), string(b.Code)),
		)
	})
	return out
}

// Print writes the diagnostics to w, each as "path:line:column: message [CODE]" and a tab-indented hint. Paths below
// dir are printed relative to it, with slashes, also those that a message or a hint mentions.
func Print(w io.Writer, dir string, ds []Diagnostic) error {
	for _, d := range ds {
		if _, err := io.WriteString(w, d.format(dir)); err != nil {
			return err
		}
	}
	return nil
}

func (d Diagnostic) format(dir string) string {
	var b strings.Builder
	if d.Pos.Filename != "" {
		name := d.Pos.Filename
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			name = rel
		}
		pos := d.Pos
		pos.Filename = filepath.ToSlash(name)
		b.WriteString(pos.String())
		b.WriteString(": ")
	}
	fmt.Fprintf(&b, "%s [%s]\n", mentions(d.Message, dir), d.Code)
	if d.Hint != "" {
		hint := mentions(d.Hint, dir)
		fmt.Fprintf(&b, "\thint: %s\n", strings.ReplaceAll(hint, "\n", "\n\t      "))
	}
	return b.String()
}

// mentions makes the paths below dir that a text mentions relative to it.
func mentions(text, dir string) string {
	below := strings.TrimSuffix(filepath.ToSlash(dir), "/") + "/"
	if below == "/" {
		return text
	}
	return strings.ReplaceAll(text, below, "")
}
