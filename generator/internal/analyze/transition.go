package analyze

import (
	"go/token"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/directive"
	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/names"
)

// transitionShape refuses what a transition's signature cannot be: it comes after the parameters and the results.
func (h *handler) transitionShape() {
	if h.change == nil {
		return
	}
	for _, name := range []string{"lease", "expired"} {
		if arg, ok := h.placed.Arg(name); ok {
			h.fail(arg.Pos, codeTransitionLease, "remove "+name+"=; for an effect outside of the database, annotate a handler of its own",
				"%s is a transition, whose effect is in the database, and %s= is for effects outside of it", h.Source, name)
		}
	}
	if i := slices.IndexFunc(h.Params, func(p model.Param) bool { return p.Role == model.Tx }); h.NoBody && i >= 0 {
		h.fail(h.paramPos(i), codeTransitionNoBody, "remove the parameter; or, if there is something to do in the transaction, annotate a function or a method",
			"%s takes %s, and a transition on an interface's method has no code that could use it", h.Source, h.paramText(i))
	}
	if h.Result == nil {
		return
	}
	pos := h.s.a.position(h.sig.Results().At(0).Pos())
	switch {
	case h.NoBody:
		h.fail(pos, codeTransitionResult, "return error alone", "%s returns %s, and a transition on an interface's method has no code that could make one",
			h.Source, h.s.typeText(h.Result))
	case h.Bare:
		h.fail(pos, codeTransitionResult, "add //idem:handler window=…, which stores the result with a key; or return error alone",
			"%s returns %s, and a transition alone stores nothing that a repeat could get it from", h.Source, h.s.typeText(h.Result))
	}
}

// payload is for a transition without a key: E, and the attempt.
func (h *handler) payload() {
	values := h.values()
	if len(values) == 0 {
		h.fail(h.Pos, codeNoPayload, "take the message as a parameter: a struct that says which row it is about",
			"%s has no payload: nothing says which row it is about", h.Source)
		return
	}
	for _, i := range values {
		for _, t := range h.s.a.walk(newCursor(h.s.Types, i, h.Params[i].Type), nil) {
			if t.tag.Role == directive.Attempt {
				h.tagged = append(h.tagged, t.field)
				h.addTagged(t)
			}
		}
	}
	if len(values) == 1 {
		h.Payload = values[0]
	} else {
		h.setFields()
	}
}

// transition takes what the directive says, as far as that can be told without the schema.
func (h *handler) transition() {
	c := h.change.Change
	t := &model.Transition{Pos: h.change.Pos, Schema: c.Column.Schema, Table: c.Column.Table, Column: c.Column.Column, To: c.Steps[1][0].Name}
	for _, s := range c.Steps[0] {
		t.From = append(t.From, s.Name)
	}
	t.Query = h.queryName()
	h.Transition = t
	if arg, ok := h.change.Arg("row"); ok {
		t.Row = h.columnValues("row", arg, func(p keyPath, c cursor) (model.Part, *refusal) {
			e := encoder{s: h.s, role: directive.Key, byPath: true}
			return e.encode(c)
		})
	}
	if arg, ok := h.change.Arg("set"); ok {
		t.Set = h.columnValues("set", arg, func(p keyPath, c cursor) (model.Part, *refusal) { return h.settable(c) })
	}
	if arg, ok := h.change.Arg("expect"); ok {
		values := h.columnValues("expect", arg, func(p keyPath, c cursor) (model.Part, *refusal) {
			e := encoder{s: h.s, role: directive.Key, byPath: true}
			part, no := e.encode(c)
			if no == nil && part.Encode != model.Int && part.Encode != model.Uint {
				no = &refusal{codeVersion, "is " + h.s.typeText(c.typ) + ", and a version is an integer", "name an integer"}
			}
			return part, no
		})
		if len(values) == 1 {
			t.Expect = &values[0]
		}
	}
	if arg, ok := h.change.Arg("version"); ok {
		t.Version = arg.Value
	}
}

// queryName is the name of the transition's statement: package, type and handler.
func (h *handler) queryName() string {
	name := names.Exported(h.s.Name)
	if h.owner != nil {
		name += names.Exported(h.owner.Obj().Name())
	}
	return name + names.Exported(h.Method)
}

// columnValues resolves column:Path,….
func (h *handler) columnValues(name string, arg directive.Arg, encode func(keyPath, cursor) (model.Part, *refusal)) []model.ColumnValue {
	h.pathArg = name + "="
	defer func() { h.pathArg, h.pathSaid = "key=", "key=" }()
	var out []model.ColumnValue
	for _, cp := range directive.ColumnPaths(arg) {
		h.pathSaid = name + "=" + cp.Column + ":"
		p := splitPaths(directive.Arg{Value: cp.Path, ValuePos: cp.PathPos})[0]
		c, ok := h.resolve(p)
		if !ok {
			continue
		}
		part, no := encode(p, c)
		if no != nil {
			code := no.code
			if code == codeKeyType || code == codeFingerprint {
				code = codeColumnType
			}
			h.fail(p.pos, code, no.mend, "%s %s", cp.Path, strings.Replace(no.why, "cannot be part of a key", "no row is known by", 1))
			continue
		}
		part.Pos, part.Label = p.pos, h.pathLabel(p)
		out = append(out, model.ColumnValue{Column: cp.Column, Pos: cp.Pos, Path: cp.Path, PathPos: cp.PathPos, Part: part})
	}
	return out
}

// settable decides how a value is given to a column: whatever a fingerprint can hold, times, and bytes of any meaning.
func (h *handler) settable(c cursor) (model.Part, *refusal) {
	e := encoder{s: h.s, role: directive.Fingerprint, byPath: true, finite: true}
	if isByteSlice(c.typ) {
		part := c.part()
		part.Encode = model.Bytes
		return part, nil
	}
	part, no := e.encode(c)
	if no != nil && no.code == codeTime {
		e.tag.UTC = true
		part, no = e.encode(c)
	}
	if no != nil && no.code == codeColumnType {
		return part, no
	}
	if no != nil {
		return part, &refusal{codeColumnType, "is " + h.s.typeText(c.typ) + ", which no column can be set to", "name a field with a plain value, or a getter of one"}
	}
	return part, nil
}

// usesTwice reports a column that a transition uses for two things.
func (h *handler) usesTwice() {
	t := h.Transition
	type use struct {
		as  string
		pos token.Position
	}
	used := map[string]use{t.Column: {"the state", h.change.Change.Column.Pos}}
	take := func(column, as string, pos token.Position) {
		if other, twice := used[column]; twice {
			h.fail(pos, codeTransitionTwice, "name another column, or remove one of the two", "%s is used twice: as %s, and in %s", column, other.as, as)
			return
		}
		used[column] = use{as, pos}
	}
	for _, v := range t.Row {
		take(v.Column, "row=", v.Pos)
	}
	for _, v := range t.Set {
		take(v.Column, "set=", v.Pos)
	}
	if arg, ok := h.change.Arg("version"); ok {
		take(t.Version, "version=", arg.ValuePos)
	}
	if t.Expect != nil && t.Expect.Column != t.Version {
		take(t.Expect.Column, "expect=", t.Expect.Pos)
	}
}
