package directive

import (
	"fmt"
	"go/ast"
	"go/token"

	"github.com/idemgen/idemgen/generator/internal/diag"
)

// File returns the directives of a file, in source order, each with the declaration that it belongs to. f must have
// been parsed with its comments; function bodies may have been emptied, if their braces' positions were kept. Every
// comment that is ours and cannot be returned is diagnosed.
func File(fset *token.FileSet, f *ast.File, diags *diag.List) []Placed {
	p := placer{fset: fset, file: f, diags: diags, first: map[ownerVerb]token.Position{}}
	p.index()
	var out []Placed
	for _, group := range f.Comments {
		for _, c := range group.List {
			s, ok := recognise(c.Text)
			if !ok {
				continue
			}
			pos := spelledAt(fset.Position(c.Slash), s)
			if d, ok := p.place(s, pos, group, c); ok {
				out = append(out, d)
			}
		}
	}
	return out
}

// A site is where a comment group stands.
type site struct {
	fn     *ast.FuncDecl
	iface  *ast.TypeSpec
	method *ast.Field
	typ    *ast.TypeSpec
	free   bool   // at the top level, apart from every declaration
	doc    bool   // at the top level, above the declaration or package clause that what describes
	what   string // for messages: "type Order"
	hint   string // the mend for a handler that stands here
}

// An ownerVerb is what may occur only once.
type ownerVerb struct {
	owner ast.Node // nil for the file
	verb  string
}

// A placer finds out where the comments of one file stand.
type placer struct {
	fset  *token.FileSet
	file  *ast.File
	diags *diag.List
	sites map[*ast.CommentGroup]site
	first map[ownerVerb]token.Position
}

const aboveHandler = "put it directly above a function, a method, or a method of an interface"

// place checks a directive and the place where it stands.
func (p *placer) place(s spelling, pos token.Position, group *ast.CommentGroup, c *ast.Comment) (Placed, bool) {
	d, v := parse(s, pos, p.diags)
	if v == nil || !s.exact {
		return Placed{}, false
	}
	at := p.site(group, c)
	out := Placed{Directive: d}
	var owner ast.Node
	switch {
	case v.place == topLevel && !at.doc:
		p.diags.Add(pos, codeMisplaced, "put it on a line of its own at the top level of the file, outside of every declaration",
			"//idem:%s cannot stand %s", v.name, at.what)
		return Placed{}, false
	case v.place == onHandler && at.fn != nil:
		out.Func, owner = at.fn, at.fn
	case v.place == onHandler && at.method != nil:
		out.Iface, out.Method, owner = at.iface, at.method, at.method
	case v.place == onHandler:
		p.diags.Add(pos, codeMisplaced, at.hint, "//idem:%s cannot stand %s", v.name, at.what)
		return Placed{}, false
	case v.place == onStates && at.typ != nil:
		out.Type = at.typ
		return out, d != nil
	case v.place == onStates && at.free:
		return out, d != nil
	case v.place == onStates:
		p.diags.Add(pos, codeMisplaced, "put it directly above the type of the states, or apart from every declaration, at the top level of the file",
			"//idem:%s cannot stand %s", v.name, at.what)
		return Placed{}, false
	}
	key := ownerVerb{owner, v.name}
	if first, ok := p.first[key]; ok {
		p.diags.Add(pos, codeRepeated, "keep one of the two", "//idem:%s is repeated; first in line %d", v.name, first.Line)
		return Placed{}, false
	}
	p.first[key] = pos
	return out, d != nil
}

// site returns where a comment stands.
func (p *placer) site(group *ast.CommentGroup, c *ast.Comment) site {
	if at, ok := p.sites[group]; ok {
		return at
	}
	line := p.fset.Position(c.Slash).Line
	if p.lineOf(p.file.Name.End()) == line {
		return behindCode("the package clause")
	}
	for _, decl := range p.file.Decls {
		what := nameOf(decl)
		switch {
		case c.Slash < decl.Pos():
			return floating(decl)
		case c.Slash < decl.End():
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil && c.Slash > fn.Body.Lbrace {
				return site{what: "inside " + what, hint: "put it directly above func " + fn.Name.Name}
			}
			return site{what: "inside " + what, hint: aboveHandler}
		case p.lineOf(decl.End()) == line:
			return behindCode(what)
		}
	}
	return site{doc: true, free: true, what: "at the end of the file", hint: aboveHandler}
}

func (p *placer) lineOf(pos token.Pos) int { return p.fset.Position(pos).Line }

// floating is the site of a comment that belongs to no declaration; the next one is decl.
func floating(decl ast.Decl) site {
	what := nameOf(decl)
	at := site{doc: true, free: true, what: "apart from " + what, hint: aboveHandler}
	if fn, ok := decl.(*ast.FuncDecl); ok {
		at.hint = "put it directly above func " + fn.Name.Name + ", without a blank line between them"
	}
	return at
}

func behindCode(what string) site {
	return site{what: "behind " + what, hint: "put it on a line of its own, " + aboveHandler[len("put it "):]}
}

// index finds the site of each comment group that documents something.
func (p *placer) index() {
	p.sites = map[*ast.CommentGroup]site{}
	p.set(p.file.Doc, site{doc: true, free: true, what: "above the package clause", hint: aboveHandler})
	for _, decl := range p.file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			p.set(decl.Doc, site{fn: decl, doc: true, what: "on " + nameOf(decl)})
		case *ast.GenDecl:
			p.set(decl.Doc, genSite(decl))
			for _, spec := range decl.Specs {
				p.indexSpec(spec, decl)
			}
		}
	}
}

func (p *placer) set(group *ast.CommentGroup, at site) {
	if group != nil {
		p.sites[group] = at
	}
}

// genSite is the site above an import, const, type or var declaration.
func genSite(decl *ast.GenDecl) site {
	at := site{doc: true, what: "on " + nameOf(decl), hint: aboveHandler}
	if spec := onlyType(decl); spec != nil {
		at.typ = spec
		if _, ok := ast.Unparen(spec.Type).(*ast.InterfaceType); ok {
			at.hint = "put it above each method of " + spec.Name.Name + " that is a handler"
		}
	}
	return at
}

func onlyType(decl *ast.GenDecl) *ast.TypeSpec {
	if len(decl.Specs) != 1 {
		return nil
	}
	spec, _ := decl.Specs[0].(*ast.TypeSpec)
	return spec
}

// indexSpec indexes one spec of a declaration. Above a spec in parentheses is inside the declaration.
func (p *placer) indexSpec(spec ast.Spec, decl *ast.GenDecl) {
	switch spec := spec.(type) {
	case *ast.ImportSpec:
		p.set(spec.Doc, site{what: "on an import", hint: aboveHandler})
		p.set(spec.Comment, behindCode("an import"))
	case *ast.ValueSpec:
		what := decl.Tok.String() + " " + spec.Names[0].Name
		p.set(spec.Doc, site{what: "on " + what, hint: aboveHandler})
		p.set(spec.Comment, behindCode(what))
	case *ast.TypeSpec:
		what := "type " + spec.Name.Name
		p.set(spec.Doc, site{typ: spec, what: "on " + what, hint: aboveHandler})
		p.set(spec.Comment, behindCode(what))
		if iface, ok := ast.Unparen(spec.Type).(*ast.InterfaceType); ok {
			p.indexInterface(spec, iface)
		}
	}
}

// indexInterface indexes the methods of a declared interface: the only place inside a declaration where a handler is.
func (p *placer) indexInterface(spec *ast.TypeSpec, iface *ast.InterfaceType) {
	for _, field := range iface.Methods.List {
		_, isMethod := field.Type.(*ast.FuncType)
		switch {
		case !isMethod || len(field.Names) != 1:
			p.set(field.Doc, site{what: "on an embedded interface", hint: "put it above the methods where they are declared"})
			p.set(field.Comment, behindCode("an embedded interface"))
		case spec.Assign.IsValid():
			p.set(field.Doc, site{what: "in the alias " + spec.Name.Name, hint: fmt.Sprintf("declare type %s interface, without the =", spec.Name.Name)})
			p.set(field.Comment, behindCode("method "+field.Names[0].Name))
		default:
			p.set(field.Doc, site{iface: spec, method: field, what: "on method " + field.Names[0].Name})
			p.set(field.Comment, behindCode("method "+field.Names[0].Name))
		}
	}
}

// nameOf names a declaration for a message.
func nameOf(decl ast.Decl) string {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		return "func " + decl.Name.Name
	case *ast.GenDecl:
		if decl.Tok == token.IMPORT {
			return "an import"
		}
		if len(decl.Specs) == 1 {
			switch spec := decl.Specs[0].(type) {
			case *ast.TypeSpec:
				return "type " + spec.Name.Name
			case *ast.ValueSpec:
				return decl.Tok.String() + " " + spec.Names[0].Name
			}
		}
		return "a " + decl.Tok.String() + " declaration"
	}
	return "a declaration"
}
