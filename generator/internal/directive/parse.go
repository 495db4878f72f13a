package directive

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/diag"
)

// parse checks one comment that is ours. It returns nil where something is wrong, which is then diagnosed; what kind
// of directive it was meant to be is returned all the same, where that is clear.
func parse(s spelling, pos token.Position, diags *diag.List) (*Directive, *verb) {
	v := find(verbs, verbName, strings.ToLower(s.verb))
	if !s.exact {
		diags.Add(pos, codeSpelling, spellingHint(s, v), "this directive %s", s.why)
		return nil, v
	}
	if v == nil {
		unknownVerb(s, pos, diags)
		return nil, nil
	}
	if s.args != "" && !startsWithSpace(s.args) {
		diags.Add(pos, codeSpelling, fmt.Sprintf("write %s", v.example), "//idem:%s is followed by %q instead of a space", v.name, firstRune(s.args))
		return nil, v
	}
	p := argParser{verb: v, text: s.args, at: moved(pos, s.argsAt), diags: diags, seen: map[string]token.Position{}}
	before := diags.Len()
	var change *Change
	if v.change != noChange {
		change = p.change()
	}
	p.parse()
	if v.change == noChange || change != nil { // else what is missing may be in what has been diagnosed
		p.missing(pos)
	}
	if diags.Len() > before {
		return nil, v
	}
	return &Directive{Verb: v.name, Pos: pos, Change: change, Args: p.args}, v
}

func spellingHint(s spelling, v *verb) string {
	var right string
	switch near := Nearest(s.verb, names(verbs, verbName)); {
	case v != nil:
		right = v.name
	case near != "":
		right = near
	case slices.Contains(planned.verbs, strings.ToLower(s.verb)):
		right = strings.ToLower(s.verb)
	default:
		return "comments that begin with idem: are directives, as in " + find(verbs, verbName, "handler").example +
			"; if this is prose, let the line begin with another word"
	}
	return "write //idem:" + right + strings.TrimRight(" "+strings.TrimSpace(s.args), " ")
}

func unknownVerb(s spelling, pos token.Position, diags *diag.List) {
	switch {
	case s.verb == "":
		diags.Add(pos, codeUnknownVerb, didYouMean("", names(verbs, verbName)), "//idem: names no directive")
	case slices.Contains(planned.verbs, strings.ToLower(s.verb)):
		diags.Add(pos, codePlanned, "remove it; this release has "+list(names(verbs, verbName), "//idem:"), "//idem:%s is not supported yet", s.verb)
	default:
		diags.Add(pos, codeUnknownVerb, didYouMean(s.verb, names(verbs, verbName)), "unknown directive //idem:%s", s.verb)
	}
}

func list(words []string, prefix string) string {
	return prefix + strings.Join(words, ", "+prefix)
}

// moved is a position some bytes to the right on the same line.
func moved(pos token.Position, bytes int) token.Position {
	pos.Column += bytes
	pos.Offset += bytes
	return pos
}

func firstRune(s string) string {
	for _, r := range s {
		return string(r)
	}
	return ""
}
