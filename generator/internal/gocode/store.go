package gocode

import (
	"bytes"
	_ "embed"
	"go/format"
	"strconv"
	"text/template"

	"github.com/idemgen/idemgen/generator/internal/header"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// storeText is store_gen.go below its header. It is a text rather than jennifer's calls because there is next to
// nothing in it that depends on the model: what does, depends on the driver.
//
//go:embed store_gen.go.tmpl
var storeText string

var storeTemplate = template.Must(template.New(StoreFile).Parse(storeText))

// Store renders a store's store_gen.go. The table is its name as the statements spell it, and stampLine the comment
// that says of which inputs and outputs of sqlc the file is the last part.
func Store(s *model.Store, table, stampLine string) ([]byte, error) {
	engine := map[string]string{"postgresql": "PostgreSQL", "sqlite": "SQLite", "mysql": "MySQL"}[s.Engine]
	driver := driverName(s)
	if engine == "" || driver == "" || s.Engine != "postgresql" && s.Driver == model.PGX {
		return nil, bug("no store for engine %q with driver %q", s.Engine, s.Driver)
	}
	var b bytes.Buffer
	b.WriteString(header.Go + "\n")
	err := storeTemplate.Execute(&b, struct {
		Package, Engine, Driver, Table, StampLine string
		PGX, MySQL                                bool
	}{s.Name, engine, driver, literal(table), stampLine, s.Driver == model.PGX, s.Engine == "mysql"})
	if err != nil {
		return nil, bug("%s: %v", StoreFile, err)
	}
	out, err := format.Source(b.Bytes())
	if err != nil {
		return nil, bug("%s does not parse: %v", StoreFile, err)
	}
	return out, nil
}

// driverName is the package of the runtime that a store is for; empty for a driver that there is none for.
func driverName(s *model.Store) string {
	switch {
	case s.Driver == model.PGX:
		return "idempgx"
	case s.Driver == model.SQL && s.Engine == "mysql":
		return "idemmysql"
	case s.Driver == model.SQL:
		return "idemsql"
	default:
		return ""
	}
}

// literal is a string in backquotes where it can be, since it is full of quotes.
func literal(s string) string {
	if strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
