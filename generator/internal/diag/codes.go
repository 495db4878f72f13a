package diag

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Meaning says in one line what a code stands for: the text of docs/diagnostics.md.
type Meaning struct {
	Code Code
	Text string
}

// A stage is one part of the pipeline with the range of codes that is its own.
type stage struct {
	Title       string
	First, Last int
	Meanings    []Meaning
}

// stages is every code there is, in order. A code that was once released is never removed and never means another
// thing: people search for it.
var stages = []stage{
	{"Directives and tags", 1, 99, directiveMeanings},
	{"Loading packages", 100, 199, loadMeanings},
	{"Handlers, payloads, keys and names", 200, 299, analyzeMeanings},
	{"Transitions and states", 300, 399, transitionMeanings},
	{"The store and its SQL", 400, 499, storeMeanings},
	{"Writing files", 500, 599, outputMeanings},
}

// Meanings returns every code with its meaning, in order.
func Meanings() []Meaning {
	var all []Meaning
	for _, s := range stages {
		all = append(all, s.Meanings...)
	}
	return all
}

// Explain returns the meaning of a code, and false where there is no such code.
func Explain(c Code) (string, bool) {
	all := Meanings()
	i := slices.IndexFunc(all, func(m Meaning) bool { return m.Code == c })
	if i < 0 {
		return "", false
	}
	return all[i].Text, true
}

// Help writes the text of `idemgen help diagnostics`.
func Help(w io.Writer) error {
	var b strings.Builder
	for i, s := range stages {
		if len(s.Meanings) == 0 {
			continue
		}
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n\n", s.Title)
		for _, m := range s.Meanings {
			fmt.Fprintf(&b, "  %s  %s\n", m.Code, m.Text)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes docs/diagnostics.md.
func Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(`# Diagnostics

idemgen reports everything that it finds wrong at once, in source order, and then writes no file. A diagnostic is a
position, a cause, a code that stays the same from release to release, and the mend:

    orders/service.go:12:16: unknown argument "windw" of //idem:handler [IDEM004]
    	hint: did you mean window?

Only errors are reported; there are no warnings. The exit code is 2.
`)
	for _, s := range stages {
		if len(s.Meanings) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n| code | meaning |\n|---|---|\n", s.Title)
		for _, m := range s.Meanings {
			fmt.Fprintf(&b, "| %s | %s |\n", m.Code, strings.ReplaceAll(m.Text, "|", `\|`))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
