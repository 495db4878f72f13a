package directive

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/diag"
)

// A TagRole says what a tagged field is for.
type TagRole int

// The roles.
const (
	Key         TagRole = iota // part of the business key
	Fingerprint                // compared on a repeat
	Attempt                    // the delivery attempt, for metrics
)

// String returns the role as a tag names it.
func (r TagRole) String() string {
	for _, known := range roles {
		if known.role == r {
			return known.name
		}
	}
	return fmt.Sprintf("TagRole(%d)", int(r))
}

// A Tag is the idem part of a struct tag.
type Tag struct {
	Role      TagRole
	AllowZero bool
	UTC       bool
	Force     bool
	Pos       token.Position // of the role in the source; where that cannot be told, of the tag or the field
}

// ParseTag parses the idem part of a field's tag. It reports false where lit is nil, has no such part, or has a faulty
// one, which is then diagnosed.
func ParseTag(lit *ast.BasicLit, fset *token.FileSet, diags *diag.List) (Tag, bool) {
	if lit == nil || lit.Kind != token.STRING {
		return Tag{}, false
	}
	value, err := strconv.Unquote(lit.Value)
	if err != nil {
		return Tag{}, false // the parser has complained
	}
	t := tagText{value: value, pos: fset.Position(lit.Pos()), diags: diags}
	if len(value) == len(lit.Value)-2 && !strings.Contains(value, "\n") {
		t.exact = true // nothing was escaped: offsets in the value are offsets in the source
		t.pos = moved(t.pos, 1)
	}
	return t.parse()
}

// ParseTagValue is ParseTag for a field of which only the tag's value is known, such as one from export data.
// Everything is reported at pos.
func ParseTagValue(tag string, pos token.Position, diags *diag.List) (Tag, bool) {
	t := tagText{value: tag, pos: pos, diags: diags}
	return t.parse()
}

// A tagText is a struct tag's value under examination.
type tagText struct {
	value string
	pos   token.Position
	exact bool // pos is the value's first character
	diags *diag.List
}

func (t tagText) at(offset int) token.Position {
	if t.exact {
		return moved(t.pos, offset)
	}
	return t.pos
}

// A pair is one name:"value" of a struct tag.
type pair struct {
	name   string
	quoted string
	at     int // offset of the name
}

// pairs reads a tag by the convention of reflect.StructTag, up to where it is malformed: the offset of the rest.
func pairs(tag string) (all []pair, rest int) {
	i := 0
	for {
		for i < len(tag) && tag[i] == ' ' {
			i++
		}
		start := i
		for i < len(tag) && tag[i] > ' ' && tag[i] != ':' && tag[i] != '"' && tag[i] != 0x7f {
			i++
		}
		if i == start || i+1 >= len(tag) || tag[i] != ':' || tag[i+1] != '"' {
			return all, start
		}
		quoted, err := strconv.QuotedPrefix(tag[i+1:])
		if err != nil {
			return all, start
		}
		all = append(all, pair{name: tag[start:i], quoted: quoted, at: start})
		i += 1 + len(quoted)
	}
}

// ourName finds what was meant as our part in a piece of a tag that Go cannot read.
var ourName = regexp.MustCompile(`(?i)(^|[^\w.-])(idem)\s*[:=]`)

const tagHint = "write `idem:\"key\"`: name, colon, value in double quotes, pairs separated by one space"

func (t tagText) parse() (Tag, bool) {
	all, rest := pairs(t.value)
	var ours []pair
	for _, p := range all {
		switch {
		case p.name == "idem":
			ours = append(ours, p)
		case ourName.MatchString(p.name + ":"):
			t.diags.Add(t.at(p.at), codeTagForm, tagHint, "tag %s does not begin with exactly idem", p.name)
			return Tag{}, false
		}
	}
	if m := ourName.FindStringSubmatchIndex(t.value[rest:]); m != nil {
		t.diags.Add(t.at(rest+m[4]), codeTagForm, tagHint, "the struct tag is malformed before or at idem, and Go would not find it")
		return Tag{}, false
	}
	switch len(ours) {
	case 0:
		t.nearMiss(all, rest)
		return Tag{}, false
	case 1:
		return t.ours(ours[0])
	}
	t.diags.Add(t.at(ours[1].at), codeTagConflict, "a field has one role; remove one of the two", "the field has two idem tags")
	return Tag{}, false
}

// ours parses the value of idem:"…".
func (t tagText) ours(p pair) (Tag, bool) {
	value, err := strconv.Unquote(p.quoted)
	if err != nil {
		t.diags.Add(t.at(p.at), codeTagForm, tagHint, "the value of the idem tag is not a Go string")
		return Tag{}, false
	}
	exact := len(value) == len(p.quoted)-2
	valueAt := p.at + len("idem:") + 1
	at := func(offset int) token.Position {
		if !exact {
			offset = 0
		}
		return t.at(valueAt + offset)
	}
	words := strings.Split(value, ",")
	r := find(roles, roleName, words[0])
	if r == nil {
		t.unknownRole(words, at(0))
		return Tag{}, false
	}
	tag := Tag{Role: r.role, Pos: at(0)}
	good := true
	offset := len(words[0]) + 1
	for i, word := range words[1:] {
		switch option := find(tagOptions, optionName, word); {
		case slices.Contains(words[1:i+1], word):
			t.diags.Add(at(offset), codeTagConflict, "remove one of the two", "option %s is given twice", word)
			good = false
		case option == nil || !slices.Contains(r.options, word):
			t.badOption(word, r, at(offset))
			good = false
		default:
			option.set(&tag)
		}
		offset += len(word) + 1
	}
	return tag, good
}

func (t tagText) unknownRole(words []string, pos token.Position) {
	all := names(roles, roleName)
	switch {
	case strings.TrimSpace(words[0]) == "":
		t.diags.Add(pos, codeTagRole, "write one of "+strings.Join(all, ", "), "the idem tag names no role")
	case words[0] == "-":
		t.diags.Add(pos, codeTagRole, "leave the tag out: fields without one take no part", "the idem tag names no role")
	case find(tagOptions, optionName, words[0]) != nil:
		t.diags.Add(pos, codeTagRole, fmt.Sprintf("write `idem:\"key,%s\"`", words[0]), "option %s stands in the role's place", words[0])
	default:
		t.diags.Add(pos, codeTagRole, didYouMean(words[0], all), "unknown role %q in the idem tag", words[0])
	}
}

func (t tagText) badOption(word string, r *role, pos token.Position) {
	hint := "remove it: " + r.name + " takes no options"
	if len(r.options) > 0 {
		hint = didYouMean(word, r.options)
	}
	trimmed := strings.TrimSpace(word)
	other := find(roles, roleName, trimmed)
	switch {
	case trimmed == "":
		t.diags.Add(pos, codeTagOption, "remove the comma that is too many", "there is an empty option in the idem tag")
	case other == r:
		t.diags.Add(pos, codeTagConflict, "remove one of the two", "role %s is given twice", r.name)
	case other != nil && (other.role == Attempt || r.role == Attempt):
		t.diags.Add(pos, codeTagConflict, "a redelivery has another attempt number: take it for metrics or leave it, but not for the "+otherThan(Attempt, r, other),
			"a field cannot be both %s and %s", r.name, other.name)
	case other != nil:
		t.diags.Add(pos, codeTagConflict, "a part of the key is the same in every repeat anyway: leave "+otherThan(Key, r, other)+" out", "a field cannot be both %s and %s", r.name, other.name)
	case trimmed != word && slices.Contains(r.options, trimmed):
		t.diags.Add(pos, codeTagOption, "remove the space: "+trimmed, "unknown option %q in the idem tag", word)
	case trimmed == "allowzero" && r.role == Fingerprint:
		t.diags.Add(pos, codeTagOption, "remove it: a fingerprint may be zero anyway", "%s does not take the option %s", r.name, trimmed)
	case find(tagOptions, optionName, trimmed) != nil:
		t.diags.Add(pos, codeTagOption, hint, "%s does not take the option %s", r.name, trimmed)
	default:
		t.diags.Add(pos, codeTagOption, hint, "unknown option %q in the idem tag", word)
	}
}

// otherThan returns the name of the one of two roles that is not the given one.
func otherThan(not TagRole, a, b *role) string {
	if a.role == not {
		return b.name
	}
	return a.name
}
