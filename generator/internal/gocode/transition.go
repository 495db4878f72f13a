package gocode

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/idemgen/idemgen/generator/internal/fit"
	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/names"
)

// transition declares the variable that tells the runtime about a handler's change of state.
func (f *file) transition(g *model.Group, h *model.Handler) error {
	t := h.Transition
	row, err := f.rowFunc(h)
	if err != nil {
		return err
	}
	update, err := f.updateFunc(h)
	if err != nil {
		return err
	}
	look, err := f.lookFunc(h)
	if err != nil {
		return err
	}
	fields := []jen.Code{
		field("Name", jen.Lit(h.Name)),
		field("Column", jen.Lit(t.Text())),
		field("From", texts(t.From)),
		field("To", jen.Lit(t.To)),
		field("Past", texts(t.Past)),
	}
	if t.Unique {
		fields = append(fields, field("OneRow", jen.True()))
	}
	fields = append(fields, field("Row", row), field("Update", update), field("Look", look))
	if t.Expect != nil {
		fields = append(fields, field("Expect", f.expectFunc(h)))
	}
	if h.Attempt != nil {
		fields = append(fields, field("Attempt", f.attemptFunc(h)))
	}
	name := names.Transition(typeName(g), h.Method)
	doc := fmt.Sprintf("%s tells the runtime how %s changes %s, by the statements in %s.", name, h.Method, t.Text(), f.pkg.Store.Name)
	f.add(comment(doc).Line(), jen.Var().Id(name).Op("=").Add(f.idem("TransitionSpec")).Types(f.dbType(), f.eventType(h)).
		Add(list("{", "}", false, fields...)))
	return nil
}

func texts(all []string) *jen.Statement {
	var items []jen.Code
	for _, s := range all {
		items = append(items, jen.Lit(s))
	}
	return jen.Index().String().Values(items...)
}

// dbType is what the statements of a store run on.
func (f *file) dbType() *jen.Statement {
	name := driverName(f.pkg.Store)
	return f.name(runtimePath+"/"+name, name, "DBTX")
}

// rowFunc is the function that builds the row's identity, as a key is built.
func (f *file) rowFunc(h *model.Handler) (*jen.Statement, error) {
	var parts []model.Part
	for _, v := range h.Transition.Row {
		parts = append(parts, v.Part)
	}
	k := f.local.key
	return f.builderFunc(h, parts, k, "KeyBuilder", jen.Params(jen.String(), jen.Error()), jen.Return(jen.Id(k).Dot("Key").Call()))
}

// updateFunc is the function that runs the UPDATE.
func (f *file) updateFunc(h *model.Handler) (*jen.Statement, error) {
	t := h.Transition
	all := append(append([]model.ColumnValue{}, t.Row...), t.Set...)
	if t.Expect != nil {
		all = append(all, *t.Expect)
	}
	before, call, err := f.query(h, t.Query, all, jen.Lit(0))
	if err != nil {
		return nil, err
	}
	return f.statementFunc(h, jen.Int64(), append(before, jen.Return(call))), nil
}

// lookFunc is the function that reads the row.
func (f *file) lookFunc(h *model.Handler) (*jen.Statement, error) {
	t := h.Transition
	before, call, err := f.query(h, t.Query+"State", t.Row, f.idem("RowState").Values())
	if err != nil {
		return nil, err
	}
	l := f.local
	state := jen.Id(l.row).Dot("State")
	if t.Unique && t.Expect == nil {
		state = jen.Id(l.row) // the only column is the row
	}
	fields := []jen.Code{field("State", state)}
	if t.Expect != nil {
		fields = append(fields, field("Version", jen.Id(l.row).Dot("Version")))
	}
	if !t.Unique {
		fields = append(fields, field("Rows", jen.Id(l.row).Dot("Found")))
	}
	body := append(before,
		jen.List(jen.Id(l.row), jen.Id(l.err)).Op(":=").Add(call),
		jen.Return(f.idem("RowState").Values(fields...), jen.Id(l.err)))
	return f.statementFunc(h, f.idem("RowState"), body), nil
}

// statementFunc is a function of a context, what the statement runs on, and the event.
func (f *file) statementFunc(h *model.Handler, result jen.Code, body []jen.Code) *jen.Statement {
	_, event := f.event(h)
	params := []jen.Code{jen.Id(f.local.ctx).Add(f.name("context", "context", "Context")), jen.Id(f.local.db).Add(f.dbType()), event}
	build := func(oneLine bool) *jen.Statement {
		return jen.Func().Add(list("(", ")", oneLine, params...)).Params(result, jen.Error()).Block(body...)
	}
	return build(f.fits(jen.Id("Update").Op("=").Add(build(true)), 1))
}

// query is the call of a method of sqlc's, and what has to come before it. none is what is returned beside an error.
func (f *file) query(h *model.Handler, name string, values []model.ColumnValue, none jen.Code) (before []jen.Code, call *jen.Statement, err error) {
	st := f.pkg.Store
	scope := names.NewScope(f.taken...)
	var fields []jen.Code
	for i := range values {
		v := &values[i]
		more, value, err := f.columnValue(h, v, scope, none)
		if err != nil {
			return nil, nil, err
		}
		before = append(before, more...)
		fields = append(fields, field(v.Field, value))
	}
	build := func(oneLine bool) *jen.Statement {
		return f.name(st.ImportPath, st.Name, "New").Call().Dot(name).Call(
			jen.Id(f.local.ctx), jen.Id(f.local.db), f.name(st.ImportPath, st.Name, name+"Params").Add(list("{", "}", oneLine, fields...)))
	}
	call = build(true)
	if !f.fits(jen.Return(build(true)), 2) {
		call = build(false)
	}
	return before, call, nil
}

// columnValue is the value of a column as sqlc's parameter takes it, and what has to come before: the guards of what may be
// absent, and conversions that can fail.
func (f *file) columnValue(h *model.Handler, v *model.ColumnValue, scope *names.Scope, none jen.Code) (before []jen.Code, value *jen.Statement, err error) {
	target, ok := fit.Of(v.Type)
	if !ok {
		return nil, nil, bug("%s: no conversion to %s", v.PathPos, v.Type.Text)
	}
	event, _ := f.event(h)
	from := root(h, event, v.Part)
	inner, fails, err := f.inner(v, target, path(from, v.Part.Steps), scope, &before)
	if err != nil {
		return nil, nil, err
	}
	if fails {
		name := scope.Unique(names.Unexported(v.Field))
		before = append(before,
			jen.List(jen.Id(name), jen.Id(f.local.err)).Op(":=").Add(inner),
			jen.If(jen.Id(f.local.err).Op("!=").Nil()).Block(jen.Return(none, jen.Id(f.local.err))))
		inner = jen.Id(name)
	}
	if target.Cast.Text != "" {
		inner = f.goType(target.Cast).Call(inner)
	}
	value = inner
	if target.Field != "" {
		value = f.goType(v.Type).Values(field(target.Field, inner), field("Valid", jen.True()))
	}
	condition := present(from, v.Part)
	switch {
	case condition == "" || isRow(h, v):
		return before, value, nil // an event without its row's identity has been refused
	case v.Nullable:
		name := scope.Unique(names.Unexported(v.Field))
		return []jen.Code{
			jen.Var().Id(name).Add(f.goType(v.Type)),
			jen.If(jen.Id(condition)).Block(append(before, jen.Id(name).Op("=").Add(value))...),
		}, jen.Id(name), nil
	default:
		absent := jen.If(jen.Op("!").Parens(jen.Id(condition))).Block(jen.Return(none, f.idem("Absent").Call(jen.Lit(v.Part.Label))))
		return append([]jen.Code{absent}, before...), value, nil
	}
}

func isRow(h *model.Handler, v *model.ColumnValue) bool {
	for i := range h.Transition.Row {
		if h.Transition.Row[i].Column == v.Column {
			return true
		}
	}
	return false
}

// goType is a type of sqlc's making as the file spells it.
func (f *file) goType(t model.GoType) *jen.Statement {
	switch {
	case t.Own:
		return f.name(f.pkg.Store.ImportPath, f.pkg.Store.Name, t.Text)
	case t.Path != "":
		return f.name(t.Path, t.Package, strings.TrimPrefix(t.Text, t.Package+"."))
	default:
		return jen.Id(t.Text)
	}
}

// inner is the value itself, before any struct that says that it is there. fails says that it is a call that returns an error
// too.
func (f *file) inner(v *model.ColumnValue, target fit.Target, expr string, scope *names.Scope, before *[]jen.Code) (value *jen.Statement, fails bool, err error) {
	p := v.Part
	if needsVariable(p) || target.Inner == "bytes" && p.Encode == model.UUID && !p.Deref && called(p) {
		name := scope.Unique(f.local.value)
		*before = append(*before, jen.Id(name).Op(":=").Id(expr))
		expr = name
	}
	switch {
	case p.Encode == model.Text && target.Inner == "string":
		marshaler := pointee(p, expr)
		if p.AddrOf && p.Deref {
			marshaler = expr
		} else if p.AddrOf {
			marshaler = "&" + expr
		}
		return f.idem("TextOf").Call(jen.Lit(p.Label), jen.Id(marshaler)), true, nil
	case p.Encode == model.UUID && target.Inner == "string":
		return f.idem("UUIDText").Call(jen.Id(pointee(p, expr))), false, nil
	case p.Encode == model.String && target.Inner == "uuid":
		return f.idem("ParseUUID").Call(jen.Lit(p.Label), convert(p.Type, "string", pointee(p, expr))), true, nil
	case target.Inner == "bytes" && p.Encode == model.UUID:
		return jen.Id(expr + "[:]"), false, nil // a pointer to an array is sliced like the array
	}
	switch target.Inner {
	case "uuid":
		return jen.Id(pointee(p, expr)), false, nil // every [16]byte is assignable to one
	case "time", "bytes", "any":
		values, err := f.value(p, expr)
		if err != nil {
			return nil, false, err
		}
		return jen.Add(values[0]), false, nil
	default:
		return convert(p.Type, target.Inner, pointee(p, expr)), false, nil
	}
}

// expectFunc is the function that reads the version that the event knows. It is called for events that have one.
func (f *file) expectFunc(h *model.Handler) *jen.Statement {
	p := h.Transition.Expect.Part
	name, param := f.event(h)
	value := jen.Return(convert(p.Type, "int64", pointee(p, path(root(h, name, p), p.Steps))))
	return jen.Func().Params(param).Int64().Custom(jen.Options{Open: "{", Close: "}"}, value)
}

// transitionDoc says what a change of state does, and what it does not know.
func (f *file) transitionDoc(g *model.Group, h *model.Handler) string {
	t, idem := h.Transition, f.importName(idemPath, "idem")
	var parts []model.Part
	for _, v := range t.Row {
		parts = append(parts, v.Part)
	}
	subject := h.Method
	if !h.Bare {
		subject = "The first run"
	}
	text := fmt.Sprintf("%s moves %s of %s from %s to %s", subject, t.Text(), keyDoc(parts), enumerated(t.From), word(t.To))
	if h.Bare && !h.NoBody {
		text += fmt.Sprintf(", and runs %s in the same transaction", link(strings.Split(h.Source, ".")...))
	}
	text += "."
	if h.Bare {
		text += fmt.Sprintf(" A row that is %s already makes a repeat, of which nothing comes: two events that ask for that are one to it.", enumerated(t.Past))
	}
	if h.Bare && t.Again {
		text += fmt.Sprintf(" Rows can come back to %s: an event that asks for that a second time, and comes before they can, is taken for a repeat too; "+
			"only a handler with a key tells the two apart.", word(t.To))
	}
	text += fmt.Sprintf(" A row in another state is an [*%s.ConflictError]", idem)
	if t.Expect != nil {
		text += fmt.Sprintf(", one of another %s than the event's %s [%s.ErrStaleVersion]", t.Expect.Column, t.Expect.Part.Label, idem)
	}
	return text + fmt.Sprintf(", and no row [%s.ErrRowNotFound].", idem)
}

// enumerated is a list of states in a sentence.
func enumerated(all []string) string {
	var words []string
	for _, s := range all {
		words = append(words, word(s))
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
