package analyze

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/directive"
	"github.com/idemgen/idemgen/generator/internal/load"
	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/names"
)

// setFields names the fields of a handler's argument struct.
func (h *handler) setFields() {
	var scope names.Scope
	for i := range h.Params {
		if p := &h.Params[i]; p.Role == model.Value {
			p.Field = scope.Unique(names.Exported(p.Name))
		}
	}
}

// checkNames settles every name of generated code, and reports those that cannot be.
func (a *analyzer) checkNames(scans []*scan) {
	for _, s := range scans {
		if len(s.handlers) > 0 {
			c := &nameCheck{s: s, imported: s.importNames(), taken: map[string]claim{}}
			c.predeclared()
			c.wrappers()
			c.argsStructs()
			for _, g := range s.out.Groups {
				c.members(g)
			}
		}
	}
	a.checkStoredNames(scans)
}

// checkStoredNames refuses two handlers of a module that would share rows.
func (a *analyzer) checkStoredNames(scans []*scan) {
	type row struct{ module, name string }
	first := map[row]*handler{}
	var all []*handler
	for _, s := range scans {
		all = append(all, s.handlers...)
	}
	slices.SortStableFunc(all, func(x, y *handler) int { return byPosition(x.Pos, y.Pos) })
	for _, h := range all {
		key := row{h.s.Module.Dir, h.Name}
		other, twice := first[key]
		if !twice {
			first[key] = h
			continue
		}
		if h.Bare && other.Bare {
			continue // they store nothing; equal statements are refused where they share a store
		}
		a.diags.Add(h.namePos, codeTwoNames, "give one of them another name with name=: keys are stored under it",
			"%s and %s at %s are both named %s, so an event of one would pass for a repeat of the other's",
			h.Source, other.Source, at(other.namePos), h.Name)
	}
}

// A claim is one generated name, and which handler it is for.
type claim struct {
	what string
	pos  token.Position
}

// A nameCheck looks for collisions in one package.
type nameCheck struct {
	s        *scan
	imported map[string]token.Position
	taken    map[string]claim // generated names at package level
}

// needed are the predeclared identifiers that generated code uses.
var needed = []string{
	"any", "bool", "byte", "error", "false", "float64", "int", "int64", "nil", "string", "true", "uint64",
}

// predeclared refuses a package that gives another meaning to what generated code uses.
func (c *nameCheck) predeclared() {
	for _, name := range needed {
		if pos, ok := c.s.declared(name); ok {
			c.s.a.diags.Add(pos, codePredeclared, "rename it", "package %s declares %s, which generated code needs with Go's own meaning", c.s.Name, name)
		}
	}
}

// declared says where the package itself declares name; what stands in our own file does not count.
func (s *scan) declared(name string) (token.Position, bool) {
	obj := s.Types.Scope().Lookup(name)
	if obj == nil {
		return token.Position{}, false
	}
	pos := s.a.position(obj.Pos())
	return pos, filepath.Base(pos.Filename) != load.GenFile // what is there and is not ours is diagnosed as a whole
}

// importNames are the names that imports have in the package's files: Go lets no package-level declaration share one.
func (s *scan) importNames() map[string]token.Position {
	out := map[string]token.Position{}
	for _, f := range s.Files {
		if f.Syntax == nil || f.Name == s.Own {
			continue
		}
		for _, imp := range f.Syntax.Imports {
			if name := s.importName(imp); name != "_" && name != "." && name != "" {
				out[name] = s.a.position(imp.Pos())
			}
		}
	}
	return out
}

func (s *scan) importName(imp *ast.ImportSpec) string {
	if imp.Name != nil {
		return imp.Name.Name
	}
	if obj, ok := s.Info.Implicits[imp].(*types.PkgName); ok {
		return obj.Name()
	}
	path, err := strconv.Unquote(imp.Path.Value)
	if err != nil {
		return ""
	}
	for _, p := range s.Types.Imports() {
		if p.Path() == path {
			return p.Name()
		}
	}
	return ""
}

// free says that a name may be generated at package level; where says what is in the way.
func (c *nameCheck) free(name string) (where string, ok bool) {
	if pos, declared := c.s.declared(name); declared {
		return "is declared at " + at(pos), false
	}
	if pos, imported := c.imported[name]; imported {
		return "is the name of an import at " + at(pos), false
	}
	return "", true
}

// take claims a package-level name for a handler.
func (c *nameCheck) take(name, what string, pos token.Position, mend string) {
	if where, ok := c.free(name); !ok {
		c.s.a.diags.Add(pos, codeDeclared, mend, "the generated %s would be called %s, and that name %s", what, name, where)
		return
	}
	if other, twice := c.taken[name]; twice {
		c.s.a.diags.Add(pos, codeCollision, "rename one of the two: generated names follow from those of handlers and their types",
			"the generated %s would be called %s, as the %s for the handler at %s is", what, name, other.what, at(other.pos))
		return
	}
	c.taken[name] = claim{what, pos}
}

// wrappers claims the types, their constructors and the specifications.
func (c *nameCheck) wrappers() {
	for _, g := range c.s.out.Groups {
		pos := g.Handlers[0].Pos
		mend := "rename it, or the handler's type: generated names follow from that"
		if g.Type == nil {
			mend = "rename it: the type for the functions of a package is always called so"
		}
		c.take(g.Name, "type", pos, mend)
		c.take(g.Constructor, "constructor", pos, mend)
		for _, h := range g.Handlers {
			const mend = "rename it, or the handler: generated names follow from that"
			if !h.Bare {
				c.take(names.Spec(typeNameOf(g), h.Method), "variable", h.Pos, mend)
			}
			if h.Transition != nil {
				c.take(names.Transition(typeNameOf(g), h.Method), "variable", h.Pos, mend)
			}
		}
	}
}

// argsStructs names the argument structs: after the handler alone where only one handler wants that name.
func (c *nameCheck) argsStructs() {
	wanted := map[string]int{}
	plain := func(g *model.Group, h *model.Handler) string {
		return names.ArgsStruct("", h.Method, ast.IsExported(g.Name))
	}
	c.eachArgs(func(g *model.Group, h *model.Handler) { wanted[plain(g, h)]++ })
	c.eachArgs(func(g *model.Group, h *model.Handler) {
		name := plain(g, h)
		_, free := c.free(name)
		if _, taken := c.taken[name]; !free || taken || wanted[name] > 1 {
			name = names.ArgsStruct(typeNameOf(g), h.Method, ast.IsExported(g.Name))
		}
		h.Args = name
		c.take(name, "argument struct", h.Pos, "rename it, or the handler: generated names follow from that")
	})
}

func (c *nameCheck) eachArgs(do func(*model.Group, *model.Handler)) {
	for _, g := range c.s.out.Groups {
		for _, h := range g.Handlers {
			values := 0
			for _, p := range h.Params {
				if p.Role == model.Value {
					values++
				}
			}
			if values > 1 {
				do(g, h)
			}
		}
	}
}

// members claims the fields and methods of a wrapper.
func (c *nameCheck) members(g *model.Group) {
	taken := map[string]claim{}
	take := func(name, what string, pos token.Position, code diag.Code) {
		if other, twice := taken[name]; twice {
			c.s.a.diags.Add(pos, code, "rename one of the two",
				"%s would have two members called %s: %s and %s", g.Name, name, other.what, what)
			return
		}
		taken[name] = claim{what, pos}
	}
	take("Guard", "the one that returns its guard", g.Handlers[0].Pos, codeCollision)
	for _, h := range g.Handlers {
		take(h.Method, "the handler "+h.Method, h.Pos, codeCollision)
	}
	for _, m := range g.Forwards {
		take(m.Name(), "the method "+m.Name(), c.s.methodPos(m, g.Handlers[0].Pos), codeCollision)
	}
	for _, h := range g.Handlers {
		take(names.Accessor(h.Method), "the accessor of "+h.Method, h.Pos, codeCollision)
		take(names.Guarded(h.Method), "the field for "+h.Method, h.Pos, codeCollision)
	}
}

// settingsArg is an argument of the package's directive.
func (s *scan) settingsArg(name string) (directive.Arg, bool) {
	if s.settings == nil {
		return directive.Arg{}, false
	}
	return s.settings.Arg(name)
}
