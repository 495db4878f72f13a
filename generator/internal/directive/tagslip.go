package directive

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// MentionsRole says that a struct tag may have one of our roles for a value, under whatever name.
func MentionsRole(tag string) bool {
	return slices.ContainsFunc(roles, func(r role) bool { return strings.Contains(tag, r.name) })
}

// anyPart finds what looks like a role under a name in a piece of a tag that Go cannot read.
var anyPart = regexp.MustCompile(`([\pL_]+)\s*[:=]\s*"?([\w,]+)`)

// nearMiss reports a part that was meant to be ours and has another name: Go and everybody else would pass over it, and
// the field would be missing from the key. rest is the offset of what Go cannot read.
func (t tagText) nearMiss(all []pair, rest int) {
	for _, p := range all {
		value, err := strconv.Unquote(p.quoted)
		if err == nil && nearOurName(p.name) && isOurValue(value) {
			t.diags.Add(t.at(p.at), codeTagForm, "did you mean idem:"+strconv.Quote(value)+"?", "the tag is called %s, and not idem", p.name)
			return
		}
	}
	for _, m := range anyPart.FindAllStringSubmatchIndex(t.value[rest:], -1) {
		name, value := t.value[rest+m[2]:rest+m[3]], t.value[rest+m[4]:rest+m[5]]
		if nearOurName(name) && isOurValue(value) {
			t.diags.Add(t.at(rest+m[2]), codeTagForm, "did you mean idem:"+strconv.Quote(value)+"?",
				"the tag is called %s, and not idem; and the struct tag is malformed before or at it", name)
			return
		}
	}
}

// nearOurName says that a tag's name was probably meant to be idem. Of two slips in four letters, the first two must be
// right, or every short name would be near; item is a word of its own.
func nearOurName(name string) bool {
	name = strings.ToLower(name)
	if name == "item" {
		return false
	}
	d := distance(name, "idem")
	return strings.HasPrefix(name, "idem") || d == 1 || d == 2 && len(name) > 3 && strings.HasPrefix(name, "id")
}

// isOurValue says that a tag's value is a role, with or without options.
func isOurValue(value string) bool {
	words := strings.Split(value, ",")
	if find(roles, roleName, words[0]) == nil {
		return false
	}
	return !slices.ContainsFunc(words[1:], func(w string) bool { return find(tagOptions, optionName, w) == nil })
}
