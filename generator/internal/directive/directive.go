package directive

import (
	"go/ast"
	"go/token"
)

// A Directive is one //idem: comment, known to be right in everything that syntax can tell.
type Directive struct {
	Verb string
	Pos  token.Position // of the "//"
	// Change is what stands before the arguments of //idem:transition and //idem:states, and nil for the others.
	Change *Change
	Args   []Arg // in order; names, repeats, allowed words and the form of values are checked
}

// An Arg is one name=value of a directive.
type Arg struct {
	Name, Value string // Value is unquoted
	Pos         token.Position
	ValuePos    token.Position // of the value's first character, inside the quotes if it has any
}

// Arg returns the argument of that name.
func (d *Directive) Arg(name string) (Arg, bool) {
	for _, a := range d.Args {
		if a.Name == name {
			return a, true
		}
	}
	return Arg{}, false
}

// Placed is a directive with the declaration that it belongs to. Where neither Func nor Method is set, it stands at
// the top level of the file and speaks for the package.
type Placed struct {
	*Directive
	Func   *ast.FuncDecl // a function or a method
	Iface  *ast.TypeSpec // the interface, with Method
	Method *ast.Field    // a method of an interface, with exactly one name
	Type   *ast.TypeSpec // a type, of //idem:states
}

// Node is the declaration of the handler that the directive stands on; nil for one at the top level.
func (p *Placed) Node() ast.Node {
	switch {
	case p.Func != nil:
		return p.Func
	case p.Method != nil:
		return p.Method
	default:
		return nil
	}
}
