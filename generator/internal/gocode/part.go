package gocode

import (
	"go/types"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/idemgen/idemgen/generator/internal/model"
)

// methods are the builders' methods for each encoding.
var methods = map[model.Encoding]string{
	model.String: "String", model.Int: "Int", model.Uint: "Uint", model.Bool: "Bool", model.Float: "Float",
	model.UUID: "UUID", model.Bytes: "Bytes", model.Text: "Text", model.Time: "Time",
}

// parts is the statements that give parts to a builder; event is what the function calls its parameter. Parts in a row
// that are there under the same condition share it.
func (f *file) parts(h *model.Handler, parts []model.Part, event, builder string, inKey bool) ([]jen.Code, error) {
	var code, there, absent []jen.Code
	condition := ""
	flush := func() {
		switch {
		case condition == "":
			code = append(code, there...)
		default:
			code = append(code, jen.If(jen.Id(condition)).Block(there...).Else().Block(absent...))
		}
		there, absent = nil, nil
	}
	for _, p := range parts {
		if c := present(root(h, event, p), p); c != condition {
			flush()
			condition = c
		}
		to := jen.Id(builder)
		if inKey && p.AllowZero {
			to = to.Dot("AllowZero").Call()
		}
		add, err := f.part(root(h, event, p), to, p)
		if err != nil {
			return nil, err
		}
		there = append(there, add)
		absent = append(absent, to.Clone().Dot("Absent").Call(jen.Lit(p.Label)))
	}
	flush()
	return code, nil
}

// part is the statement that gives a part that is there to a builder.
func (f *file) part(from string, to *jen.Statement, p model.Part) (jen.Code, error) {
	value := path(from, p.Steps)
	var variable jen.Code
	if needsVariable(p) {
		variable = jen.Id(f.local.value).Op(":=").Id(value)
		value = f.local.value
	}
	args, err := f.value(p, value)
	if err != nil {
		return nil, err
	}
	call := to.Clone().Dot(methods[p.Encode]).Call(append([]jen.Code{jen.Lit(p.Label)}, args...)...)
	if variable != nil {
		return jen.Block(variable, call), nil
	}
	return call, nil
}

// root is the parameter that a part is read from.
func root(h *model.Handler, event string, p model.Part) string {
	if h.Payload >= 0 {
		return event
	}
	return event + "." + h.Params[p.Param].Field
}

// path is the expression that goes some steps from a value.
func path(from string, steps []model.Step) string {
	var b strings.Builder
	b.WriteString(from)
	for _, s := range steps {
		b.WriteString("." + s.Name)
		if s.Call {
			b.WriteString("()")
		}
	}
	return b.String()
}

// present is the condition under which a part's value can be read; empty where it always can.
func present(from string, p model.Part) string {
	var conditions []string
	for _, g := range p.Guards {
		value := path(from, p.Steps[:g.Depth])
		if g.Field != "" {
			conditions = append(conditions, value+"."+g.Field)
		} else {
			conditions = append(conditions, value+" != nil")
		}
	}
	return strings.Join(conditions, " && ")
}

// needsVariable says that the value's address is needed and that a getter's result has none.
func needsVariable(p model.Part) bool {
	if p.Deref || !p.AddrOf && !(p.Encode == model.Bytes && isArray(p.Type)) {
		return false
	}
	return called(p)
}

// called says that a part's value is, or is in, what a getter returns.
func called(p model.Part) bool {
	return slices.ContainsFunc(p.Steps, func(s model.Step) bool { return s.Call })
}

func isArray(t types.Type) bool {
	_, ok := t.Underlying().(*types.Array)
	return ok
}

// pointee is the value of an expression that may be a pointer to it.
func pointee(p model.Part, expr string) string {
	if p.Deref {
		return "*" + expr
	}
	return expr
}

// value is what a builder's method takes besides the label.
func (f *file) value(p model.Part, expr string) ([]jen.Code, error) {
	value := pointee(p, expr)
	switch p.Encode {
	case model.String:
		return []jen.Code{convert(p.Type, "string", value)}, nil
	case model.Int:
		return []jen.Code{convert(p.Type, "int64", value)}, nil
	case model.Uint:
		return []jen.Code{convert(p.Type, "uint64", value)}, nil
	case model.Bool:
		return []jen.Code{convert(p.Type, "bool", value)}, nil
	case model.Float:
		return []jen.Code{convert(p.Type, "float64", value)}, nil
	case model.UUID:
		return []jen.Code{jen.Id(value)}, nil // every [16]byte is assignable to one
	case model.Bytes:
		if isArray(p.Type) {
			return []jen.Code{jen.Id(expr + "[:]")}, nil // a pointer to an array is sliced like the array
		}
		return []jen.Code{jen.Id(value)}, nil
	case model.Time:
		if f.isTime(p.Type) {
			return []jen.Code{jen.Id(value)}, nil
		}
		return []jen.Code{f.name("time", "time", "Time").Call(jen.Id(value))}, nil
	case model.Text:
		return f.text(p, expr)
	}
	return nil, bug("%s: part %s has the unknown encoding %q", p.Pos, p.Label, p.Encode)
}

// convert is a value as the basic type of that name.
func convert(t types.Type, to, value string) *jen.Statement {
	if basic, ok := types.Unalias(t).(*types.Basic); ok && basic.Name() == to {
		return jen.Id(value)
	}
	return jen.Id(to).Call(jen.Id(value))
}

func (f *file) isTime(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "Time" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "time"
}

// text is a text marshaler, and whether it is zero.
func (f *file) text(p model.Part, expr string) ([]jen.Code, error) {
	value := pointee(p, expr)
	marshaler := value
	if p.AddrOf {
		marshaler = "&" + expr
		if p.Deref {
			marshaler = expr
		}
	}
	zero, err := f.zero(p, expr, value)
	if err != nil {
		return nil, err
	}
	return []jen.Code{jen.Id(marshaler), zero}, nil
}

// zero is the expression that tells a text marshaler's zero value.
func (f *file) zero(p model.Part, expr, value string) (*jen.Statement, error) {
	switch p.Zero {
	case model.ZeroByText:
		return jen.False(), nil // the builder takes an empty text for zero
	case model.ZeroByMethod:
		return jen.Id(expr).Dot("IsZero").Call(), nil // a pointer has the method too
	}
	switch u := p.Type.Underlying().(type) {
	case *types.Struct, *types.Array:
		return jen.Id(value).Op("==").Parens(f.typ(p.Type).Values()), nil
	case *types.Basic:
		switch {
		case u.Info()&types.IsString != 0:
			return jen.Id(value).Op("==").Lit(""), nil
		case u.Info()&types.IsBoolean != 0:
			return jen.Op("!").Id(value), nil
		case u.Info()&types.IsNumeric != 0:
			return jen.Id(value).Op("==").Lit(0), nil
		}
	}
	return nil, bug("%s: part %s has no zero value of type %s", p.Pos, p.Label, p.Type)
}
