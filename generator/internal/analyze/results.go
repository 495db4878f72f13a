package analyze

import (
	"go/types"
	"reflect"
	"slices"
	"strings"
)

// results checks what the handler returns: error, or (R, error), where R survives being stored.
func (h *handler) results() {
	tuple := h.sig.Results()
	n := tuple.Len()
	if n == 0 {
		h.fail(h.Pos, codeResults, "return an error: it is what rolls the work back, so that a redelivery can try again",
			"%s returns nothing", h.Source)
		return
	}
	last := tuple.At(n - 1)
	lastPos := h.s.a.position(last.Pos())
	if !types.Identical(last.Type(), types.Universe.Lookup("error").Type()) {
		if invalid(last.Type()) {
			h.fail(lastPos, codeUnresolved, "see what go build says about it", "a result type of %s could not be resolved", h.Source)
			return
		}
		h.fail(lastPos, codeResults, "return error or (R, error)", "%s returns %s last, and not error",
			h.Source, h.s.typeText(last.Type()))
		return
	}
	switch {
	case n > 2:
		h.fail(h.s.a.position(tuple.At(0).Pos()), codeResults, "return (R, error), with the results in one struct R",
			"%s returns %d results, and a repeat can return one", h.Source, n-1)
	case n == 2:
		h.result(tuple.At(0))
	}
}

// result checks R.
func (h *handler) result(v *types.Var) {
	pos := h.s.a.position(v.Pos())
	t := v.Type()
	if invalid(t) {
		h.fail(pos, codeUnresolved, "see what go build says about it", "the result type %s of %s could not be resolved",
			types.ExprString(h.typeExpr(0, true)), h.Source)
		return
	}
	if b, ok := types.Unalias(t).(*types.Basic); ok && b.Kind() == types.Bool {
		h.fail(pos, codeBoolResult, "return error alone, and an error to have the message delivered again; "+
			"if it is the handler's result, return a struct or a named type", "%s returns (bool, error): whether to retry, it seems", h.Source)
		return
	}
	if isMessage(t) {
		h.Result, h.Message = t, true
		return
	}
	w := resultWalk{h: h}
	if fault := w.walk(t, w.name(deref(t)), false); fault != nil {
		h.fail(pos, fault.code, fault.mend, "the result of %s would not survive being stored: %s", h.Source, fault.why)
		return
	}
	h.Result = t
}

// A resultWalk follows a result type as encoding/json does, both ways.
type resultWalk struct {
	h     *handler
	seen  []seenType
	grown growth
}

// A seenType is a named type that has been checked, or is being.
type seenType struct {
	types.Type
	addressable bool
}

// lost refuses a type.
func lost(path, why, mend string) *refusal {
	if rest, same := strings.CutPrefix(why, "is "+path); same {
		return &refusal{codeResultLost, path + rest, mend} // the result itself has no other path
	}
	return &refusal{codeResultLost, path + " " + why, mend}
}

// walk checks a type at a path. With addressable the encoder can take the value's address, and so finds marshallers
// with pointer receivers.
func (w *resultWalk) walk(t types.Type, path string, addressable bool) *refusal {
	t = types.Unalias(t)
	if invalid(t) {
		return &refusal{codeUnresolved, path + " has a type that could not be resolved", "see what go build says about it"}
	}
	if w.known(t, addressable) {
		return nil
	}
	if w.grown.tooFar(t) {
		return lost(path[:min(len(path), 60)]+"…", "is too deep to follow", "give a type on the way to it MarshalJSON and UnmarshalJSON")
	}
	if hasProto(t) {
		if path == w.name(t) {
			return &refusal{codeResultProto, path + " is a protobuf message, and not returned by a pointer to it alone",
				"return (*" + w.name(deref(t)) + ", error), which protobuf encodes, or a struct of your own with what a repeat needs"}
		}
		return &refusal{codeResultProto, path + " is a protobuf message inside of another type, which would be stored as JSON",
			"return the message itself, which protobuf encodes, or a struct of your own with what a repeat needs"}
	}
	if done, no := w.marshallers(t, path, addressable); done || no != nil {
		return no
	}
	text := w.h.s.typeText(t)
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Info()&types.IsComplex != 0 || u.Kind() == types.UnsafePointer {
			return lost(path, "is "+text+", which JSON cannot hold", "return it in another form")
		}
	case *types.Pointer:
		if path == w.name(t) {
			path = w.name(u.Elem())
		}
		return w.walk(u.Elem(), path, true)
	case *types.Slice:
		return w.walk(u.Elem(), w.element(t, u.Elem(), path), true)
	case *types.Array:
		return w.walk(u.Elem(), w.element(t, u.Elem(), path), addressable)
	case *types.Map:
		if no := w.mapKey(u.Key(), path); no != nil {
			return no
		}
		return w.walk(u.Elem(), w.element(t, u.Elem(), path), false)
	case *types.Struct:
		return w.fields(u, path, addressable)
	case *types.Interface:
		return lost(path, "is "+text+": what an interface held cannot be read back",
			"use a concrete type, or give the type that holds it MarshalJSON and UnmarshalJSON")
	case *types.Signature, *types.Chan:
		return lost(path, "is "+text+", which cannot be stored", "leave it out of the result")
	default:
		return lost(path, "is "+text+", which cannot be stored", "leave it out of the result")
	}
	return nil
}

// name is a type as a path begins with it.
func (w *resultWalk) name(t types.Type) string {
	if _, unnamed := types.Unalias(t).(*types.Struct); unnamed {
		return "struct{…}"
	}
	return w.h.s.typeText(t)
}

// element is the path of an element. Where the path is only a type without a name, as in a result []*Line, the element's
// type says as much: Line.
func (w *resultWalk) element(t, elem types.Type, path string) string {
	if _, named := t.(*types.Named); !named && path == w.name(t) {
		return w.name(deref(elem))
	}
	return path + "[]"
}

// marshallers settles types that encode themselves; done says that nothing is left to look at.
func (w *resultWalk) marshallers(t types.Type, path string, addressable bool) (done bool, no *refusal) {
	if types.IsInterface(t) {
		return false, nil
	}
	pairs := []struct{ write, read, writeSig, readSig string }{
		{"MarshalJSON", "UnmarshalJSON", "() ([]byte, error)", "([]byte) (error)"},
		{"MarshalText", "UnmarshalText", "() ([]byte, error)", "([]byte) (error)"},
	}
	for _, p := range pairs {
		writes, reads := method(t, true, p.write, p.writeSig), method(t, true, p.read, p.readSig)
		switch {
		case !writes && !reads:
			continue
		case !reads:
			return true, lost(path, "has "+p.write+" but no "+p.read+", so it could not be read back", "add "+p.read)
		case !writes:
			return true, lost(path, "has "+p.read+" but no "+p.write, "add "+p.write)
		case !addressable && !method(t, false, p.write, p.writeSig):
			return true, lost(path, "has "+p.write+" on its pointer, which encoding/json does not call here",
				"return a pointer to it, or give "+p.write+" a value receiver")
		}
		if index, fn := promoted(t, p.write); fn != nil && structOf(t).NumFields() > 1 {
			name := structOf(t).Field(index[0]).Name()
			return true, lost(path, "has "+p.write+" from the embedded "+name+", which leaves out the other fields",
				"name the field instead of embedding it")
		}
		return true, nil
	}
	return false, nil
}

// mapKey checks the key of a map.
func (w *resultWalk) mapKey(t types.Type, path string) *refusal {
	if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&(types.IsString|types.IsInteger) != 0 {
		return nil
	}
	if !types.IsInterface(t) && marshalsText(t, false) && method(t, true, "UnmarshalText", "([]byte) (error)") {
		return nil
	}
	return lost(path, "is a map by "+w.h.s.typeText(t)+", and JSON's maps are by text", "use a key that is a string, an integer or has a text")
}

// fields checks the fields of a struct.
func (w *resultWalk) fields(st *types.Struct, path string, addressable bool) *refusal {
	if no := w.sameName(st, path); no != nil {
		return no
	}
	for i := range st.NumFields() {
		v := st.Field(i)
		at := path + "." + v.Name()
		name, tagged := jsonName(st.Tag(i))
		if v.Name() == "_" || !v.Exported() && empty(v.Type()) {
			continue // holds nothing
		}
		if !v.Exported() {
			inner, isStruct := v.Type().Underlying().(*types.Struct)
			if !v.Embedded() || !isStruct || tagged && name == "-" {
				return lost(at, "is unexported, so encoding/json leaves it out",
					"export it, leave it out, or give the struct MarshalJSON and UnmarshalJSON")
			}
			if no := w.fields(inner, at, addressable); no != nil {
				return no
			}
			continue
		}
		if tagged && name == "-" && !empty(v.Type()) {
			return lost(at, `is tagged json:"-", so a repeat would return it empty`,
				"leave it out of the result, or give the struct MarshalJSON and UnmarshalJSON")
		}
		check := w.walk
		if v.Embedded() && !tagged && structOf(v.Type()) != nil {
			check = w.flatten
		}
		if no := check(v.Type(), at, addressable); no != nil {
			return no
		}
	}
	return nil
}

// flatten checks an embedded struct. Its fields become the outer struct's, and a marshaller of its own is not called: had
// it been promoted, there would be nothing to flatten.
func (w *resultWalk) flatten(t types.Type, path string, addressable bool) *refusal {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t, addressable = p.Elem(), true
	}
	if hasProto(t) {
		return w.walk(t, path, addressable)
	}
	if w.known(t, addressable) || w.grown.tooFar(t) {
		return nil
	}
	return w.fields(structOf(t), path, addressable)
}

// known notes a named type, and says that it has been checked or is being.
func (w *resultWalk) known(t types.Type, addressable bool) bool {
	if slices.ContainsFunc(w.seen, func(s seenType) bool { return types.Identical(s.Type, t) && (addressable || !s.addressable) }) {
		return true
	}
	if _, ok := types.Unalias(t).(*types.Named); ok {
		w.seen = append(w.seen, seenType{t, addressable})
	}
	return false
}

// sameName refuses two fields that have one name in JSON: encoding/json drops both, or the deeper one.
func (w *resultWalk) sameName(st *types.Struct, path string) *refusal {
	first := map[string]string{}
	var visit func(st *types.Struct, prefix string, seen []*types.Struct) *refusal
	visit = func(st *types.Struct, prefix string, seen []*types.Struct) *refusal {
		for i := range st.NumFields() {
			v := st.Field(i)
			name, tagged := jsonName(st.Tag(i))
			inner := structOf(v.Type())
			if v.Embedded() && !tagged && inner != nil {
				if !slices.Contains(seen, inner) && len(seen) <= maxDepth {
					if no := visit(inner, prefix+v.Name()+".", append(slices.Clip(seen), inner)); no != nil {
						return no
					}
				}
				continue
			}
			if !v.Exported() || tagged && name == "-" {
				continue
			}
			if name == "" {
				name = v.Name()
			}
			if other, twice := first[name]; twice {
				return lost(path+"."+prefix+v.Name(), "and "+other+" have one name in JSON, "+name+", so one of them is left out",
					"give them different json tags")
			}
			first[name] = prefix + v.Name()
		}
		return nil
	}
	return visit(st, "", []*types.Struct{st})
}

// jsonName is the name that a field's json tag gives it; tagged says that there is one.
func jsonName(tag string) (name string, tagged bool) {
	value := reflect.StructTag(tag).Get("json")
	if value == "-" {
		return "-", true
	}
	name, _, _ = strings.Cut(value, ",")
	return name, name != "" && name != "-" // `json:"-,"` is the name "-" itself, and rare enough to do without
}

// empty says that a type has only one value.
func empty(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Struct:
		return u.NumFields() == 0
	case *types.Array:
		return u.Len() == 0
	default:
		return false
	}
}

// isMessage says that t is a pointer to a protobuf message itself, so that it is a proto.Message.
func isMessage(t types.Type) bool {
	ptr, ok := types.Unalias(t).(*types.Pointer)
	if !ok || types.IsInterface(ptr.Elem()) {
		return false
	}
	// A promoted one would be the message of a part alone.
	obj, index, _ := types.LookupFieldOrMethod(t, false, nil, "ProtoReflect")
	fn, ok := obj.(*types.Func)
	if !ok || len(index) > 1 || fn.Signature().Params().Len() != 0 || fn.Signature().Results().Len() != 1 {
		return false
	}
	named, ok := types.Unalias(fn.Signature().Results().At(0).Type()).(*types.Named)
	return ok && named.Obj().Name() == "Message" && named.Obj().Pkg() != nil &&
		named.Obj().Pkg().Path() == "google.golang.org/protobuf/reflect/protoreflect"
}

// hasProto says that t, or what it points to, is a protobuf message.
func hasProto(t types.Type) bool {
	if types.IsInterface(t) {
		return false
	}
	return has(t, "ProtoReflect")
}
