package directive

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A spelling is a comment that is ours, as it was written.
type spelling struct {
	exact bool   // "//idem:verb", as it must be
	why   string // what is wrong where it is not exact
	line  int    // of a block comment, from 0
	start int    // where it begins in that line: the "//", or "idem" in a block comment
	verb  string // as written; may be empty
	args  string // what follows the verb
	// argsAt is the offset of args from start, for exact ones.
	argsAt int
}

const prefix = "idem:"

// recognise says whether a comment is ours, by the rule in the package comment. text is the comment as go/scanner
// delivers it, with its "//" or "/*".
func recognise(text string) (spelling, bool) {
	if body, ok := strings.CutPrefix(text, "/*"); ok {
		return recogniseBlock(strings.TrimSuffix(body, "*/"))
	}
	body := strings.TrimPrefix(text, "//")
	if rest, ok := strings.CutPrefix(body, prefix); ok && !startsWithSpace(rest) {
		s := spelling{exact: true}
		s.verb, s.args = cutVerb(rest)
		s.argsAt = len(text) - len(s.args)
		if lower := strings.ToLower(s.verb); lower != s.verb && find(verbs, verbName, lower) != nil {
			s.exact, s.why = false, "is not in lower case"
		}
		return s, true
	}
	if s, ok := recogniseSlip(body); ok {
		return s, true
	}
	return recogniseMangled(body)
}

// mangled is idem: with something else in the colon's place, with a slash too many before it, or with the tool's name in
// its own: followed by a verb and at most an argument, which prose is not.
var mangled = regexp.MustCompile(`^(/idem:|(?i:idem)[ \t.,;/_=-]+|(?i:idemgen)[ \t.,;:/_=-]+)(\pL+)([ \t]+\w+=.*)?$`)

// recogniseMangled recognises one of our verbs behind what only looks like our prefix.
func recogniseMangled(body string) (spelling, bool) {
	m := mangled.FindStringSubmatch(strings.TrimLeft(body, " \t"))
	if m == nil || m[3] == "" && startsWithSpace(body) {
		return spelling{}, false
	}
	if v := strings.ToLower(m[2]); find(verbs, verbName, v) == nil && !slices.Contains(planned.verbs, v) {
		return spelling{}, false
	}
	return spelling{why: "begins with //" + strings.TrimRight(m[1], " \t") + " and not with //idem:", verb: m[2], args: m[3]}, true
}

// recogniseBlock looks for one of ours at the start of a line of a block comment: there none is right.
func recogniseBlock(body string) (spelling, bool) {
	for i, line := range strings.Split(body, "\n") {
		trimmed := strings.TrimLeft(line, " \t*")
		s, ok := recogniseSlip(trimmed)
		if !ok {
			if rest, exact := strings.CutPrefix(trimmed, prefix); !exact || startsWithSpace(rest) || rest == "" {
				continue
			}
		}
		s.why, s.line, s.start = "is in a block comment", i, len(line)-len(trimmed)
		if i == 0 {
			s.start = 0 // the position of the comment itself
		}
		return s, true
	}
	return spelling{}, false
}

// recogniseSlip recognises what was meant as a directive and is not written as one.
func recogniseSlip(body string) (spelling, bool) {
	trimmed := strings.TrimLeft(body, " \t+@\u00a0")
	word, rest, ok := strings.Cut(trimmed, ":")
	bare := strings.TrimRight(word, " \t")
	if !ok || !strings.EqualFold(bare, "idem") {
		return spelling{}, false
	}
	var s spelling
	s.verb, s.args = cutVerb(strings.TrimLeft(rest, " \t\u00a0"))
	letter, _ := utf8.DecodeRuneInString(rest)
	switch {
	case !unicode.IsLetter(letter) && !meant(s, len(trimmed) == len(body)):
		return spelling{}, false
	case len(trimmed) != len(body):
		s.why = "has " + described(body[:len(body)-len(trimmed)]) + " before idem:"
	case bare != word:
		s.why = "has a space before the colon"
	case bare != "idem":
		s.why = "is not in lower case"
	case startsWithSpace(rest):
		s.why = "has a space after the colon"
	}
	return s, true
}

// meant tells a slip such as "// idem: handler window=24h" from prose such as "// idem: handler of all orders". Where
// the comment begins without a space, as directives do and prose does not, one of our verbs is enough.
func meant(s spelling, tight bool) bool {
	if v := strings.ToLower(s.verb); find(verbs, verbName, v) == nil && !slices.Contains(planned.verbs, v) {
		return false
	}
	fields := strings.Fields(s.args)
	return tight || len(fields) == 0 || strings.Contains(fields[0], "=") || len(fields) > 1 && strings.HasPrefix(fields[1], "=")
}

func described(between string) string {
	switch strings.TrimLeft(between, " \t\u00a0") {
	case "":
		return "a space"
	default:
		return strings.TrimSpace(between)
	}
}

// cutVerb cuts the verb from what follows it: a verb is letters, digits, dashes and underscores.
func cutVerb(s string) (name, rest string) {
	end := strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
	})
	if end < 0 {
		return s, ""
	}
	return s[:end], s[end:]
}

func startsWithSpace(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && unicode.IsSpace(r)
}
