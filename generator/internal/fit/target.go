package fit

import (
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
