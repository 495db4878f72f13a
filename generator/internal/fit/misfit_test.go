package fit

import (
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/schema"
)

// payloads are one part of each kind that a payload can have.
func payloads() map[string]model.Part {
	basic := func(k types.BasicKind, e model.Encoding) model.Part { return model.Part{Type: types.Typ[k], Encode: e} }
	named := func(name string, underlying types.Type) types.Type {
		return types.NewNamed(types.NewTypeName(0, nil, name, nil), underlying, nil)
	}
	bytes := types.NewSlice(types.Typ[types.Byte])
	return map[string]model.Part{
		"string": basic(types.String, model.String),
		"bool":   basic(types.Bool, model.Bool),
		"int":    basic(types.Int, model.Int), "int8": basic(types.Int8, model.Int), "int16": basic(types.Int16, model.Int),
		"int32": basic(types.Int32, model.Int), "int64": basic(types.Int64, model.Int),
		"uint": basic(types.Uint, model.Uint), "uint8": basic(types.Uint8, model.Uint), "uint16": basic(types.Uint16, model.Uint),
		"uint32": basic(types.Uint32, model.Uint), "uint64": basic(types.Uint64, model.Uint),
		"float32": basic(types.Float32, model.Float), "float64": basic(types.Float64, model.Float),
		"rune":     {Type: types.Universe.Lookup("rune").Type(), Encode: model.Int},
		"duration": {Type: named("Duration", types.Typ[types.Int64]), Encode: model.Int},
		"uuid":     {Type: named("UUID", types.NewArray(types.Typ[types.Byte], 16)), Encode: model.UUID},
		"bytes":    {Type: bytes, Encode: model.Bytes},
		"time":     {Type: named("Time", types.NewStruct(nil, nil)), Encode: model.Time},
		"text":     {Type: named("Decimal", types.NewStruct(nil, nil)), Encode: model.Text},
	}
}

// Everything that a payload may have, against every type of column with the parameter that sqlc 1.31 makes for it.
func TestMisfit(t *testing.T) {
	t.Parallel()
	const (
		pgtype = "github.com/jackc/pgx/v5/pgtype"
		sql    = "database/sql"
	)
	for _, c := range []struct {
		engine, column string // of CREATE TABLE
		path, sqlc     string // the parameter's type
		set, row       string // what fits: to be given to it, and to be compared with it
	}{
		// PostgreSQL through pgx.
		{"postgresql", "text NOT NULL", "", "string", "string text uuid", "string text uuid"},
		{"postgresql", "varchar(9)", pgtype, "pgtype.Text", "string text uuid", "string text uuid"},
		{"postgresql", "char(9) NOT NULL", "", "string", "string text uuid", "string text uuid"},
		{"postgresql", "citext NOT NULL", "", "string", "string text uuid", "string text uuid"},
		{"postgresql", "smallint NOT NULL", "", "int16", "int8 int16 uint8", "int16"},
		{"postgresql", "smallint", pgtype, "pgtype.Int2", "int8 int16 uint8", "int16"},
		{"postgresql", "integer NOT NULL", "", "int32", "int8 int16 int32 rune uint8 uint16", "int32 rune"},
		{"postgresql", "bigint NOT NULL", "", "int64", "duration int int8 int16 int32 int64 rune uint8 uint16 uint32", "duration int int64"},
		{"postgresql", "bigserial", "", "int64", "duration int int8 int16 int32 int64 rune uint8 uint16 uint32", "duration int int64"},
		{"postgresql", "real NOT NULL", "", "float32", "float32", ""},
		{"postgresql", "double precision NOT NULL", "", "float64", "float32 float64", ""},
		{"postgresql", "boolean NOT NULL", "", "bool", "bool", "bool"},
		{"postgresql", "uuid", pgtype, "pgtype.UUID", "string uuid", "string uuid"},
		{"postgresql", "bytea NOT NULL", "", "[]byte", "bytes", "bytes"},
		{"postgresql", "jsonb NOT NULL", "", "[]byte", "bytes", ""},
		{"postgresql", "timestamptz NOT NULL", pgtype, "pgtype.Timestamptz", "time", ""},
		{"postgresql", "timestamptz(3) NOT NULL", pgtype, "pgtype.Timestamptz", "", ""},
		{"postgresql", "timestamp NOT NULL", pgtype, "pgtype.Timestamp", "", ""},
		{"postgresql", "date NOT NULL", pgtype, "pgtype.Date", "", ""},
		{"postgresql", "interval NOT NULL", pgtype, "pgtype.Interval", "", ""},
		{"postgresql", "numeric(10,2) NOT NULL", pgtype, "pgtype.Numeric", "", ""},
		{"postgresql", "inet NOT NULL", "net/netip", "netip.Addr", "", ""},
		{"postgresql", "text[] NOT NULL", "", "[]string", "", ""},
		{"postgresql", "kind NOT NULL", "", "Kind", "string text", "string text"},
		{"postgresql", "kind", "", "NullKind", "string text", "string text"},
		{"postgresql", "number NOT NULL", "", "interface{}", "duration int int8 int16 int32 int64 rune", "duration int int64"},
		{"postgresql", "words NOT NULL", "", "interface{}", "string", "string"},
		{"postgresql", `"char" NOT NULL`, "", "interface{}", "", ""},
		// And through database/sql, where sqlc hides more of the column's type.
		{"postgresql", "numeric(10,2) NOT NULL", "", "string", "", ""},
		{"postgresql", "numeric", sql, "sql.NullString", "", ""},
		{"postgresql", "money NOT NULL", "", "string", "", ""},
		{"postgresql", "name NOT NULL", "", "string", "", ""},
		{"postgresql", "pair NOT NULL", "", "string", "", ""},
		{"postgresql", "real", sql, "sql.NullFloat64", "float32", ""},
		{"postgresql", "date NOT NULL", "time", "time.Time", "", ""},
		{"postgresql", "time NOT NULL", "time", "time.Time", "", ""},
		{"postgresql", "timetz NOT NULL", "time", "time.Time", "", ""},
		{"postgresql", "timestamp NOT NULL", "time", "time.Time", "", ""},
		{"postgresql", "timestamptz NOT NULL", "time", "time.Time", "time", ""},
		{"postgresql", "interval NOT NULL", "", "int64", "", ""},
		{"postgresql", "uuid NOT NULL", "github.com/google/uuid", "uuid.UUID", "string uuid", "string uuid"},
		{"postgresql", "json NOT NULL", "encoding/json", "json.RawMessage", "bytes", ""},
		{"postgresql", "bit(8) NOT NULL", "", "interface{}", "", ""},
		// MySQL and MariaDB.
		{"mysql", "varchar(9) NOT NULL", "", "string", "string text uuid", "string text uuid"},
		{"mysql", "text", sql, "sql.NullString", "string text uuid", "string text uuid"},
		{"mysql", "enum('a') NOT NULL", "", "OK", "string text", "string text"},
		{"mysql", "set('a', 'b') NOT NULL", "", "OS", "", ""},
		{"mysql", "decimal(10,2) NOT NULL", "", "string", "", ""},
		{"mysql", "tinyint NOT NULL", "", "int8", "int8", "int8"},
		{"mysql", "tinyint unsigned NOT NULL", "", "uint8", "uint8", "uint8"},
		{"mysql", "tinyint", sql, "sql.NullInt16", "int8", "int8 int16"},
		{"mysql", "tinyint unsigned", sql, "sql.NullInt16", "uint8", "int16 uint8"},
		{"mysql", "boolean NOT NULL", "", "bool", "bool", "bool"},
		{"mysql", "mediumint NOT NULL", "", "int32", "int8 int16 uint8 uint16", "int32 rune"},
		{"mysql", "int unsigned NOT NULL", "", "uint32", "uint8 uint16 uint32", "uint32"},
		{"mysql", "int unsigned", sql, "sql.NullInt32", "uint8 uint16", ""},
		{"mysql", "bigint unsigned NOT NULL", "", "uint64", "uint uint8 uint16 uint32 uint64", "uint uint64"},
		{"mysql", "bigint unsigned", sql, "sql.NullInt64", "uint8 uint16 uint32", ""},
		{"mysql", "year NOT NULL", "", "int16", "", ""},
		{"mysql", "bit(1) NOT NULL", "", "bool", "", ""},
		{"mysql", "float NOT NULL", "", "float64", "float32", ""},
		{"mysql", "double NOT NULL", "", "float64", "float32 float64", ""},
		{"mysql", "double(10,2) NOT NULL", "", "float64", "", ""},
		{"mysql", "binary(16) NOT NULL", "", "[]byte", "bytes uuid", "bytes uuid"},
		{"mysql", "binary(36) NOT NULL", "", "[]byte", "bytes", "bytes"},
		{"mysql", "varbinary(16) NOT NULL", "", "[]byte", "bytes", "bytes"},
		{"mysql", "binary(16)", sql, "sql.NullString", "", ""},
		{"mysql", "varbinary(16)", sql, "sql.NullString", "", ""},
		{"mysql", "longblob", "", "[]byte", "bytes", "bytes"},
		{"mysql", "json NOT NULL", "encoding/json", "json.RawMessage", "bytes", ""},
		{"mysql", "datetime NOT NULL", "time", "time.Time", "", ""},
		{"mysql", "datetime(6) NOT NULL", "time", "time.Time", "time", ""},
		{"mysql", "timestamp(3) NOT NULL", "time", "time.Time", "", ""},
		{"mysql", "timestamp(6)", sql, "sql.NullTime", "time", ""},
		{"mysql", "date NOT NULL", "time", "time.Time", "", ""},
		{"mysql", "time(6) NOT NULL", "time", "time.Time", "", ""},
		// SQLite: the type is a hint, and a text that looks like a number becomes one where the type is not a text's.
		{"sqlite", "TEXT NOT NULL", "", "string", "string text uuid", "string text uuid"},
		{"sqlite", "char(9) NOT NULL", "", "interface{}", "string", "string"},
		{"sqlite", "STRING NOT NULL", "", "interface{}", "", ""},
		{"sqlite", "MONEY", "", "interface{}", "", ""},
		{"sqlite", "INTEGER NOT NULL", "", "int64", "duration int int8 int16 int32 int64 rune uint8 uint16 uint32", "duration int int64"},
		{"sqlite", "INT", sql, "sql.NullInt64", "duration int int8 int16 int32 int64 rune uint8 uint16 uint32", "duration int int64"},
		{"sqlite", "REAL NOT NULL", "", "float64", "float32 float64", ""},
		{"sqlite", "DECIMAL(10,2) NOT NULL", "", "float64", "float32 float64", ""},
		{"sqlite", "BOOLEAN NOT NULL", "", "bool", "bool", "bool"},
		{"sqlite", "DATETIME NOT NULL", "time", "time.Time", "time", ""},
		{"sqlite", "BLOB", "", "[]byte", "bytes", "bytes"},
		{"sqlite", "", "", "interface{}", "bool bytes duration float32 float64 int int8 int16 int32 int64 rune string time", "bool bytes duration float32 float64 int int8 int16 int32 int64 rune string"},
	} {
		ddl := "CREATE TABLE o (id int NOT NULL, c " + c.column + ")"
		if c.engine == "postgresql" {
			ddl = "CREATE TYPE kind AS ENUM ('a'); CREATE DOMAIN number AS bigint; CREATE DOMAIN words AS varchar(9); CREATE TYPE pair AS (a int, b int); " + ddl
		}
		s, err := schema.Read(c.engine, []model.SchemaFile{{Path: "s.sql", Text: []byte(ddl)}})
		require.NoError(t, err, ddl)
		of := model.GoType{Text: c.sqlc, Path: c.path, Own: c.path == "" && strings.ToUpper(c.sqlc[:1]) == c.sqlc[:1]}
		of.Package, _, _ = strings.Cut(c.sqlc, ".")
		for u, want := range map[use]string{assigned: c.set, compared: c.row} {
			wanted := map[string]bool{}
			for name := range strings.FieldsSeq(want) {
				wanted[name] = true
			}
			for name, part := range payloads() {
				v := &model.ColumnValue{Part: part, Type: of, Holds: s.Table("", "o").Column("c", true).ColumnType()}
				f := misfit(v, u)
				assert.Equal(t, wanted[name], f == nil, "%s: %s, which sqlc makes %s, use %d: %s %+v", c.engine, c.column, c.sqlc, u, name, f)
				if f != nil {
					assert.NotEmpty(t, f.why)
					assert.NotEmpty(t, f.mend)
				}
			}
		}
	}
}
