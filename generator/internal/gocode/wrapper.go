package gocode

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/names"
)

// The fields of a generated type besides those of its handlers.
const (
	guardField   = "guard"
	wrappedField = "unguarded"
)

// group declares the generated type, its constructor and its guard.
func (f *file) group(g *model.Group) {
	fields := []jen.Code{jen.Id(f.field(g, guardField)).Op("*").Add(f.idem("Guard")).Types(f.txType())}
	if len(g.Forwards) > 0 {
		fields = append(fields, jen.Id(f.field(g, wrappedField)).Add(f.typ(g.Type)))
	}
	for _, h := range g.Handlers {
		build := func(oneLine bool) *jen.Statement {
			return jen.Id(names.Guarded(h.Method)).Add(f.handlerType(h, oneLine))
		}
		fields = append(fields, build(f.fits(jen.Var().Add(build(true)), 1)))
	}
	f.add(comment(groupDoc(g)).Line(), jen.Type().Id(g.Name).Struct(fields...))
	if implements(g) {
		f.add(jen.Var().Id("_").Add(f.typ(g.Type)).Op("=").Params(jen.Op("*").Id(g.Name)).Call(jen.Nil()))
	}
	f.constructor(g)
	recv := f.receiver(g)
	f.add(comment("Guard is the guard that all handlers share: for its Check, and for an [idem.Janitor].").Line(),
		jen.Func().Params(jen.Id(recv).Op("*").Id(g.Name)).Id("Guard").Params().Op("*").Add(f.idem("Guard")).Types(f.txType()).
			Block(jen.Return(jen.Id(recv).Dot(f.field(g, guardField)))))
}

// implements says that a decorator implements the interface that it decorates: no method has lost a transaction.
func implements(g *model.Group) bool {
	return g.Kind == model.Interface && !slices.ContainsFunc(g.Handlers, func(h *model.Handler) bool { return h.Lease == 0 && !h.NoBody })
}

// wraps says that a group has something to call: not where all of its methods are transitions without code of the user's.
func wraps(g *model.Group) bool {
	return g.Type != nil && (len(g.Forwards) > 0 || slices.ContainsFunc(g.Handlers, func(h *model.Handler) bool { return !h.NoBody }))
}

// once is the promise as exactly as a sentence can have it: a run that failed has left nothing, and is not the one.
const once = "commits once per business key. What a failed run did is rolled back."

func groupDoc(g *model.Group) string {
	each := "each handler " + once
	bare := func(h *model.Handler) bool { return h.Bare }
	switch {
	case !slices.ContainsFunc(g.Handlers, func(h *model.Handler) bool { return !h.Bare }):
		each = "each transition moves a row once."
	case slices.ContainsFunc(g.Handlers, bare):
		each = "each handler is guarded by its business key, or by the state of the row that it moves."
	case slices.ContainsFunc(g.Handlers, func(h *model.Handler) bool { return h.Lease > 0 }):
		each = "each handler is guarded by its business key."
	}
	switch g.Kind {
	case model.Functions:
		return g.Name + " has the package's handlers made safe to call again: " + strings.Replace(strings.Replace(each, "each handler", "each", 1), "each transition", "each", 1)
	case model.Interface:
		text := fmt.Sprintf("%s is %s made safe to call again: %s", g.Name, link(typeName(g)), each)
		if len(g.Forwards) > 0 {
			text += " Other methods are passed on."
		}
		if implements(g) {
			text += fmt.Sprintf(" It is a %s itself.", link(typeName(g)))
		}
		return text
	default:
		return fmt.Sprintf("%s is %s made safe to call again: %s", g.Name, link(typeName(g)), each)
	}
}

// field is the name of one of the generated type's own fields: want, unless a method is called so.
func (f *file) field(g *model.Group, want string) string {
	var methods names.Scope
	for _, h := range g.Handlers {
		methods.Take(h.Method, names.Accessor(h.Method))
	}
	for _, m := range g.Forwards {
		methods.Take(m.Name())
	}
	return methods.Unique(want, "idem"+strings.ToUpper(want[:1])+want[1:])
}

// receiver is the name that all methods of a group have for their receiver: none of their parameters is called so.
func (f *file) receiver(g *model.Group) string {
	var scope names.Scope
	for _, h := range g.Handlers {
		for _, p := range h.Params {
			scope.Take(p.Name)
		}
		scope.Take(h.Args)
	}
	for _, m := range g.Forwards {
		for p := range m.Signature().Params().Variables() {
			scope.Take(p.Name())
		}
	}
	return scope.Unique("s", "svc")
}

// constructor declares the function that guards a value of the group's type.
func (f *file) constructor(g *model.Group) {
	l := f.local
	newGuard, db := f.driver()
	var params []jen.Code
	doc := fmt.Sprintf("%s guards the package's handlers by the keys in %s.", g.Constructor, l.db)
	if g.Type != nil && !wraps(g) {
		doc = fmt.Sprintf("%s makes a %s on the tables in %s.", g.Constructor, typeName(g), l.db)
	} else if g.Type != nil {
		doc = fmt.Sprintf("%s guards %s by the keys in %s.", g.Constructor, l.wrapped, l.db)
	}
	if wraps(g) {
		wrapped := f.typ(g.Type)
		if g.Pointer {
			wrapped = jen.Op("*").Add(wrapped)
		}
		params = append(params, jen.Id(l.wrapped).Add(wrapped))
	}
	doc += " An option that is not valid, and a database that cannot be reached, show at the first delivery."
	params = append(params, jen.Id(l.db).Add(db), jen.Id(l.opts).Op("...").Add(f.idem("Option")))

	values := []jen.Code{jen.Id(f.field(g, guardField)).Op(":").Id(l.guard)}
	if len(g.Forwards) > 0 {
		values = append(values, jen.Id(f.field(g, wrappedField)).Op(":").Id(l.wrapped))
	}
	for _, h := range g.Handlers {
		values = append(values, jen.Id(names.Guarded(h.Method)).Op(":").Add(f.newHandler(g, h)))
	}
	body := []jen.Code{
		jen.Id(l.guard).Op(":=").Add(newGuard).Call(
			jen.Id(l.db), f.name(f.pkg.Store.ImportPath, f.pkg.Store.Name, "Store"), jen.Id(l.opts).Op("...")),
		jen.Return(jen.Op("&").Id(g.Name).Add(list("{", "}", false, values...))),
	}
	f.add(comment(doc).Line(), f.signature(nil, g.Constructor, params, jen.Op("*").Id(g.Name)).Block(body...))
}

// driver is the function that makes a guard, and the type of the database that it takes.
func (f *file) driver() (newGuard, db *jen.Statement) {
	name := driverName(f.pkg.Store)
	newGuard = f.name(runtimePath+"/"+name, name, "New")
	if f.pkg.Store.Driver == model.PGX {
		return newGuard, jen.Op("*").Add(f.name(pgxpoolPath, "pgxpool", "Pool"))
	}
	return newGuard, jen.Op("*").Add(f.name(sqlPath, "sql", "DB"))
}

// signature is a function up to its body, on several lines where one would be too long.
func (f *file) signature(recv jen.Code, name string, params []jen.Code, results jen.Code) *jen.Statement {
	build := func(oneLine bool) *jen.Statement {
		s := jen.Func()
		if recv != nil {
			s.Params(recv)
		}
		return s.Id(name).Add(list("(", ")", oneLine, params...)).Add(results)
	}
	s := build(true)
	if f.fits(s.Clone().Block(), 0) {
		return s
	}
	return build(false)
}

// newHandler is the call that puts a handler together from its specification and its function, on as few lines as it
// fits on.
func (f *file) newHandler(g *model.Group, h *model.Handler) *jen.Statement {
	spec := jen.Id(names.Spec(typeName(g), h.Method))
	build := func(layout int) *jen.Statement {
		run := f.run(g, h)
		keyed := h.Transition != nil && !h.Bare
		if layout == 1 && !keyed {
			run = jen.Line().Add(run).Op(",").Line()
		}
		newHandler, noResult := "NewHandler", "NoResult"
		switch {
		case h.Lease > 0:
			newHandler, noResult = "NewLease", "NoLeaseResult"
		case h.Bare:
			newHandler, spec = "NewTransition", jen.Id(names.Transition(typeName(g), h.Method))
		}
		if h.Result == nil && !h.Bare && !h.NoBody {
			run = f.idem(noResult).Add(list("(", ")", layout != 2, run))
		}
		if keyed {
			with := f.idem("WithTransition")
			if h.NoBody { // nothing tells the type of the transaction, nor that there is no result
				with = with.Types(f.txType(), f.dbType(), f.eventType(h), jen.Struct())
			}
			run = with.Add(list("(", ")", layout != 2, jen.Id(names.Transition(typeName(g), h.Method)), run))
			if layout == 1 {
				run = jen.Line().Add(run).Op(",").Line()
			}
		}
		return f.idem(newHandler).Add(list("(", ")", layout != 2, jen.Id(f.local.guard), spec, run))
	}
	for layout := range 2 {
		call := build(layout)
		if f.fits(jen.Id(names.Guarded(h.Method)).Op(":=").Add(call), 2) {
			return call
		}
	}
	return build(2)
}

// run is the handler's function as the runtime calls it: itself where its parameters are the runtime's, else a closure.
func (f *file) run(g *model.Group, h *model.Handler) *jen.Statement {
	l := f.local
	if h.NoBody {
		return jen.Nil()
	}
	callee := jen.Id(h.Method)
	if g.Type != nil {
		callee = jen.Id(l.wrapped).Dot(h.Method)
	}
	if f.direct(g, h) {
		return callee
	}
	event := l.args
	if h.Payload >= 0 {
		event = l.event
	}
	var args []jen.Code
	for _, p := range h.Params {
		switch {
		case p.Role == model.Context:
			args = append(args, jen.Id(l.ctx))
		case p.Role == model.Tx && p.TxFunc != nil:
			args = append(args, f.name(p.TxFunc.Pkg().Path(), p.TxFunc.Pkg().Name(), p.TxFunc.Name()).Call(jen.Id(l.tx)))
		case p.Role == model.Tx:
			args = append(args, jen.Id(l.tx))
		case h.Payload >= 0:
			args = append(args, jen.Id(event))
		default:
			args = append(args, jen.Id(event).Dot(p.Field))
		}
	}
	params := []jen.Code{
		jen.Id(l.ctx).Add(f.name("context", "context", "Context")), jen.Id(l.tx).Add(f.txType()), jen.Id(event).Add(f.eventType(h)),
	}
	if h.Lease > 0 {
		params = slices.Delete(params, 1, 2)
	}
	call := jen.Return(callee.Clone().Add(list("(", ")", true, args...)))
	if !f.fits(call, 4) {
		call = jen.Return(callee.Clone().Add(list("(", ")", false, args...)))
	}
	build := func(oneLine bool) *jen.Statement {
		return jen.Func().Add(list("(", ")", oneLine, params...)).Add(f.results(h)).Block(call)
	}
	return build(f.fits(jen.Id("_").Op("=").Add(build(true)), 3))
}

// direct says that the handler can be named as a value: its parameters are exactly context, transaction, if any, and payload, as
// the runtime passes them. The value of a method with a value receiver would keep the receiver as it was when the
// wrapper was made, so that takes a closure.
func (f *file) direct(g *model.Group, h *model.Handler) bool {
	if g.Kind == model.Methods && g.Pointer {
		if _, pointer := types.Unalias(h.Func.Signature().Recv().Type()).(*types.Pointer); !pointer {
			return false
		}
	}
	if h.Lease > 0 {
		return h.Payload == 1 && len(h.Params) == 2 && h.Params[0].Role == model.Context
	}
	return h.Payload == 2 && len(h.Params) == 3 &&
		h.Params[0].Role == model.Context &&
		h.Params[1].Role == model.Tx && h.Params[1].TxFunc == nil && f.isTx(h.Params[1].Type)
}

// forward declares a method that is not guarded.
func (f *file) forward(g *model.Group, m *types.Func) {
	sig := m.Signature()
	scope := names.NewScope(f.receiver(g))
	var params, args []jen.Code
	for i := range sig.Params().Len() {
		p := sig.Params().At(i)
		name := scope.Unique(p.Name(), fmt.Sprintf("arg%d", i+1))
		if sig.Variadic() && i == sig.Params().Len()-1 {
			params = append(params, jen.Id(name).Op("...").Add(f.typ(p.Type().(*types.Slice).Elem())))
			args = append(args, jen.Id(name).Op("..."))
			continue
		}
		params = append(params, jen.Id(name).Add(f.typ(p.Type())))
		args = append(args, jen.Id(name))
	}
	var results []jen.Code
	for r := range sig.Results().Variables() {
		results = append(results, f.typ(r.Type()))
	}
	recv := f.receiver(g)
	call := jen.Id(recv).Dot(f.field(g, wrappedField)).Dot(m.Name()).Call(args...)
	if len(results) > 0 {
		call = jen.Return(call)
	}
	result := jen.Null()
	switch len(results) {
	case 0:
	case 1:
		result = jen.Add(results...)
	default:
		result = jen.Params(results...)
	}
	doc := fmt.Sprintf("%s passes on to %s.", m.Name(), link(typeName(g), m.Name()))
	f.add(comment(doc).Line(), f.signature(jen.Id(recv).Op("*").Id(g.Name), m.Name(), params, result).Block(call))
}
