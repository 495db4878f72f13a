package directive

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// torn reports a list with spaces at its commas, whose rest would be taken for words of their own: it takes them along.
func (p *argParser) torn(arg *argument, a Arg) bool {
	if arg.form != keys && arg.form != files {
		return false
	}
	whole := a.Value
	for {
		rest := strings.TrimLeftFunc(p.text[p.next:], unicode.IsSpace)
		word, _, _ := strings.Cut(rest, " ")
		if word == "" || strings.ContainsAny(word, "=\t") || strings.HasPrefix(word, "/") ||
			!strings.HasSuffix(whole, ",") && !strings.HasPrefix(word, ",") {
			break
		}
		p.next = len(p.text) - len(rest) + len(word)
		whole += word
	}
	switch right := strings.TrimRight(whole, ",;"); {
	case whole != a.Value:
		p.diags.Add(a.Pos, codeArgForm, "write "+a.Name+"="+right, "there are spaces in %s's list", a.Name)
	case whole != right:
		p.diags.Add(moved(a.ValuePos, len(a.Value)-1), codeArgForm, "write "+a.Name+"="+right, "%s's value ends with %q", a.Name, whole[len(whole)-1:])
	default:
		return false
	}
	return true
}

var (
	number = regexp.MustCompile(`^[0-9]+$`)
	unit   = regexp.MustCompile(`^(?i:h|hrs?|hours?|d|days?|m|mins?|minutes?|w|wks?|weeks?)$`)
)

// withUnit is a window together with its unit, where that is the next word; it takes that along.
func (p *argParser) withUnit(value string) string {
	rest := strings.TrimLeftFunc(p.text[p.next:], unicode.IsSpace)
	word, _, _ := strings.Cut(rest, " ")
	if !number.MatchString(value) || !unit.MatchString(word) {
		return value
	}
	p.next = len(p.text) - len(rest) + len(word)
	return value + " " + word
}

// meantWindow says that a value that has no name, or that of no argument, is a window where none is given yet, and how to
// write it.
func (p *argParser) meantWindow(value string) (mend string, ok bool) {
	if _, given := p.seen["window"]; given || p.known("window") == nil || strings.Contains(p.text, " window=") {
		return "", false
	}
	right := value
	if _, _, err := ParseWindow(value); err != nil {
		if right = plainWindow(value); right == "" {
			return "", false
		}
	}
	p.seen["window"] = p.at
	return "write window=" + right, true
}

var spelledWindow = regexp.MustCompile(`^(?i)([0-9]+)\s*([a-z]+)$`)

// plainWindow is a window whose unit is a word, or apart from its number, as it should be written: "24h" for "24 hours".
// It is empty where the value is none.
func plainWindow(value string) string {
	m := spelledWindow.FindStringSubmatch(value)
	if m == nil || !unit.MatchString(m[2]) {
		return ""
	}
	right := m[1] + strings.ToLower(m[2][:1])
	if weeks, err := strconv.Atoi(m[1]); err == nil && strings.HasSuffix(right, "w") {
		right = strconv.Itoa(7*weeks) + "d"
	}
	if _, _, err := ParseWindow(right); err != nil {
		return ""
	}
	return right
}
