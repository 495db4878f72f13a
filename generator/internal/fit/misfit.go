package fit

import (
	"go/types"
	"slices"

	"github.com/idemgen/idemgen/generator/internal/model"
)

// fault is why a value does not fit.
type fault struct {
	why, mend string
	// byDDL says that the column's own type is the reason, and not the parameter that sqlc has made for it.
	byDDL bool
}

// unsupported is for columns that nothing is given to: what they make of a value is not the value.
var unsupported = fault{why: "that conversion is not supported", mend: "set the column in the handler, or name a column of another type"}

// misfit says why a value does not fit, nil where it does. Both have to take it: the column, as its DDL tells, and the
// parameter that sqlc has made. The two differ: a DECIMAL is a string to sqlc, and so are the bytes of a column that may be
// NULL; a date is a time.Time, an interval an int64; and what sqlc does not know takes anything.
func misfit(v *model.ColumnValue, u use) *fault {
	p, column := v.Part, v.Holds
	target, known := Of(v.Type)
	switch {
	case !known:
		return &unsupported
	case column.Class == model.OtherColumn && p.Encode == model.Time && target.Inner == "time":
		return &fault{why: "it does not keep an instant to the microsecond", mend: "set the column in the handler; or declare it timestamptz on PostgreSQL, datetime(6) or timestamp(6) on MySQL", byDDL: true}
	case column.Class == model.OtherColumn:
		return &fault{why: unsupported.why, mend: unsupported.mend, byDDL: true}
	case u == compared && p.Encode == model.Time:
		return &fault{why: "two times that should be equal seldom are to the last digit", mend: "name another column"}
	case u == compared && slices.Contains(incomparable, column.Class):
		return &fault{why: "two values that should be equal need not be to the database", mend: "name another column", byDDL: true}
	case column.Class == model.IntegerColumn && (p.Encode == model.Int || p.Encode == model.Uint):
		return misfitInteger(p, target, column, u)
	case column.Class == model.FloatColumn && p.Encode == model.Float:
		return misfitFloat(p, target, column)
	case column.Class == model.BytesColumn && target.Inner == "bytes" && p.Encode == model.UUID:
		if column.Bits != uuidBits {
			return &fault{why: "whether it holds a UUID's text or its bytes is not known", mend: "declare it BINARY(16), or name a getter of what is in it", byDDL: true}
		}
	case column.Class == model.BytesColumn && target.Inner == "string":
		return &fault{why: "the parameter that sqlc makes for bytes that may be NULL is a text", mend: "declare the column NOT NULL, or set it in the handler", byDDL: true}
	case !slices.Contains(accepts[column.Class][target.Inner], p.Encode):
		return &fault{why: "that is another kind of value", mend: "name a field of the column's kind"}
	}
	return nil
}

// uuidBits is the length of a UUID.
const uuidBits = 128

// incomparable are the classes of column that no row is known by.
var incomparable = []model.ColumnClass{model.FloatColumn, model.JSONColumn, model.TimeColumn}

// accepts are the kinds of value that a column of a class takes through a parameter, by what is made of it (Target.Inner).
// Integers and floats in columns of their own are told by their size besides.
var accepts = map[model.ColumnClass]map[string][]model.Encoding{
	model.TextColumn:    {"string": {model.String, model.Text, model.UUID}, "any": {model.String}},
	model.EnumColumn:    {"string": {model.String, model.Text}, "any": {model.String}},
	model.IntegerColumn: {"bool": {model.Bool}}, // MySQL's BOOLEAN
	model.BoolColumn:    {"bool": {model.Bool}, "any": {model.Bool}},
	model.UUIDColumn:    {"uuid": {model.UUID, model.String}},
	model.BytesColumn:   {"bytes": {model.Bytes}, "any": {model.Bytes}},
	model.TimeColumn:    {"time": {model.Time}, "any": {model.Time}},
	model.JSONColumn:    {"bytes": {model.Bytes}},
	model.UntypedColumn: {"any": {model.String, model.Int, model.Bool, model.Float, model.Bytes, model.Time}},
}

// misfitInteger holds an integer against the ranges of the column and of the parameter.
func misfitInteger(p model.Part, t Target, column model.ColumnType, u use) *fault {
	have, want := spanOf(p.Type), span{column.Bits, !column.Unsigned}
	parameter, isInteger := spans[t.Inner]
	switch {
	case t.Inner == "any" && p.Encode == model.Int:
		parameter = have
	case !isInteger:
		return &fault{why: "that is another kind of value", mend: "name a field of the column's kind"}
	}
	switch {
	case u == assigned && !have.within(want), parameter == want && !have.within(want):
		return &fault{why: "the column cannot hold every value of it", mend: "use the field type " + want.fitting() + ", or a column that can hold more", byDDL: parameter != want}
	case !have.within(parameter):
		return &fault{why: "the parameter that sqlc makes for such a column that may be NULL cannot hold every value of it", mend: "declare the column NOT NULL, or set it in the handler"}
	case u == compared && !want.within(have):
		return &fault{why: "it cannot hold every value of the column", mend: "use the field type " + want.holding()}
	}
	return nil
}

// misfitFloat holds a float against the sizes of the column and of the parameter.
func misfitFloat(p model.Part, t Target, column model.ColumnType) *fault {
	have := floatBits(p.Type)
	parameter, isFloat := map[string]int{"float32": 32, "float64": 64, "any": 64}[t.Inner]
	switch {
	case !isFloat:
		return &fault{why: "that is another kind of value", mend: "name a field of the column's kind"}
	case have > column.Bits || have > parameter:
		return &fault{why: "the column cannot hold every value of it", mend: "use the field type float32, or a column that can hold more", byDDL: true}
	}
	return nil
}

// span is an integer type's range, in bits.
type span struct {
	bits   int
	signed bool
}

var spans = map[string]span{
	"int8": {8, true}, "int16": {16, true}, "int32": {32, true}, "int64": {64, true},
	"uint8": {8, false}, "uint16": {16, false}, "uint32": {32, false}, "uint64": {64, false},
}

// kindSpans are the ranges of Go's integers. An int has 64 bits for all that is known where code is generated.
var kindSpans = map[types.BasicKind]span{
	types.Int: {64, true}, types.Int8: {8, true}, types.Int16: {16, true}, types.Int32: {32, true}, types.Int64: {64, true},
	types.Uint: {64, false}, types.Uint8: {8, false}, types.Uint16: {16, false}, types.Uint32: {32, false}, types.Uint64: {64, false},
	types.Uintptr: {64, false},
}

// spanOf is the range of an integer type.
func spanOf(t types.Type) span {
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		return span{}
	}
	return kindSpans[b.Kind()]
}

// within says that every value of s is one of o.
func (s span) within(o span) bool {
	switch {
	case s.bits == 0:
		return false // it is not known
	case s.signed == o.signed:
		return s.bits <= o.bits
	case o.signed:
		return s.bits < o.bits
	default:
		return false
	}
}

// fitting is the name of the largest of Go's types that is within a range.
func (s span) fitting() string {
	out := "bool"
	for _, name := range []string{"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"} {
		if spans[name].signed == s.signed && spans[name].within(s) {
			out = name
		}
	}
	return out
}

// holding is the name of the smallest of Go's types that a range is within.
func (s span) holding() string {
	for _, name := range []string{"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"} {
		if spans[name].signed == s.signed && s.within(spans[name]) {
			return name
		}
	}
	return "uint64"
}

func floatBits(t types.Type) int {
	if b, ok := t.Underlying().(*types.Basic); ok && b.Kind() == types.Float32 {
		return 32
	}
	return 64
}
