package analyze

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/directive"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// keys finds the payload, and where key, fingerprint and attempt come from.
func (h *handler) keys() {
	values := h.values()
	if len(values) == 0 {
		h.fail(h.Pos, codeNoPayload, "take the message as a parameter: a struct with its business ID in a field tagged idem:\"key\"",
			"%s has no payload: there is nothing to make a key from", h.Source)
		return
	}
	var all []tagged
	byParam := map[int]int{} // how many key tags each parameter has
	for _, i := range values {
		for _, t := range h.s.a.walk(newCursor(h.s.Types, i, h.Params[i].Type), nil) {
			all = append(all, t)
			h.tagged = append(h.tagged, t.field)
			if t.tag.Role == directive.Key {
				byParam[i]++
			}
		}
	}
	arg, byPath := h.placed.Arg("key")
	switch {
	case byPath && len(byParam) > 0:
		h.keyAndTags(arg, all)
		all = slices.DeleteFunc(all, func(t tagged) bool { return t.tag.Role == directive.Key })
	case byPath:
		h.keyPaths(arg)
	case len(byParam) > 1:
		h.twoPayloads(values, all)
	case len(byParam) == 0:
		h.noKey(values)
	}
	for _, t := range all {
		h.addTagged(t)
	}
	if len(values) == 1 {
		h.Payload = values[0]
	} else {
		h.setFields()
	}
	h.setShape()
}

// values are the indices of the parameters that are neither context nor transaction.
func (h *handler) values() []int {
	var out []int
	for i, p := range h.Params {
		if p.Role == model.Value {
			out = append(out, i)
		}
	}
	return out
}

// addTagged adds the part that a tag asks for.
func (h *handler) addTagged(t tagged) {
	pos := h.tagPos(t)
	owner := h.s.typeText(deref(t.root))
	what := owner + "." + t.path()
	if t.blocked {
		h.fail(pos, codeUnreachable, "export the field, or give its type an exported getter and name that with key=",
			"%s is tagged, but package %s cannot reach it", what, h.s.Name)
		return
	}
	if t.tag.Role == directive.Key && !t.tag.Force && namesAttempt(t.name) {
		h.attemptKey(pos, what, `remove the tag, and key on the business ID; if it really is one, write idem:"key,force"`)
		return
	}
	e := encoder{s: h.s, role: t.tag.Role, tag: t.tag}
	part, no := e.encode(t.cursor)
	if t.tag.Role == directive.Attempt {
		h.setAttempt(t, what, part, no)
		return
	}
	if no != nil {
		h.fail(pos, no.code, no.mend, "%s %s", what, no.why)
		return
	}
	part.Pos, part.Label, part.AllowZero = pos, t.label(), t.tag.AllowZero
	if t.tag.Role == directive.Key {
		h.Key = append(h.Key, part)
	} else {
		part.AllowZero = true
		h.Fingerprint = append(h.Fingerprint, part)
	}
}

// tagPos is where a tag stands, or where the handler takes its struct if that is of another module.
func (h *handler) tagPos(t tagged) token.Position {
	if t.local {
		return t.tag.Pos
	}
	return h.paramPos(t.param)
}

// setAttempt takes the delivery attempt, which must be an integer.
func (h *handler) setAttempt(t tagged, what string, part model.Part, no *refusal) {
	pos := h.tagPos(t)
	switch {
	case no != nil || part.Encode != model.Int && part.Encode != model.Uint:
		h.fail(pos, codeAttemptType, "use an integer field, or remove the tag: it is only for metrics",
			"%s is %s, and an attempt is a number", what, h.s.typeText(t.typ))
	case h.Attempt != nil:
		h.fail(pos, codeTwoAttempts, "tag one of the two", "%s has two attempts: %s at %s, and %s",
			h.Source, h.Attempt.Label, at(h.Attempt.Pos), t.label())
	default:
		part.Pos, part.Label, part.AllowZero = pos, t.label(), true
		h.Attempt = &part
	}
}

// attemptKey refuses a key that differs from delivery to delivery.
func (h *handler) attemptKey(pos token.Position, what, mend string) {
	h.fail(pos, codeAttemptKey, mend, "%s is of one delivery, not of the business: with it in the key no repeat is recognised", what)
}

// keyAndTags refuses two ways of saying what the key is.
func (h *handler) keyAndTags(arg directive.Arg, all []tagged) {
	for _, t := range all {
		if t.tag.Role == directive.Key {
			h.fail(arg.Pos, codeKeyAndTags, "remove key=, which is for payloads that cannot be tagged, or the tags",
				"%s says its key twice: key= here, and the tag on %s.%s at %s",
				h.Source, h.s.typeText(deref(t.root)), t.path(), at(h.tagPos(t)))
			return
		}
	}
}

// twoPayloads refuses to choose between parameters that both have key tags.
func (h *handler) twoPayloads(values []int, all []tagged) {
	var texts, paths []string
	first, second := -1, 0
	for _, i := range values {
		keyed := false
		for _, t := range all {
			if t.param == i && t.tag.Role == directive.Key {
				paths = append(paths, h.Params[i].Name+"."+t.label())
				keyed = true
			}
		}
		if keyed {
			texts = append(texts, h.paramText(i))
			if first < 0 {
				first = i
			}
			second = i
		}
	}
	mend := ", and name the parts: key=" + strings.Join(paths, ",")
	if types.Identical(deref(h.Params[first].Type), deref(h.Params[second].Type)) {
		mend = "remove the tags" + mend
	} else {
		mend = "leave the tags on one of them; or remove them" + mend
	}
	h.fail(h.paramPos(second), codeTwoPayloads, mend,
		"%s has %d payloads: %s have fields tagged idem:\"key\"", h.Source, len(texts), strings.Join(texts, " and "))
}

// decodeFirst is the mend for a handler of a broker's message.
const decodeFirst = "decode first: take the decoded struct as the payload, and call the wrapper where the message is received"

// noKey says what is missing: a broker's message and a batch are their own cases.
func (h *handler) noKey(values []int) {
	for _, i := range values {
		if broker, body := brokerOf(h.Params[i].Type); broker != "" && body == "" {
			h.fail(h.paramPos(i), codeBroker, decodeFirst,
				"%s takes %s, a message of %s, whose fields say nothing about the business", h.Source, h.paramText(i), broker)
			return
		}
	}
	for _, i := range values {
		if slice, ok := h.Params[i].Type.Underlying().(*types.Slice); ok && !isBytes(slice.Elem()) &&
			(len(values) == 1 || h.s.a.carries(slice.Elem())) {
			h.fail(h.paramPos(i), codeBatch, "take one item, and call the wrapper for each",
				"%s takes a slice, %s; batch handlers are not supported yet", h.Source, h.paramText(i))
			return
		}
	}
	if h.s.faulty { // the key may be in what has been diagnosed
		return
	}
	promising := slices.DeleteFunc(slices.Clone(values), func(i int) bool { return len(h.candidates(i)) == 0 })
	if len(promising) == 0 {
		promising = values
	}
	pos := h.Pos
	if len(promising) == 1 {
		pos = h.paramPos(promising[0])
	}
	h.fail(pos, codeNoKey, h.noKeyMend(promising), "%s has no key: nothing in %s is tagged idem:\"key\", and there is no key=",
		h.Source, h.valueTexts(promising))
}

func (h *handler) valueTexts(values []int) string {
	var out []string
	for _, i := range values {
		out = append(out, h.paramText(i))
	}
	return strings.Join(out, " or ")
}

// maxCandidates bounds the list of fields in a mend.
const maxCandidates = 12

// noKeyMend names the fields that could be a key.
func (h *handler) noKeyMend(values []int) string {
	var fields []string
	for _, i := range values {
		fields = append(fields, h.candidates(i)...)
	}
	first := values[0]
	switch {
	case len(fields) == 0 && len(values) == 1 && isByteSlice(h.Params[first].Type):
		return "decode first: take the decoded struct as the payload"
	case len(fields) == 0:
		return "take a payload that has the business ID in a field, and tag that idem:\"key\""
	}
	list := strings.Join(fields, ", ")
	if len(fields) > maxCandidates {
		list = strings.Join(fields[:maxCandidates], ", ") + ", …"
	}
	if len(values) == 1 && h.taggable(first) {
		return fmt.Sprintf("add the tag idem:\"key\" to what makes two messages the same; fields of %s that can be tagged: %s",
			h.s.typeText(deref(h.Params[first].Type)), list)
	}
	mend := "name what makes two messages the same, as in key=" + fields[0]
	if len(fields) > 1 {
		mend += "; possible parts: " + list
	}
	return mend
}

// taggable says that the user can tag the fields of a parameter: its struct is in this module, and no generator's.
func (h *handler) taggable(i int) bool {
	t := deref(h.Params[i].Type)
	if structOf(t) == nil || hasProto(t) {
		return false
	}
	n, ok := types.Unalias(t).(*types.Named)
	return !ok || n.Obj().Pkg() == nil || n.Obj().Pkg().Path() == h.s.Path || h.s.inModule(n.Obj().Pkg().Path())
}

// inModule says that a package path is in the scan's module.
func (s *scan) inModule(path string) bool { return inModule(s.Module, path) }

func inModule(m model.Module, path string) bool {
	return m.Path != "" && (path == m.Path || strings.HasPrefix(path, m.Path+"/"))
}

// candidates are the paths below a parameter that could be in a key as they are.
func (h *handler) candidates(i int) []string {
	c := newCursor(h.s.Types, i, h.Params[i].Type)
	name := h.sig.Params().At(i).Name()
	switch {
	case name != "" && name != "_" && h.fits(c, name):
		return []string{name}
	case isNamed(deref(c.typ), "log/slog", "Logger"):
		return nil
	default:
		return h.fieldCandidates(c, 0)
	}
}

// fieldCandidates are the fields below c that could be in a key: its own, and those of structs of this module in it.
func (h *handler) fieldCandidates(c cursor, depth int) []string {
	st := structOf(c.typ)
	if st == nil || depth > 2 {
		return nil
	}
	var out []string
	for v := range st.Fields() {
		inner := c.field(v)
		if inner.blocked {
			continue
		}
		if h.fits(inner, v.Name()) {
			out = append(out, inner.label())
		} else if n, ok := types.Unalias(deref(v.Type())).(*types.Named); !ok || n.Obj().Pkg() != nil && h.s.inModule(n.Obj().Pkg().Path()) {
			out = append(out, h.fieldCandidates(inner, depth+1)...)
		}
	}
	return out
}

// fits says that a value could be in a key as it is.
func (h *handler) fits(c cursor, name string) bool {
	e := encoder{s: h.s, role: directive.Key, byPath: true}
	_, no := e.encode(c)
	return no == nil && !isByteSlice(c.typ) && !namesAttempt(name)
}

// setShape writes the shape of the key.
func (h *handler) setShape() {
	var parts []string
	for _, p := range h.Key {
		parts = append(parts, p.Label+":"+string(p.Encode))
	}
	h.Shape = strings.Join(parts, "/")
}

// deref is t, or what it points to.
func deref(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

func isByteSlice(t types.Type) bool {
	s, ok := t.Underlying().(*types.Slice)
	return ok && isBytes(s.Elem())
}
