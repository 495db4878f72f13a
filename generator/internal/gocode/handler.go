package gocode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/names"
)

// handler declares all that belongs to one handler: the wrapping method, its accessor, its specification, and the
// struct of its parameters.
func (f *file) handler(g *model.Group, h *model.Handler) error {
	f.wrapper(g, h)
	f.accessor(g, h)
	if !h.Bare {
		if err := f.spec(g, h); err != nil {
			return err
		}
	}
	if h.Transition != nil {
		if err := f.transition(g, h); err != nil {
			return err
		}
	}
	if h.Args != "" {
		f.args(h)
	}
	return nil
}

// wrapper declares the method that callers use in place of the handler.
func (f *file) wrapper(g *model.Group, h *model.Handler) {
	recv := f.receiver(g)
	scope := names.NewScope(recv, h.Args)
	var params, values []jen.Code
	var event jen.Code
	var passedOn []string
	ctx := ""
	for i, p := range h.Params {
		if p.Role == model.Tx {
			continue
		}
		name := scope.Unique(p.Name)
		params = append(params, jen.Id(name).Add(f.typ(p.Type)))
		switch {
		case p.Role == model.Context:
			ctx = name
		case i == h.Payload:
			event = jen.Id(name)
		default:
			values = append(values, jen.Id(name))
			if !partOf(h, i) && !inTransition(h, i) {
				passedOn = append(passedOn, name)
			}
		}
	}
	do := func(oneLine bool) *jen.Statement {
		if h.Args != "" {
			event = jen.Id(h.Args).Add(list("{", "}", oneLine, values...))
		}
		return jen.Id(recv).Dot(names.Guarded(h.Method)).Dot("Do").Call(jen.Id(ctx), event)
	}
	body := func(oneLine bool) []jen.Code { return []jen.Code{jen.Return(do(oneLine))} }
	if h.Result == nil && !h.Bare {
		err := scope.Unique("err")
		body = func(oneLine bool) []jen.Code {
			return []jen.Code{jen.List(jen.Id("_"), jen.Id(err)).Op(":=").Add(do(oneLine)), jen.Return(jen.Id(err))}
		}
	}
	oneLine := f.fits(body(true)[0], 1)
	doc := f.wrapperDoc(h) + passedOnDoc(passedOn)
	if h.Bare {
		doc = f.transitionDoc(g, h)
	} else if h.Transition != nil {
		doc += " " + f.transitionDoc(g, h)
	}
	f.add(comment(doc).Line(),
		f.signature(jen.Id(recv).Op("*").Id(g.Name), h.Method, params, f.results(h)).Block(body(oneLine)...))
}

func (f *file) wrapperDoc(h *model.Handler) string {
	if h.Lease > 0 {
		return f.leaseDoc(h)
	}
	within := " within " + h.WindowAs
	if h.Forever {
		within = ", for ever"
	}
	text := fmt.Sprintf("%s runs %s once for each %s%s.",
		h.Method, link(strings.Split(h.Source, ".")...), keyDoc(h.Key), within)
	if h.NoBody {
		text = fmt.Sprintf("%s takes effect once for each %s%s.", h.Method, keyDoc(h.Key), within)
	}
	mismatch := fmt.Sprintf("with another %s is [%s.ErrPayloadMismatch].",
		labels(h.Fingerprint, ", ", " or "), f.importName(idemPath, "idem"))
	switch {
	case h.Result != nil && len(h.Fingerprint) > 0:
		text += fmt.Sprintf(" A repeat returns the first run's %s; one %s", f.resultDoc(h), mismatch)
	case h.Result != nil:
		text += fmt.Sprintf(" A repeat returns the first run's %s.", f.resultDoc(h))
	case len(h.Fingerprint) > 0:
		text += " A repeat " + mismatch
	}
	if h.FailFast {
		text += fmt.Sprintf(" While another delivery runs it returns an [*%s.InProgressError] at once.", f.importName(idemPath, "idem"))
	}
	return text
}

// leaseDoc says what a lease promises and what it does not: it is what people would like to have it promise.
func (f *file) leaseDoc(h *model.Handler) string {
	idem := f.importName(idemPath, "idem")
	source, key := link(strings.Split(h.Source, ".")...), keyDoc(h.Key)
	within := "for " + h.WindowAs + " after that"
	if h.Forever {
		within = "for ever after"
	}
	text := fmt.Sprintf("%s runs %s under a lease of %s for each %s, until one run has ended well; %s ", h.Method, source, h.LeaseAs, key, within)
	if h.Result != nil {
		text += fmt.Sprintf("a repeat returns that run's %s.", f.resultDoc(h))
	} else {
		text += "a repeat does nothing."
	}
	if len(h.Fingerprint) > 0 {
		text += fmt.Sprintf(" One with another %s is [%s.ErrPayloadMismatch].", labels(h.Fingerprint, ", ", " or "), idem)
	}
	again := "a run that fails or dies may have had it, and is run again"
	if h.Park {
		again = fmt.Sprintf("a run that fails may have had it, and is run again; one that dies leaves the key to a person, as [%s.ErrParked]", idem)
	}
	text += fmt.Sprintf(" Its effect outside of the database is no part of that: %s. The outside is called at least once, "+
		"with the same ExternalKey of [%s.FromContext] each time, and has to recognise that for the effect to happen once.", again, idem)
	if h.FailFast {
		text += fmt.Sprintf(" While another delivery runs it returns an [*%s.InProgressError] at once.", idem)
	}
	return text
}

// partOf says that a parameter takes part in the key or the fingerprint.
func partOf(h *model.Handler, param int) bool {
	return slices.ContainsFunc(slices.Concat(h.Key, h.Fingerprint), func(p model.Part) bool { return p.Param == param })
}

// inTransition says that a parameter gives a transition a value.
func inTransition(h *model.Handler, param int) bool {
	t := h.Transition
	if t == nil {
		return false
	}
	uses := func(v model.ColumnValue) bool { return v.Part.Param == param }
	return slices.ContainsFunc(t.Row, uses) || slices.ContainsFunc(t.Set, uses) || t.Expect != nil && uses(*t.Expect)
}

// passedOnDoc says of further parameters that a repeat is recognised whatever they are.
func passedOnDoc(params []string) string {
	switch last := len(params) - 1; last {
	case -1:
		return ""
	case 0:
		return " " + params[0] + " is passed on; it is not part of the key."
	default:
		return " " + strings.Join(params[:last], ", ") + " and " + params[last] + " are passed on; they are not part of the key."
	}
}

// resultDoc is the result's type for a sentence, where it is short enough to be read in one.
func (f *file) resultDoc(h *model.Handler) string {
	text := strings.TrimPrefix(f.typeText(h.Result), "*")
	if strings.ContainsAny(text, "{ ") || len(text) > 40 {
		return "result"
	}
	return text
}

// keyDoc is the key in a sentence: as it is built, or as a list where that would be hard to read.
func keyDoc(parts []model.Part) string {
	if len(parts) > 4 {
		return labels(parts, ", ", " and ")
	}
	return labels(parts, "/", "/")
}

func labels(parts []model.Part, separator, last string) string {
	var b strings.Builder
	for i, p := range parts {
		switch {
		case i == 0:
		case i == len(parts)-1:
			b.WriteString(last)
		default:
			b.WriteString(separator)
		}
		b.WriteString(p.Label)
	}
	return b.String()
}

// accessor declares the method that returns a handler.
func (f *file) accessor(g *model.Group, h *model.Handler) {
	recv := f.receiver(g)
	name := names.Accessor(h.Method)
	doc := fmt.Sprintf("%s returns the handler that %s calls: for a caller's own transaction, for its Key, or to hand to code that takes an [*%s.Handler].",
		name, h.Method, f.importName(idemPath, "idem"))
	if h.Lease > 0 {
		doc = fmt.Sprintf("%s returns the lease that %s calls: for its Key, or to hand to code that takes an [*%s.Lease].",
			name, h.Method, f.importName(idemPath, "idem"))
	}
	if h.Bare {
		doc = fmt.Sprintf("%s returns the transition that %s calls: for a caller's own transaction, or to hand to code that takes an [*%s.Transition].",
			name, h.Method, f.importName(idemPath, "idem"))
	}
	build := func(oneLine bool) *jen.Statement {
		return f.signature(jen.Id(recv).Op("*").Id(g.Name), name, nil, f.handlerType(h, oneLine)).
			Block(jen.Return(jen.Id(recv).Dot(names.Guarded(h.Method))))
	}
	method := build(true)
	if !f.fits(method, 0) {
		method = build(false)
	}
	f.add(comment(doc).Line(), method)
}

// args declares the struct of a handler's parameters.
func (f *file) args(h *model.Handler) {
	var fields []jen.Code
	for _, p := range h.Params {
		if p.Role == model.Value {
			fields = append(fields, jen.Id(p.Field).Add(f.typ(p.Type)))
		}
	}
	f.add(comment(fmt.Sprintf("%s are %s's parameters.", h.Args, h.Method)).Line(), jen.Type().Id(h.Args).Struct(fields...))
}
