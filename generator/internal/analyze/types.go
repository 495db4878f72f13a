package analyze

import (
	"go/types"
	"iter"
	"strings"
)

// A nullable says which field of a struct holds its value, and which says that it is there.
type nullable struct{ Value, Valid string }

// nullables are the structs that stand for a value or none. Those with infinities beside the value are here too: an
// infinite time has a zero one, which no key accepts.
var nullables = map[string]map[string]nullable{
	sqlPath: {
		"Null":        {"V", "Valid"},
		"NullBool":    {"Bool", "Valid"},
		"NullByte":    {"Byte", "Valid"},
		"NullFloat64": {"Float64", "Valid"},
		"NullInt16":   {"Int16", "Valid"},
		"NullInt32":   {"Int32", "Valid"},
		"NullInt64":   {"Int64", "Valid"},
		"NullString":  {"String", "Valid"},
		"NullTime":    {"Time", "Valid"},
	},
	pgxPath + "/pgtype": {
		"Bool":        {"Bool", "Valid"},
		"Date":        {"Time", "Valid"},
		"Float4":      {"Float32", "Valid"},
		"Float8":      {"Float64", "Valid"},
		"Int2":        {"Int16", "Valid"},
		"Int4":        {"Int32", "Valid"},
		"Int8":        {"Int64", "Valid"},
		"Text":        {"String", "Valid"},
		"Time":        {"Microseconds", "Valid"},
		"Timestamp":   {"Time", "Valid"},
		"Timestamptz": {"Time", "Valid"},
		"UUID":        {"Bytes", "Valid"},
		"Uint32":      {"Uint32", "Valid"},
		"Uint64":      {"Uint64", "Valid"},
	},
	"github.com/google/uuid":        {"NullUUID": {"UUID", "Valid"}},
	"github.com/gofrs/uuid":         {"NullUUID": {"UUID", "Valid"}},
	"github.com/gofrs/uuid/v5":      {"NullUUID": {"UUID", "Valid"}},
	"github.com/shopspring/decimal": {"NullDecimal": {"Decimal", "Valid"}},
}

// nullableOf says that t is in the table, or like what is in it.
func nullableOf(t types.Type) (nullable, bool) {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil || structOf(n) == nil {
		return nullable{}, false
	}
	found, ok := nullables[n.Obj().Pkg().Path()][n.Obj().Name()]
	if !ok && !marshalsText(t, true) {
		return nullableLike(n)
	}
	return found, ok
}

// nullableLike knows a nullable by its shape, as sqlc makes one for each enum: a struct of Valid and one other field that
// is a driver.Valuer. Without that method, Valid could be about anything.
func nullableLike(t *types.Named) (nullable, bool) {
	st, ok := t.Underlying().(*types.Struct)
	if !ok || st.NumFields() != 2 || !method(t, true, "Value", "() (database/sql/driver.Value, error)") {
		return nullable{}, false
	}
	for i, valid := range []*types.Var{st.Field(0), st.Field(1)} {
		value := st.Field(1 - i)
		if valid.Name() == "Valid" && types.Identical(valid.Type(), types.Typ[types.Bool]) && value.Exported() && value.Name() != "Valid" {
			return nullable{value.Name(), valid.Name()}, true
		}
	}
	return nullable{}, false
}

// promoted is the index path and the package of a method that a struct has from an embedded field, or nil.
func promoted(t types.Type, name string) ([]int, *types.Func) {
	obj, index, _ := types.LookupFieldOrMethod(t, true, nil, name)
	if fn, ok := obj.(*types.Func); ok && len(index) > 1 {
		return index, fn
	}
	return nil, nil
}

// isBytes says that t, the element of an array or slice, is byte itself.
func isBytes(t types.Type) bool {
	b, ok := types.Unalias(t).(*types.Basic)
	return ok && b.Kind() == types.Uint8
}

// method finds a method of t, or with addressable of *t, by its signature.
func method(t types.Type, addressable bool, name, signature string) bool {
	obj, _, _ := types.LookupFieldOrMethod(t, addressable, nil, name)
	fn, ok := obj.(*types.Func)
	return ok && shape(fn.Signature()) == signature
}

// has says that t or *t has an exported method of that name.
func has(t types.Type, name string) bool {
	obj, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
	_, ok := obj.(*types.Func)
	return ok
}

// marshalsText says that t, or with addressable *t, is an encoding.TextMarshaler.
func marshalsText(t types.Type, addressable bool) bool {
	return method(t, addressable, "MarshalText", "() ([]byte, error)")
}

func hasIsZero(t types.Type, addressable bool) bool {
	return method(t, addressable, "IsZero", "() (bool)")
}

// typeName is the name of a named type, or empty.
func typeName(t types.Type) string {
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}

// comparable says that == on two values of t compiles and cannot panic, as it does on what interfaces hold.
func comparable(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() != types.Invalid && u.Kind() != types.UntypedNil
	case *types.Pointer, *types.Chan:
		return true
	case *types.Array:
		return comparable(u.Elem())
	case *types.Struct:
		for v := range u.Fields() {
			if !comparable(v.Type()) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// nameable says that generated code in the scan's package can write t: that it uses no unexported name of another
// package, and none that it may not import. An alias is written as such, whatever it stands for.
func (s *scan) nameable(t types.Type) bool {
	switch t := t.(type) {
	case *types.Alias:
		return s.reachable(t.Obj()) && s.allNameable(t.TypeArgs().Types())
	case *types.Named:
		return s.reachable(t.Obj()) && s.allNameable(t.TypeArgs().Types())
	case *types.Pointer:
		return s.nameable(t.Elem())
	case *types.Slice:
		return s.nameable(t.Elem())
	case *types.Array:
		return s.nameable(t.Elem())
	case *types.Chan:
		return s.nameable(t.Elem())
	case *types.Map:
		return s.nameable(t.Key()) && s.nameable(t.Elem())
	case *types.Signature:
		return s.allNameable(variableTypes(t.Params())) && s.allNameable(variableTypes(t.Results()))
	default:
		return true
	}
}

func (s *scan) allNameable(all iter.Seq[types.Type]) bool {
	for t := range all {
		if !s.nameable(t) {
			return false
		}
	}
	return true
}

// reachable says that the scan's package can write the name of a type.
func (s *scan) reachable(obj *types.TypeName) bool {
	p := obj.Pkg()
	return p == nil || p.Path() == s.Path || obj.Exported() && importable(p.Path(), s.Path)
}

func variableTypes(tuple *types.Tuple) iter.Seq[types.Type] {
	return func(yield func(types.Type) bool) {
		for v := range tuple.Variables() {
			if !yield(v.Type()) {
				return
			}
		}
	}
}

// importable says that the package at user may import the one at path, by the rule for internal folders.
func importable(path, user string) bool {
	elems := strings.Split(path, "/")
	for i := len(elems) - 1; i >= 0; i-- {
		if elems[i] == "internal" {
			parent := strings.Join(elems[:i], "/")
			return parent != "" && (user == parent || strings.HasPrefix(user, parent+"/"))
		}
	}
	return true
}
