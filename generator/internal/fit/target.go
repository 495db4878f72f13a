package fit

import (
	"go/types"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/model"
)

// Target is what generated code makes of a value for a parameter of sqlc's.
type Target struct {
	// Inner is the basic type, or "time", "uuid", "bytes", "any".
	Inner string
	// Cast is the conversion to the parameter's own type, where Inner is not that; empty for none.
	Cast model.GoType
	// Field is the field of the struct that the value goes into, beside Valid; empty where the parameter is the value.
	Field string
}

// wrappers are the structs that stand for a value or NULL, by package and name: the field, and what is in it.
var wrappers = map[string][2]string{
	"github.com/jackc/pgx/v5/pgtype.Text":        {"String", "string"},
	"github.com/jackc/pgx/v5/pgtype.Int2":        {"Int16", "int16"},
	"github.com/jackc/pgx/v5/pgtype.Int4":        {"Int32", "int32"},
	"github.com/jackc/pgx/v5/pgtype.Int8":        {"Int64", "int64"},
	"github.com/jackc/pgx/v5/pgtype.Bool":        {"Bool", "bool"},
	"github.com/jackc/pgx/v5/pgtype.Float4":      {"Float32", "float32"},
	"github.com/jackc/pgx/v5/pgtype.Float8":      {"Float64", "float64"},
	"github.com/jackc/pgx/v5/pgtype.UUID":        {"Bytes", "uuid"},
	"github.com/jackc/pgx/v5/pgtype.Timestamptz": {"Time", "time"},
	"database/sql.NullString":                    {"String", "string"},
	"database/sql.NullInt16":                     {"Int16", "int16"},
	"database/sql.NullInt32":                     {"Int32", "int32"},
	"database/sql.NullInt64":                     {"Int64", "int64"},
	"database/sql.NullBool":                      {"Bool", "bool"},
	"database/sql.NullFloat64":                   {"Float64", "float64"},
	"database/sql.NullTime":                      {"Time", "time"},
	"github.com/google/uuid.NullUUID":            {"UUID", "uuid"},
}

// plainTypes are parameters that are the value themselves.
var plainTypes = map[string]string{
	"string": "string", "bool": "bool", "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64",
	"uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64", "float32": "float32", "float64": "float64",
	"[]byte": "bytes", "interface{}": "any", "time.Time": "time",
	"encoding/json.RawMessage": "bytes", "github.com/google/uuid.UUID": "uuid",
}

// Of says what is made for a parameter's type, and false for one that nothing is made for.
func Of(t model.GoType) (Target, bool) {
	name := t.Text
	if t.Path != "" {
		name = t.Path + strings.TrimPrefix(t.Text, t.Package)
	}
	if w, ok := wrappers[name]; ok {
		target := Target{Inner: w[1], Field: w[0]}
		if name == "github.com/google/uuid.NullUUID" {
			target.Cast = model.GoType{Text: "uuid.UUID", Path: "github.com/google/uuid", Package: "uuid"}
		}
		return target, true
	}
	if inner, ok := plainTypes[name]; ok {
		target := Target{Inner: inner}
		if t.Path != "" && inner != "time" {
			target.Cast = t
		}
		return target, true
	}
	if t.Own { // an enum, or sqlc's struct for one that may be NULL
		if enum, null := strings.CutPrefix(t.Text, "Null"); null {
			return Target{Inner: "string", Cast: model.GoType{Text: enum, Own: true}, Field: enum}, true
		}
		return Target{Inner: "string", Cast: t}, true
	}
	return Target{}, false
}

// span is an integer type's range, in bits.
type span struct {
	bits   int
	signed bool
}

var spans = map[string]span{
	"int": {64, true}, "int8": {8, true}, "int16": {16, true}, "int32": {32, true}, "int64": {64, true},
	"uint": {64, false}, "uint8": {8, false}, "byte": {8, false}, "uint16": {16, false}, "uint32": {32, false}, "uint64": {64, false},
}

// within says that every value of s is one of o.
func (s span) within(o span) bool {
	switch {
	case s.signed == o.signed:
		return s.bits <= o.bits
	case o.signed:
		return s.bits < o.bits
	default:
		return false
	}
}

// misfit says why a value does not fit, and the mend; why is empty where it does.
func misfit(p model.Part, t Target, u use) (why, mend string) {
	if want, ok := spans[t.Inner]; ok && (p.Encode == model.Int || p.Encode == model.Uint) {
		have := spans[basicName(p.Type)]
		switch {
		case !have.within(want):
			return "the column cannot hold every value of it", "use the field type " + t.Inner + ", or a column that can hold more"
		case u == compared && !want.within(have):
			return "it cannot hold every value of the column", "use the field type " + t.Inner
		}
		return "", ""
	}
	for _, from := range accepts[t.Inner] {
		if from == p.Encode {
			return "", ""
		}
	}
	return "that is another kind of value", "name a field of the column's kind"
}

// accepts are the kinds of value that each kind of parameter is made of.
var accepts = map[string][]model.Encoding{
	"string":  {model.String, model.Text, model.UUID},
	"bool":    {model.Bool},
	"float64": {model.Float},
	"bytes":   {model.Bytes},
	"uuid":    {model.UUID, model.String},
	"time":    {model.Time},
	"any":     {model.String, model.Int, model.Bool, model.Float, model.Bytes, model.Time},
}

func basicName(t types.Type) string {
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		return ""
	}
	return b.Name()
}
