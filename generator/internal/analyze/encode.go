package analyze

import (
	"fmt"
	"go/types"

	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/directive"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// A refusal says why a value cannot be encoded.
type refusal struct {
	code diag.Code
	why  string // completes "X …"
	mend string
}

// An encoder decides how one value goes into a key or fingerprint.
type encoder struct {
	s    *scan
	role directive.TagRole
	tag  directive.Tag
	// byPath says that the part comes from key=, which takes no options.
	byPath bool
	// finite refuses what may be an infinity, for a column, which keeps the value and not only tells it from others.
	finite bool
}

// noun is what the value is to be part of.
func (e *encoder) noun() string {
	if e.role == directive.Fingerprint {
		return "fingerprint"
	}
	return "key"
}

// typeCode is the code for a type that will not do.
func (e *encoder) typeCode() diag.Code {
	if e.role == directive.Fingerprint {
		return codeFingerprint
	}
	return codeKeyType
}

// refuse refuses a type.
func (e *encoder) refuse(t types.Type, why, mend string) *refusal {
	return &refusal{e.typeCode(), fmt.Sprintf("is %s, which cannot be part of a %s: %s", e.s.typeText(t), e.noun(), why), mend}
}

// encode decides how the value at c is encoded, in the order of the design: what has no one text is refused before any
// marshaller is asked.
func (e *encoder) encode(c cursor) (model.Part, *refusal) {
	if p, ok := c.typ.Underlying().(*types.Pointer); ok {
		if _, again := p.Elem().Underlying().(*types.Pointer); again {
			return model.Part{}, e.refuse(c.typ, "a pointer to a pointer has more than one way to be absent", "use one pointer")
		}
		inner := c.guard("")
		inner.typ, inner.addressable = p.Elem(), true
		part, no := e.value(inner)
		if len(part.Steps) == len(c.steps) {
			part.Deref = true // else the selectors behind it do that
		}
		return part, no
	}
	return e.value(c)
}

// value encodes what is no pointer.
func (e *encoder) value(c cursor) (model.Part, *refusal) {
	t := types.Unalias(c.typ)
	if invalid(t) {
		return model.Part{}, &refusal{codeUnresolved, "has a type that could not be resolved", "see what go build says about it"}
	}
	if no := e.unfit(t); no != nil {
		return model.Part{}, no
	}
	part := c.part()
	if isNamed(t, "time", "Time") {
		part.Encode = model.Time
		return part, e.needsUTC(t)
	}
	if index, fn := promoted(t, "MarshalText"); fn != nil {
		return e.embeddedText(c, index[0])
	}
	if n, ok := nullableOf(t); ok {
		return e.nullable(c, n)
	}
	if e.tag.UTC {
		return part, &refusal{codeUTC, "is " + e.s.typeText(t) + ", and utc is only for time.Time", "remove utc"}
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return e.array(c, t, u)
	case *types.Slice:
		return e.slice(c, t)
	case *types.Basic:
		return e.basic(c, t, u)
	}
	if marshalsText(t, true) {
		return e.text(c, t)
	}
	mend := "tag its fields, or give it a MarshalText method"
	if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() != e.s.Path && !e.s.inModule(n.Obj().Pkg().Path()) {
		mend = "use another field, or name a getter of it with key="
	}
	return part, e.refuse(t, "a struct has no text of its own", mend)
}

// unfit refuses what has no text, or more than one for equal values, whatever its methods.
func (e *encoder) unfit(t types.Type) *refusal {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsFloat != 0 && e.role != directive.Fingerprint:
			return e.refuse(t, "two floats that should be equal seldom are", "use an integer (cents), a string or a decimal type")
		case u.Info()&types.IsComplex != 0:
			return e.refuse(t, "it is no business value", "use another field")
		case u.Kind() == types.Uintptr || u.Kind() == types.UnsafePointer:
			return e.refuse(t, "an address differs from run to run", "use another field")
		}
	case *types.Map:
		return e.refuse(t, "a map has no order", "use another field, or name a getter of an entry with key=")
	case *types.Signature, *types.Chan:
		return e.refuse(t, "it has no value that two deliveries share", "use another field")
	case *types.Interface:
		return e.refuse(t, "what it holds is only known at run time", "use a concrete type")
	case *types.Slice:
		if isNamed(t, "encoding/json", "RawMessage") || isBytes(u.Elem()) && has(t, "MarshalJSON") && !marshalsText(t, true) {
			return e.refuse(t, "equal JSON can be written in many ways", "decode it, and key on its fields")
		}
		if !isBytes(u.Elem()) {
			return e.refuse(t, "a list is seldom one business ID", "use another field, or name a getter that returns a string with key=")
		}
	case *types.Pointer, *types.Tuple, *types.TypeParam, *types.Union:
		return e.refuse(t, "it has no text", "use another field")
	}
	if isNamed(t, "math/big", "Float") && e.role != directive.Fingerprint {
		return e.refuse(t, "two floats that should be equal seldom are", "use an integer (cents), a string or a decimal type")
	}
	return nil
}

// needsUTC refuses a time that has not been declared an instant.
func (e *encoder) needsUTC(t types.Type) *refusal {
	if e.tag.UTC {
		return nil
	}
	mend := fmt.Sprintf(`if the instant is part of what makes two messages the same, write idem:"%s,utc"`, e.noun())
	if e.byPath {
		mend = "name a getter that returns the time as a string or as an integer"
	}
	return &refusal{codeTime, fmt.Sprintf("is %s: two spellings of one instant differ in zone and precision", e.s.typeText(t)), mend}
}

// nullable encodes a struct of a value and whether it is there.
func (e *encoder) nullable(c cursor, n nullable) (model.Part, *refusal) {
	st := structOf(c.typ)
	for v := range st.Fields() {
		if v.Name() == "InfinityModifier" && e.finite {
			return model.Part{}, &refusal{codeColumnType, "is " + e.s.typeText(c.typ) + ", whose infinities would be its zero time",
				"name a time.Time or a *time.Time, or set the column in the handler"}
		}
		if v.Name() == "InfinityModifier" && e.role == directive.Key && e.tag.AllowZero {
			return model.Part{}, &refusal{codeZero, "is " + e.s.typeText(c.typ) + ", whose infinities would be one key with its zero time",
				`remove allowzero`}
		}
	}
	for v := range st.Fields() {
		if v.Name() == n.Value {
			inner := c.guard(n.Valid).field(v)
			return e.encode(inner)
		}
	}
	return model.Part{}, e.refuse(c.typ, "this version of it has no field "+n.Value, "use another field")
}

// embeddedText encodes a struct whose text is an embedded field's, as in type Date struct{ time.Time }: by that field, so
// that a time in it is seen. Where there are other fields they would not be in the key.
func (e *encoder) embeddedText(c cursor, index int) (model.Part, *refusal) {
	st := structOf(c.typ)
	if st.NumFields() != 1 {
		return model.Part{}, e.refuse(c.typ, "its text is that of the embedded "+st.Field(index).Name()+", without the other fields",
			"give it a MarshalText method of its own, or tag its fields")
	}
	inner := c.field(st.Field(index))
	if inner.blocked || inner.hidden != nil {
		return model.Part{}, e.refuse(c.typ, "its embedded field cannot be reached from this package", "use another field")
	}
	return e.encode(inner)
}

// array encodes [N]T: a UUID, a text, or bytes.
func (e *encoder) array(c cursor, t types.Type, u *types.Array) (model.Part, *refusal) {
	part := c.part()
	bytes := isBytes(u.Elem())
	text := marshalsText(t, true)
	if bytes && u.Len() == 16 && (typeName(t) == "UUID" || !text) {
		part.Encode = model.UUID
		return part, nil
	}
	switch {
	case text:
		return e.text(c, t)
	case !bytes:
		return part, e.refuse(t, "a list is seldom one business ID", "use another field, or name a getter that returns a string with key=")
	case u.Len() == 0:
		return part, e.refuse(t, "it is always empty", "use another field")
	}
	part.Encode = model.Bytes
	return part, nil
}

// slice encodes []byte, and types that are one and have a text.
func (e *encoder) slice(c cursor, t types.Type) (model.Part, *refusal) {
	if marshalsText(t, true) {
		return e.text(c, t)
	}
	part := c.part()
	part.Encode = model.Bytes
	return part, nil
}

// basic encodes strings, integers, and where they are allowed bools and floats.
func (e *encoder) basic(c cursor, t types.Type, u *types.Basic) (model.Part, *refusal) {
	part := c.part()
	switch info := u.Info(); {
	case info&types.IsFloat != 0:
		part.Encode = model.Float
	case marshalsText(t, true):
		return e.text(c, t)
	case info&types.IsString != 0:
		part.Encode = model.String
	case info&types.IsUnsigned != 0:
		part.Encode = model.Uint
	case info&types.IsInteger != 0:
		part.Encode = model.Int
	case info&types.IsBoolean != 0:
		part.Encode = model.Bool
		if e.role != directive.Fingerprint && !e.tag.AllowZero {
			mend := `if false is a business value of its own, write idem:"key,allowzero"`
			if e.byPath {
				mend = "name a getter that returns a string"
			}
			return part, &refusal{codeBool, "is " + e.s.typeText(t) + ", whose zero is false: a missing field could not be told from it", mend}
		}
	default:
		return part, e.refuse(t, "it has no text", "use another field")
	}
	return part, nil
}

// text encodes an encoding.TextMarshaler, and finds out how its zero is told.
func (e *encoder) text(c cursor, t types.Type) (model.Part, *refusal) {
	part := c.part()
	part.Encode = model.Text
	part.AddrOf = !marshalsText(t, false)
	switch {
	case hasIsZero(t, c.addressable || part.AddrOf):
		part.Zero = model.ZeroByMethod
	case comparable(t) && e.s.nameable(c.typ):
		part.Zero = model.ZeroByValue
	default:
		part.Zero = model.ZeroByText
		if _, slice := t.Underlying().(*types.Slice); !slice && e.role == directive.Key && !e.tag.AllowZero {
			return part, &refusal{codeZero,
				"is " + e.s.typeText(t) + ", whose zero value generated code cannot tell from others",
				`give the type a method IsZero() bool, or if its zero is a business value, write idem:"key,allowzero"`}
		}
	}
	return part, nil
}
