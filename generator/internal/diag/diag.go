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
	"unicode"
	"unicode/utf8"
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

// Print writes the diagnostics to w, each as "path:line:column: message [CODE]" and a tab-indented hint. Paths are
// printed relative to dir, with slashes, as [Relative] makes them, also those that a message or a hint mentions.
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
		pos := d.Pos
		if rel, err := filepath.Rel(dir, pos.Filename); err == nil && filepath.IsLocal(rel) {
			pos.Filename = rel
		}
		pos.Filename = Relative(filepath.ToSlash(pos.Filename), dir)
		b.WriteString(pos.String())
		b.WriteString(": ")
	}
	// What more lines a message has, as those of the go command, stand below the line with the code.
	first, more, _ := strings.Cut(Relative(d.Message, dir), "\n")
	fmt.Fprintf(&b, "%s [%s]\n", first, d.Code)
	for line := range strings.SplitSeq(more, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintf(&b, "\t%s\n", line)
		}
	}
	if d.Hint != "" {
		hint := Relative(d.Hint, dir)
		fmt.Fprintf(&b, "\thint: %s\n", strings.ReplaceAll(hint, "\n", "\n\t      "))
	}
	return b.String()
}

// Relative makes the paths that a text mentions relative to dir, as Print does, where that makes them shorter: those below
// dir, and those not far above. All have slashes. Dir itself and the folders above it keep their names.
func Relative(text, dir string) string {
	folders := above(dir)
	if len(folders) == 0 {
		return text
	}
	top := folders[len(folders)-1].path
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, top)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		text = top + rest
		f := folders[slices.IndexFunc(folders, func(f folder) bool { return strings.HasPrefix(text, f.path) })]
		text = strings.TrimPrefix(text, f.path)
		last, _ := utf8.DecodeLastRuneInString(before)
		inMiddle := before != "" && inPath(last)
		itself := slices.ContainsFunc(folders, func(g folder) bool {
			name, deeper := strings.CutPrefix(strings.TrimSuffix(g.path, "/"), f.path)
			after, named := strings.CutPrefix(text, name)
			next, _ := utf8.DecodeRuneInString(after)
			return deeper && named && (after == "" || !inPath(next))
		})
		if inMiddle || itself {
			b.WriteString(f.path)
		} else {
			b.WriteString(f.relative)
		}
	}
}

// A folder is one on the way up, with a slash at its end.
type folder struct{ path, relative string }

// above are dir and the folders above it, as far as the way there is shorter than their names.
func above(dir string) []folder {
	var out []folder
	for up := ""; ; up += "../" {
		path := strings.TrimSuffix(filepath.ToSlash(dir), "/") + "/"
		if len(up) >= len(path) || filepath.Dir(dir) == dir {
			return out
		}
		out = append(out, folder{path, up})
		dir = filepath.Dir(dir)
	}
}

// inPath says that a path may go on with r, or that it began before it.
func inPath(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/\\.-_~+@%", r)
}
