package analyze

import (
	"go/types"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/model"
)

// A cursor is a value on the way from a parameter to a key part: how generated code reaches it, and when it is there.
// Cursors are values: each step returns another one.
type cursor struct {
	pkg    *types.Package // of the generated code
	param  int
	root   types.Type // of the parameter
	typ    types.Type
	steps  []model.Step
	guards []model.Guard
	// addressable says that & may be put before the value, and so that methods of its pointer can be called.
	addressable bool
	// names are the fields passed, with embedded marking those that promotion can leave out.
	names    []string
	embedded []bool
	// hidden is the struct from which embedded fields were entered whose names cannot be written in pkg; what is promoted
	// from them can.
	hidden types.Type
	// blocked says that pkg cannot write the way to this value.
	blocked bool
	// delivery is the broker's message that the way leads into, if the value is of that and not of what it carries.
	delivery types.Type
}

func newCursor(pkg *types.Package, param int, t types.Type) cursor {
	return cursor{pkg: pkg, param: param, root: t, typ: t, addressable: true}
}

// guard requires the value itself to be there: not nil, or with a field name, that field to be true.
func (c cursor) guard(field string) cursor {
	c.guards = append(slices.Clip(c.guards), model.Guard{Depth: len(c.steps), Field: field})
	return c
}

// through follows a pointer on the way to a field or method; interfaces stay, but must not be nil.
func (c cursor) through() cursor {
	t := c.typ.Underlying()
	if p, ok := t.(*types.Pointer); ok {
		c = c.guard("")
		c.typ, c.addressable = p.Elem(), true
	} else if types.IsInterface(t) {
		c = c.guard("")
	}
	return c
}

// field steps into a field of the struct that the value is or points to.
func (c cursor) field(v *types.Var) cursor {
	c = c.through()
	base := c.typ
	if _, body := brokerOf(base); body != v.Name() || body == "" {
		c = c.deliveredBy(base)
	}
	c.typ = v.Type()
	c.names = append(slices.Clip(c.names), v.Name())
	c.embedded = append(slices.Clip(c.embedded), v.Embedded())
	if v.Name() == "_" {
		c.blocked = true
		return c
	}
	if !v.Exported() && (v.Pkg() == nil || v.Pkg().Path() != c.pkg.Path()) {
		if _, pointer := v.Type().Underlying().(*types.Pointer); !v.Embedded() || pointer {
			c.blocked = true // nothing is promoted, or what is cannot be guarded against nil
		} else if c.hidden == nil {
			c.hidden = base
		}
		return c
	}
	if c.hidden != nil {
		obj, _, _ := types.LookupFieldOrMethod(c.hidden, true, c.pkg, v.Name())
		if promoted, ok := obj.(*types.Var); !ok || promoted.Origin() != v.Origin() {
			c.blocked = true
		}
		c.hidden = nil
	}
	c.steps = append(slices.Clip(c.steps), model.Step{Name: v.Name()})
	return c
}

// deliveredBy notes that the value is of a broker's message, where t is one.
func (c cursor) deliveredBy(t types.Type) cursor {
	if broker, _ := brokerOf(t); broker != "" && c.delivery == nil {
		c.delivery = t
	}
	return c
}

// call steps to the result of a method without arguments.
func (c cursor) call(fn *types.Func) cursor {
	c = c.through().deliveredBy(c.typ)
	c.typ = fn.Signature().Results().At(0).Type()
	c.names = append(slices.Clip(c.names), fn.Name()+"()")
	c.embedded = append(slices.Clip(c.embedded), false)
	c.steps = append(slices.Clip(c.steps), model.Step{Name: fn.Name(), Call: true})
	c.addressable, c.hidden = false, nil
	return c
}

// path writes the way in full: "Order.Base.ID".
func (c cursor) path() string { return strings.Join(c.names, ".") }

// label writes the way as short as Go allows, without embedded fields: so that a key's shape survives it when fields are
// gathered in an embedded struct.
func (c cursor) label() string {
	var short []string
	for i, name := range c.names {
		if !c.embedded[i] || i == len(c.names)-1 {
			short = append(short, name)
		}
	}
	if len(short) < len(c.names) && !c.leadsHere(short) {
		return c.path()
	}
	return strings.Join(short, ".")
}

// leadsHere says that a chain of selectors from the parameter ends at this very value.
func (c cursor) leadsHere(chain []string) bool {
	t, depth := c.root, 0
	for _, name := range chain {
		obj, index, _ := types.LookupFieldOrMethod(t, true, c.pkg, strings.TrimSuffix(name, "()"))
		switch obj := obj.(type) {
		case *types.Var:
			t = obj.Type()
		case *types.Func:
			if obj.Signature().Results().Len() != 1 {
				return false
			}
			t = obj.Signature().Results().At(0).Type()
		default:
			return false
		}
		depth += len(index)
	}
	return depth == len(c.names)
}

// part is what generated code needs to know to read the value.
func (c cursor) part() model.Part {
	return model.Part{Param: c.param, Steps: c.steps, Guards: c.guards, Type: c.typ}
}

// structOf is the struct that t is or points to, or nil.
func structOf(t types.Type) *types.Struct {
	u := t.Underlying()
	if p, ok := u.(*types.Pointer); ok {
		u = p.Elem().Underlying()
	}
	st, _ := u.(*types.Struct)
	return st
}
