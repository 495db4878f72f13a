package analyze

import (
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/directive"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// A keyPath is one element of key=: a chain of fields and getters.
type keyPath struct {
	text     string
	pos      token.Position
	segments []segment
}

// A segment is one name of a path.
type segment struct {
	name string
	call bool
	pos  token.Position
}

// keyPaths takes the key's parts from key=, whose form the parser has checked.
func (h *handler) keyPaths(arg directive.Arg) {
	for _, p := range splitPaths(arg) {
		c, ok := h.resolve(p)
		if !ok {
			continue
		}
		if h.delivered(p, c) {
			continue
		}
		last := p.segments[len(p.segments)-1].name
		if namesAttempt(last) {
			h.attemptKey(p.pos, p.text, "key on the business ID; if it really is one, name a getter or parameter that is called so")
			continue
		}
		e := encoder{s: h.s, role: directive.Key, byPath: true}
		part, no := e.encode(c)
		if no != nil {
			h.fail(p.pos, no.code, no.mend, "%s %s", p.text, no.why)
			continue
		}
		part.Pos, part.Label = p.pos, h.pathLabel(p)
		if h.repeats(part) {
			h.fail(p.pos, codePathTwice, "remove one", "key= names %s twice", p.text)
			continue
		}
		h.Key = append(h.Key, part)
	}
}

// delivered refuses a part that is of a broker's message and not of what it carries.
func (h *handler) delivered(p keyPath, c cursor) bool {
	c = c.deliveredBy(c.typ)
	if c.delivery == nil {
		return false
	}
	broker, body := brokerOf(c.delivery)
	mend, fields := decodeFirst, "fields"
	if body != "" {
		mend, fields = "name a part of what was sent with it: "+body+" has that", "own fields"
	}
	h.fail(p.pos, codeBroker, mend, "%s in %s leads into %s, a message of %s, whose %s say nothing about the business",
		p.text, h.pathArg, h.s.typeText(c.delivery), broker, fields)
	return true
}

// splitPaths splits the value of key= at its commas.
func splitPaths(arg directive.Arg) []keyPath {
	var out []keyPath
	offset := 0
	for text := range strings.SplitSeq(arg.Value, ",") {
		at := offset + len(text) - len(strings.TrimLeft(text, " "))
		offset += len(text) + 1
		p := keyPath{text: strings.TrimSpace(text), pos: shift(arg.ValuePos, at)}
		for name := range strings.SplitSeq(p.text, ".") {
			bare, call := strings.CutSuffix(name, "()")
			p.segments = append(p.segments, segment{bare, call, shift(arg.ValuePos, at)})
			at += len(name) + 1
		}
		out = append(out, p)
	}
	return out
}

// shift moves a position to the right.
func shift(pos token.Position, columns int) token.Position {
	pos.Offset += columns
	pos.Column += columns
	return pos
}

// resolve finds the value that a path names: the first segment is a parameter's name if one fits, else a path in the
// only payload that has it.
func (h *handler) resolve(p keyPath) (cursor, bool) {
	first := p.segments[0]
	for i := range h.Params {
		if first.call || h.sig.Params().At(i).Name() != first.name {
			continue
		}
		if h.Params[i].Role != model.Value {
			h.fail(first.pos, codePathUnknown, "name a part of the payload", "%s in %s is the handler's %s", first.name, h.pathArg, roleText(h.Params[i].Role))
			return cursor{}, false
		}
		return h.follow(newCursor(h.s.Types, i, h.Params[i].Type), p.segments[1:])
	}
	var found []cursor
	for _, i := range h.values() {
		c := newCursor(h.s.Types, i, h.Params[i].Type)
		if _, wrong := h.step(c, first); wrong == nil {
			found = append(found, c)
		}
	}
	values := h.values()
	owner := h.namedType(values, p)
	switch {
	case len(found) == 1:
		return h.follow(found[0], p.segments)
	case len(found) == 0 && owner >= 0:
		rest := strings.SplitN(p.text, ".", 2)[1]
		mend := "paths begin at the payload's fields: write " + rest
		if len(values) > 1 {
			mend = "paths begin at a parameter: write " + h.Params[owner].Name + "." + rest
		}
		h.fail(first.pos, codePathUnknown, mend, "%s in %s is a type", first.name, h.pathArg)
		return cursor{}, false
	case len(found) == 0 && len(values) == 1:
		return h.follow(newCursor(h.s.Types, values[0], h.Params[values[0]].Type), p.segments)
	case len(found) == 0:
		h.fail(first.pos, codePathUnknown, h.didYouMean(first, h.reachable(values)),
			"%s in %s is neither a parameter of %s nor a part of one", first.name, h.pathArg, h.Source)
	default:
		a, b := h.Params[found[0].param].Name, h.Params[found[1].param].Name
		h.fail(first.pos, codePathAmbiguous, "say which: "+h.pathSaid+a+"."+p.text+" or "+h.pathSaid+b+"."+p.text,
			"%s in %s is in %s and in %s", first.name, h.pathArg, h.paramText(found[0].param), h.paramText(found[1].param))
	}
	return cursor{}, false
}

// namedType is the parameter by whose type a path begins; -1 for none.
func (h *handler) namedType(values []int, p keyPath) int {
	for _, i := range values {
		n, ok := types.Unalias(deref(h.Params[i].Type)).(*types.Named)
		if ok && len(p.segments) > 1 && !p.segments[0].call && n.Obj().Name() == p.segments[0].name {
			return i
		}
	}
	return -1
}

func roleText(r model.Role) string {
	if r == model.Context {
		return "context"
	}
	return "transaction"
}

// follow goes along segments from a value.
func (h *handler) follow(c cursor, segments []segment) (cursor, bool) {
	for _, seg := range segments {
		next, wrong := h.step(c, seg)
		if wrong != nil {
			mend := wrong.mend
			if mend == "" {
				mend = h.didYouMean(seg, members(c))
			}
			h.fail(seg.pos, codePathUnknown, mend, "%s in %s %s", seg.name, h.pathArg, wrong.why)
			return c, false
		}
		c = next
	}
	return c, true
}

// A misstep says why a segment leads nowhere; without a mend, what is there is the mend.
type misstep struct{ why, mend string }

// step goes to a field or to a getter's result.
func (h *handler) step(c cursor, seg segment) (cursor, *misstep) {
	obj, index, indirect := types.LookupFieldOrMethod(c.typ, c.addressable, h.s.Types, seg.name)
	in := h.s.typeText(c.typ)
	switch obj := obj.(type) {
	case *types.Var:
		if seg.call {
			return c, &misstep{"is a field of " + in + ", not a method", "write " + seg.name}
		}
		c = c.promote(index)
	case *types.Func:
		sig := obj.Signature()
		switch {
		case !seg.call:
			return c, &misstep{"is a method of " + in, "write " + seg.name + "()"}
		case sig.Params().Len() > 0 || sig.Results().Len() != 1:
			return c, &misstep{"is a method of " + in + " that is no getter", "name a method without arguments and with one result"}
		}
		c = c.promote(index[:len(index)-1])
		if !c.blocked {
			c = c.call(obj)
		}
	default:
		return c, absent(c.typ, in, index, indirect)
	}
	if c.blocked {
		return c, &misstep{"cannot be reached in " + in + " from package " + h.s.Name, ""}
	}
	return c, nil
}

// absent says why a lookup has found nothing.
func absent(t types.Type, in string, index []int, indirect bool) *misstep {
	switch {
	case indirect:
		return &misstep{"has a pointer receiver, and a getter's result has no address", "let the getter before it return a pointer"}
	case index != nil:
		return &misstep{"is in more than one embedded field of " + in, "write the embedded field's name before it"}
	case pointers(t) > 1:
		return &misstep{"is behind more than one pointer in " + in, "use one pointer"}
	}
	return &misstep{"is not in " + in, ""}
}

// promote goes along a field index, as a selector with promotion does.
func (c cursor) promote(index []int) cursor {
	for _, i := range index {
		st := structOf(c.typ)
		if st == nil {
			c.blocked = true
			return c
		}
		c = c.field(st.Field(i))
	}
	return c
}

// pointers counts the pointers in front of a type.
func pointers(t types.Type) int {
	p, ok := t.Underlying().(*types.Pointer)
	if !ok {
		return 0
	}
	return 1 + pointers(p.Elem())
}

// members are the fields and getters of a value, as key= writes them.
func members(c cursor) []string {
	var out []string
	if st := structOf(c.typ); st != nil {
		for v := range st.Fields() {
			if inner := c.field(v); !inner.blocked && v.Name() != "_" {
				out = append(out, v.Name())
			}
		}
	}
	t := c.typ
	if _, isPointer := t.Underlying().(*types.Pointer); !isPointer && !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	for m := range types.NewMethodSet(t).Methods() {
		fn, ok := m.Obj().(*types.Func)
		if ok && fn.Exported() && fn.Signature().Params().Len() == 0 && fn.Signature().Results().Len() == 1 {
			out = append(out, fn.Name()+"()")
		}
	}
	return out
}

// reachable are all parameters that hold something, and their fields and getters.
func (h *handler) reachable(values []int) []string {
	var out []string
	for _, i := range values {
		if name := h.sig.Params().At(i).Name(); name != "" && name != "_" {
			out = append(out, name)
		}
		out = append(out, members(newCursor(h.s.Types, i, h.Params[i].Type))...)
	}
	return out
}

// didYouMean is the mend for a name that is not there.
func (h *handler) didYouMean(seg segment, there []string) string {
	bare := make([]string, len(there))
	for i, name := range there {
		bare[i] = strings.TrimSuffix(name, "()")
	}
	if near := directive.Nearest(seg.name, bare); near != "" {
		return "did you mean " + there[slices.Index(bare, near)] + "?"
	}
	if len(there) == 0 {
		return "name a field or getter of the payload, or a parameter"
	}
	if len(there) > maxCandidates {
		there = append(there[:maxCandidates:maxCandidates], "…")
	}
	return "there are: " + strings.Join(there, ", ")
}

// pathLabel is the path as written, without the name of the only payload: a parameter may be renamed.
func (h *handler) pathLabel(p keyPath) string {
	values := h.values()
	if len(p.segments) > 1 && len(values) == 1 && !p.segments[0].call && h.sig.Params().At(values[0]).Name() == p.segments[0].name {
		return strings.TrimPrefix(p.text, p.segments[0].name+".")
	}
	return p.text
}

// repeats says that the key has the part already.
func (h *handler) repeats(part model.Part) bool {
	return slices.ContainsFunc(h.Key, func(k model.Part) bool {
		return k.Param == part.Param && slices.Equal(k.Steps, part.Steps)
	})
}
