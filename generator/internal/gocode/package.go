package gocode

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/names"
)

// Package renders a package's idem_gen.go.
func Package(p *model.Package) ([]byte, error) {
	// The draft is for what is imported; only then can everything be named without regard to order.
	draft := newFile(p, nil)
	draft.draft = true
	if err := draft.declare(); err != nil {
		return nil, err
	}
	f := newFile(p, draft.wanted)
	if err := f.declare(); err != nil {
		return nil, err
	}
	src := source{pkg: p.Name, imports: f.imports.List(), module: p.Module.Path, decls: f.decls}
	if p.Constraint != "" {
		src.head = append(src.head, "\n//go:build "+p.Constraint+"\n")
	}
	src.head = append(src.head, "\n")
	return src.render()
}

// file is an idem_gen.go in the making.
type file struct {
	pkg     *model.Package
	imports *names.Imports
	wanted  map[string]string // path to package name of all that is imported
	local   locals
	taken   []string // names that no variable of a generated function may hide
	draft   bool     // nobody reads it: lines may be of any length
	decls   []jen.Code
}

// locals are the names of parameters and variables of the generated functions that do not take the user's names.
type locals struct {
	wrapped, guard, db, opts, ctx, tx, event, args, key, fingerprint, value, row, err string
}

func newFile(p *model.Package, imports map[string]string) *file {
	f := &file{pkg: p, imports: names.NewImports(p.Types), wanted: map[string]string{}}
	declared := declaredNames(p)
	f.imports.Reserve(declared...)
	for path, name := range imports {
		f.imports.Add(path, name)
	}
	scope := names.NewScope(declared...)
	scope.Take(p.Types.Scope().Names()...)
	for path, name := range imports {
		scope.Take(f.imports.Name(path, name))
	}
	f.local = locals{
		wrapped: scope.Unique("s", "svc"), guard: scope.Unique("g", "guard"), db: scope.Unique("db", "pool"),
		opts: scope.Unique("opts"), ctx: scope.Unique("ctx"), tx: scope.Unique("tx"),
		event: scope.Unique("e", "event"), args: scope.Unique("a", "args"), key: scope.Unique("k", "key"),
		fingerprint: scope.Unique("f", "fp"), value: scope.Unique("v", "value"),
		row: scope.Unique("row", "found"), err: scope.Unique("err"),
	}
	f.taken = append(declared, p.Types.Scope().Names()...)
	for path, name := range imports {
		f.taken = append(f.taken, f.imports.Name(path, name))
	}
	f.taken = append(f.taken, f.local.db, f.local.ctx, f.local.event, f.local.args, f.local.row, f.local.err)
	return f
}

// declaredNames are the package-level names that the generated file declares.
func declaredNames(p *model.Package) []string {
	var out []string
	for _, g := range p.Groups {
		out = append(out, g.Name, g.Constructor)
		for _, h := range g.Handlers {
			if !h.Bare {
				out = append(out, names.Spec(typeName(g), h.Method))
			}
			if h.Transition != nil {
				out = append(out, names.Transition(typeName(g), h.Method))
			}
			if h.Args != "" {
				out = append(out, h.Args)
			}
		}
	}
	return out
}

func (f *file) declare() error {
	guard := fmt.Sprintf("Protocol%d_else_go_generate_or_go_get_the_runtime", Protocol)
	f.add(jen.Const().Id("_").Op("=").Add(f.name(idemPath, "idem", guard)))
	for _, g := range f.pkg.Groups {
		if err := f.check(g); err != nil {
			return err
		}
		f.group(g)
		for _, h := range g.Handlers {
			if err := f.handler(g, h); err != nil {
				return err
			}
		}
		for _, m := range g.Forwards {
			f.forward(g, m)
		}
	}
	return nil
}

func (f *file) add(c ...jen.Code) { f.decls = append(f.decls, jen.Add(c...)) }

// importName is what the file calls a package; empty for its own.
func (f *file) importName(path, pkgName string) string {
	name := f.imports.Name(path, pkgName)
	if name != "" {
		f.wanted[path] = pkgName
	}
	return name
}

// name is a name of another package, or of the file's own.
func (f *file) name(path, pkgName, name string) *jen.Statement {
	if in := f.importName(path, pkgName); in != "" {
		return jen.Id(in).Dot(name)
	}
	return jen.Id(name)
}

func (f *file) idem(name string) *jen.Statement { return f.name(idemPath, "idem", name) }

// typ is a type as the user's package spells it: aliases stay aliases.
func (f *file) typ(t types.Type) *jen.Statement { return jen.Id(f.typeText(t)) }

func (f *file) typeText(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return f.importName(p.Path(), p.Name()) })
}

// txType is what the runtime's generics call Tx.
func (f *file) txType() *jen.Statement {
	if f.pkg.Store.Driver == model.PGX {
		return f.name(pgxPath, "pgx", "Tx")
	}
	return jen.Op("*").Add(f.name(sqlPath, "sql", "Tx"))
}

// isTx says that t is what txType is.
func (f *file) isTx(t types.Type) bool {
	t = types.Unalias(t)
	want := pgxPath
	if f.pkg.Store.Driver != model.PGX {
		want = sqlPath
		ptr, ok := t.(*types.Pointer)
		if !ok {
			return false
		}
		t = types.Unalias(ptr.Elem())
	}
	named, ok := t.(*types.Named)
	return ok && named.Obj().Name() == "Tx" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == want
}

// eventType is E: the payload's type, or the struct of all parameters.
func (f *file) eventType(h *model.Handler) *jen.Statement {
	if h.Payload >= 0 {
		return f.typ(h.Params[h.Payload].Type)
	}
	return jen.Id(h.Args)
}

// resultType is R.
func (f *file) resultType(h *model.Handler) *jen.Statement {
	if h.Result == nil {
		return jen.Struct()
	}
	return f.typ(h.Result)
}

// handlerType is *idem.Handler[Tx, E, R], *idem.Lease[E, R], or *idem.Transition[Tx, E].
func (f *file) handlerType(h *model.Handler, oneLine bool) *jen.Statement {
	if h.Lease > 0 {
		return jen.Op("*").Add(f.idem("Lease")).Add(list("[", "]", oneLine, f.eventType(h), f.resultType(h)))
	}
	if h.Bare {
		return jen.Op("*").Add(f.idem("Transition")).Add(list("[", "]", oneLine, f.txType(), f.eventType(h)))
	}
	return jen.Op("*").Add(f.idem("Handler")).Add(list("[", "]", oneLine, f.txType(), f.eventType(h), f.resultType(h)))
}

// results are the results of a handler and of its wrapper.
func (f *file) results(h *model.Handler) *jen.Statement {
	if h.Result == nil {
		return jen.Error()
	}
	return jen.Params(f.typ(h.Result), jen.Error())
}

func typeName(g *model.Group) string {
	if g.Type == nil {
		return ""
	}
	return g.Type.Obj().Name()
}

// link is a name in documentation: a link where it is exported throughout, since others are not linked.
func link(parts ...string) string {
	text := ""
	exported := true
	for i, p := range parts {
		if i > 0 {
			text += "."
		}
		text += p
		exported = exported && ast.IsExported(p)
	}
	if exported {
		return "[" + text + "]"
	}
	return text
}

// check refuses what the code below could not render.
func (f *file) check(g *model.Group) error {
	if (g.Type == nil) != (g.Kind == model.Functions) {
		return bug("group %s has the wrong kind", g.Name)
	}
	if f.pkg.Store == nil {
		return bug("package %s has no store", f.pkg.Path)
	}
	for _, h := range g.Handlers {
		if (h.Payload >= 0) == (h.Args != "") || h.Payload >= len(h.Params) {
			return bug("handler %s has no payload", h.Name)
		}
		if len(h.Key) == 0 && !h.Bare {
			return bug("handler %s has no key", h.Name)
		}
		for _, p := range slices.Concat(h.Key, h.Fingerprint) {
			if h.Params[p.Param].Role != model.Value {
				return bug("%s: part %s is not of the payload", p.Pos, p.Label)
			}
		}
	}
	for _, m := range g.Forwards {
		if !m.Exported() && m.Pkg() != f.pkg.Types {
			return bug("method %s of %s cannot be passed on", m.Name(), g.Name)
		}
	}
	return nil
}
