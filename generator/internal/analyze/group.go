package analyze

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/names"
)

// group gathers the package's handlers by what they are declared on, in order of position.
func (s *scan) group() {
	byOwner := map[*types.TypeName]*model.Group{}
	for _, h := range s.handlers {
		var owner *types.TypeName
		if h.owner != nil {
			owner = h.owner.Obj()
		}
		g := byOwner[owner]
		if g == nil {
			g = &model.Group{Type: h.owner}
			switch {
			case owner == nil:
				g.Kind = model.Functions
			case h.isIface:
				g.Kind = model.Interface
			default:
				g.Kind = model.Methods
			}
			byOwner[owner] = g
			s.out.Groups = append(s.out.Groups, g)
		}
		g.Pointer = g.Pointer || h.pointer
		g.Handlers = append(g.Handlers, h.Handler)
	}
	for _, g := range s.out.Groups {
		if g.Kind == model.Interface {
			s.complete(g)
		}
		g.Name = names.Wrapper(typeNameOf(g), exported(g))
		g.Constructor = names.Constructor(g.Name)
	}
}

// typeNameOf is the name of a group's type; empty for functions.
func typeNameOf(g *model.Group) string {
	if g.Type == nil {
		return ""
	}
	return g.Type.Obj().Name()
}

// exported says that a group's handlers can be reached from other packages.
func exported(g *model.Group) bool {
	if g.Type != nil {
		return g.Type.Obj().Exported()
	}
	return slices.ContainsFunc(g.Handlers, func(h *model.Handler) bool { return ast.IsExported(h.Method) })
}

// complete makes a decorator whole: it guards what embedded interfaces of the package have annotated too, and forwards
// the rest.
func (s *scan) complete(g *model.Group) {
	iface, ok := g.Type.Underlying().(*types.Interface)
	if !ok {
		return // could not be type-checked: its methods have said so
	}
	pos := g.Handlers[0].Pos
	name := typeNameOf(g)
	if !iface.IsMethodSet() {
		s.a.diags.Add(pos, codeUnwrappable, "annotate the methods of an interface that is a set of methods only",
			"%s is a constraint, and nothing can implement it as a value", name)
		return
	}
	for m := range iface.Methods() {
		own := slices.ContainsFunc(g.Handlers, func(h *model.Handler) bool { return h.Func == m })
		if own {
			continue
		}
		if !m.Exported() && m.Pkg() != nil && m.Pkg().Path() != s.Path {
			s.a.diags.Add(pos, codeUnwrappable, "annotate the methods of an interface without it",
				"%s has the unexported method %s of package %s, which no decorator can have", name, m.Name(), m.Pkg().Name())
			return
		}
		if h := s.annotated(m); h != nil {
			g.Handlers = append(g.Handlers, inherit(h.Handler, name))
			continue
		}
		if s.unresolved(m.Signature()) && !s.lacksModules() {
			s.a.diags.Add(s.methodPos(m, pos), codeUnresolved, "see what go build says about it",
				"a type in the signature of %s.%s could not be resolved", name, m.Name())
		}
		if !s.nameable(m.Signature()) {
			s.a.diags.Add(pos, codeUnwrappable, "annotate the methods of an interface without it",
				"%s has the method %s of package %s, whose signature package %s cannot write", name, m.Name(), m.Pkg().Name(), s.Name)
		}
		g.Forwards = append(g.Forwards, m)
	}
	slices.SortStableFunc(g.Handlers, func(x, y *model.Handler) int { return byPosition(x.Pos, y.Pos) })
	slices.SortFunc(g.Forwards, func(x, y *types.Func) int { return strings.Compare(x.Name(), y.Name()) })
}

// annotated finds the handler of an interface's method.
func (s *scan) annotated(m *types.Func) *handler {
	for _, h := range s.handlers {
		if h.Func == m {
			return h
		}
	}
	return nil
}

// inherit is a handler as a decorator of another interface has it: the same rows, another place.
func inherit(h *model.Handler, owner string) *model.Handler {
	c := *h
	c.Source = owner + "." + h.Method
	c.Params = slices.Clone(h.Params)
	return &c
}

// unresolved says that a signature has a type that is not there.
func (s *scan) unresolved(sig *types.Signature) bool {
	for _, tuple := range []*types.Tuple{sig.Params(), sig.Results()} {
		for v := range tuple.Variables() {
			if invalid(v.Type()) {
				return true
			}
		}
	}
	return false
}

// lacksModules reports, in place of each type that could not be resolved, that modules are missing: one mend for them all.
func (s *scan) lacksModules() bool {
	if len(s.Missing) == 0 {
		return false
	}
	s.a.diags.Add(token.Position{Filename: s.Files[0].Name}, codeUnresolved, "run go mod tidy",
		"go.mod or go.sum lacks what package %s imports: %s", s.Name, strings.Join(s.Missing, ", "))
	return true
}

// methodPos is where a method of this package stands; another's stands at fallback.
func (s *scan) methodPos(m *types.Func, fallback token.Position) token.Position {
	if m.Pkg() != nil && m.Pkg().Path() == s.Path {
		return s.a.position(m.Pos())
	}
	return fallback
}
