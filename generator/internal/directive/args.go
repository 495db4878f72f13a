package directive

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/idemgen/idemgen/generator/internal/diag"
)

// An argParser reads the arguments of one directive from left to right, and goes on after a fault where it can tell
// how.
type argParser struct {
	verb  *verb
	text  string
	at    token.Position // of text
	next  int            // offset in text
	args  []Arg
	diags *diag.List
	// seen are the arguments met, faulty ones too: what was meant is not reported as missing.
	seen     map[string]token.Position
	wordSeen bool // one bare word was reported: the rest is its sentence
	stopped  bool
}

func (p *argParser) parse() {
	for !p.stopped {
		p.skipSpace()
		rest := p.text[p.next:]
		if rest == "" {
			return
		}
		if strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") || strings.HasPrefix(rest, "#") {
			p.diags.Add(p.pos(p.next), codeTrailing, "put the comment on a line of its own",
				"//idem:%s cannot be followed by a comment on its line", p.verb.name)
			return
		}
		p.one()
	}
}

// one reads one argument.
func (p *argParser) one() {
	start := p.next
	name := p.upTo(func(r rune) bool { return r == '=' || unicode.IsSpace(r) })
	if !strings.HasPrefix(p.text[p.next:], "=") {
		p.bare(name, start)
		return
	}
	p.next++
	valueAt := p.next
	value, ok := p.value(name, start)
	if !ok {
		p.see(name, start)
		return
	}
	if value.quoted {
		valueAt++
	}
	p.add(Arg{Name: name, Value: value.text, Pos: p.pos(start), ValuePos: p.pos(valueAt)}, value)
}

// bare handles a word without "=" right behind it.
func (p *argParser) bare(word string, start int) {
	p.see(word, start)
	after := strings.TrimLeftFunc(p.text[p.next:], unicode.IsSpace)
	known := p.known(word)
	colonName, colonValue, colon := strings.Cut(word, ":")
	switch {
	case strings.HasPrefix(after, "="):
		p.next = len(p.text) - len(after) + 1
		p.skipSpace()
		value := p.upTo(unicode.IsSpace)
		p.diags.Add(p.pos(start), codeArgForm, fmt.Sprintf("write %s=%s", word, value), "there are spaces around the = of %s", word)
	case colon && p.known(colonName) != nil:
		p.see(colonName, start)
		if colonValue == "" {
			p.skipSpace()
			colonValue = p.upTo(unicode.IsSpace)
			word = strings.TrimSpace(word + " " + colonValue)
		}
		colonValue = strings.Trim(colonValue, `"`)
		if p.known(colonName).form == window {
			colonValue = p.withUnit(colonValue)
			colonValue = cmp.Or(plainWindow(colonValue), colonValue)
		}
		p.diags.Add(p.pos(start), codeArgForm, fmt.Sprintf("write %s=%s", colonName, cmp.Or(colonValue, p.known(colonName).syntax)), "%q is not an argument", word)
	case known != nil:
		p.diags.Add(p.pos(start), codeArgForm, fmt.Sprintf("write %s=%s", known.name, known.syntax), "%s has no value", word)
	case !p.wordSeen:
		p.wordSeen = true
		if right, ok := p.meantWindow(p.withUnit(word)); ok {
			p.diags.Add(p.pos(start), codeArgForm, right, "%q is not an argument", word)
			return
		}
		p.diags.Add(p.pos(start), codeArgForm, "arguments are written name=value; a comment goes on a line of its own", "%q is not an argument", word)
	}
}

// A rawValue is a value with what its checks must know of how it was written.
type rawValue struct {
	text   string
	quoted bool
	// escaped says that positions within the value are not offsets from its first character.
	escaped bool
}

// value reads what follows the "=". It reports false where the value is faulty, which is then diagnosed.
func (p *argParser) value(name string, start int) (rawValue, bool) {
	rest := p.text[p.next:]
	switch first := firstRune(rest); {
	case rest == "" || startsWithSpace(rest):
		p.empty(name, start)
		return rawValue{}, false
	case first == `"` || first == "`":
		return p.quotedValue(name)
	case strings.Contains("'“”„«»‘’", first):
		p.diags.Add(p.pos(p.next), codeQuote, `quote with "`, "%s does not quote a value", first)
		p.stopped = true
		return rawValue{}, false
	}
	at := p.next
	word := p.upTo(unicode.IsSpace)
	if i := strings.IndexAny(word, "\"`"); i >= 0 {
		p.diags.Add(p.pos(at+i), codeQuote, fmt.Sprintf("quote the whole value, as in %s=%s", name, strconv.Quote("a b")), "there is a quote in the middle of %s's value", name)
		p.stopped = true
		return rawValue{}, false
	}
	return rawValue{text: word}, true
}

// empty reports "name=" with nothing behind it, and takes what was meant as the value along.
func (p *argParser) empty(name string, start int) {
	end := p.next
	p.skipSpace()
	word := p.upTo(unicode.IsSpace)
	if word != "" && !strings.ContainsAny(word, "=#") && !strings.HasPrefix(word, "/") && p.known(name) != nil {
		p.diags.Add(p.pos(start), codeArgForm, fmt.Sprintf("write %s=%s", name, word), "there are spaces around the = of %s", name)
		return
	}
	p.next = end
	p.diags.Add(p.pos(start), codeArgEmpty, p.valueHint(name), "%s has no value", name)
}

// valueHint says what a value of the argument looks like.
func (p *argParser) valueHint(name string) string {
	if a := p.known(name); a != nil {
		return fmt.Sprintf("write %s=%s, or leave it out", a.name, a.syntax)
	}
	return didYouMean(name, names(p.verb.args, argName))
}

// quotedValue reads a Go string.
func (p *argParser) quotedValue(name string) (rawValue, bool) {
	at := p.next
	rest := p.text[at:]
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		message, hint := "the quote of "+name+"'s value does not end", "end it with "+rest[:1]
		if ends(rest) {
			message, hint = name+"'s value is not a Go string", `in quotes, \ begins an escape: write \\ for a backslash`
		}
		p.diags.Add(p.pos(at), codeQuote, hint, "%s", message)
		p.stopped = true
		return rawValue{}, false
	}
	text, err := strconv.Unquote(quoted)
	p.next += len(quoted)
	after := p.text[p.next:]
	if err != nil || after != "" && !startsWithSpace(after) {
		p.diags.Add(p.pos(p.next), codeQuote, "quote the whole value, and separate arguments by spaces", "%q follows %s's closing quote", firstRune(after), name)
		p.upTo(unicode.IsSpace)
		return rawValue{}, false
	}
	return rawValue{text: text, quoted: true, escaped: len(text) != len(quoted)-2}, true
}

// ends says whether the quote that begins s is closed somewhere.
func ends(s string) bool {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] == '"':
			i++
		case s[i] == s[0]:
			return true
		}
	}
	return false
}

// add checks a well-formed argument against the registry and takes it.
func (p *argParser) add(a Arg, v rawValue) {
	arg := p.known(a.Name)
	if arg == nil {
		p.unknown(a)
		return
	}
	if first, ok := p.seen[a.Name]; ok {
		p.diags.Add(a.Pos, codeArgTwice, "remove one of the two", "%s is given twice; first at column %d", a.Name, first.Column)
		return
	}
	p.seen[a.Name] = a.Pos
	if strings.TrimSpace(a.Value) == "" {
		p.diags.Add(a.Pos, codeArgEmpty, p.valueHint(a.Name), "%s has no value", a.Name)
		return
	}
	if !v.quoted && p.torn(arg, a) {
		return
	}
	if !v.quoted && strings.ContainsAny(a.Value[len(a.Value)-1:], ",;") {
		hint := "arguments are separated by spaces: write " + a.Name + "=" + strings.TrimRight(a.Value, ",;")
		p.diags.Add(moved(a.ValuePos, len(a.Value)-1), codeArgForm, hint, "%s's value ends with %q", a.Name, a.Value[len(a.Value)-1:])
		return
	}
	if !v.quoted && arg.form == window {
		a.Value = p.withUnit(a.Value)
	}
	if p.check(arg, a, v) {
		p.args = append(p.args, a)
	}
}

func (p *argParser) unknown(a Arg) {
	p.see(a.Name, a.Pos.Column-p.at.Column)
	switch other := ownerOf(a.Name, p.verb); {
	case slices.Contains(planned.args[p.verb.name], strings.ToLower(a.Name)):
		p.diags.Add(a.Pos, codePlanned, "remove it", "argument %s of //idem:%s is not supported yet", a.Name, p.verb.name)
	case other != nil:
		p.diags.Add(a.Pos, codeUnknownArg, fmt.Sprintf("%s= belongs to //idem:%s", a.Name, other.name), "unknown argument %q of //idem:%s", a.Name, p.verb.name)
	case a.Name == "":
		p.diags.Add(a.Pos, codeArgForm, "arguments are written name=value", "there is no name before the =")
	default:
		hint := didYouMean(a.Name, names(p.verb.args, argName))
		if right, ok := p.meantWindow(a.Value); ok && Nearest(a.Name, names(p.verb.args, argName)) == "" {
			hint = right
		}
		p.diags.Add(a.Pos, codeUnknownArg, hint, "unknown argument %q of //idem:%s", a.Name, p.verb.name)
	}
}

// ownerOf returns the verb other than v that has the argument.
func ownerOf(name string, v *verb) *verb {
	for i := range verbs {
		if &verbs[i] != v && find(verbs[i].args, argName, name) != nil {
			return &verbs[i]
		}
	}
	return nil
}

// see notes that an argument was meant, however faultily it is written.
func (p *argParser) see(word string, offset int) {
	name := word
	if p.known(name) == nil {
		name = Nearest(word, names(p.verb.args, argName))
	}
	if _, ok := p.seen[name]; !ok && name != "" {
		p.seen[name] = p.pos(offset)
	}
}

// missing reports required arguments that were not meant at all.
func (p *argParser) missing(pos token.Position) {
	for _, a := range p.verb.args {
		if _, ok := p.seen[a.name]; a.required && !ok {
			p.diags.Add(pos, codeArgMissing, a.mend, "//idem:%s has no %s", p.verb.name, a.name)
		}
	}
}

func (p *argParser) known(name string) *argument { return find(p.verb.args, argName, name) }

func (p *argParser) pos(offset int) token.Position { return moved(p.at, offset) }

func (p *argParser) skipSpace() {
	p.next = len(p.text) - len(strings.TrimLeftFunc(p.text[p.next:], unicode.IsSpace))
}

// upTo reads up to the first rune that end holds for.
func (p *argParser) upTo(end func(rune) bool) string {
	rest := p.text[p.next:]
	if i := strings.IndexFunc(rest, end); i >= 0 {
		rest = rest[:i]
	}
	p.next += len(rest)
	return rest
}
