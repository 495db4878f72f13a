package sqlcode

import (
	"fmt"
	"path"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/header"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// A Block is one store in an sqlc.yaml.
type Block struct {
	Store *model.Store
	Files *Files
	Dir   string // where its files are, relative to the sqlc.yaml and with slashes; empty for beside it
}

// Config renders the sqlc.yaml of the blocks. The options are those that store_gen.go relies on: a method for each
// query that takes the connection with each call and its values in one struct, and output that depends on nothing else.
func Config(blocks ...Block) string {
	var b strings.Builder
	b.WriteString(header.YAML + "\nversion: \"2\"\nsql:\n")
	for _, block := range blocks {
		fmt.Fprintf(&b, "  - engine: %s\n", block.Store.Engine)
		fmt.Fprintf(&b, "    schema: %q\n", path.Join(block.Dir, block.Files.Schema.Name))
		b.WriteString("    queries:\n")
		for _, q := range block.Files.Queries {
			fmt.Fprintf(&b, "      - %q\n", path.Join(block.Dir, q.Name))
		}
		b.WriteString("    gen:\n      go:\n")
		fmt.Fprintf(&b, "        package: %q\n", block.Store.Name)
		fmt.Fprintf(&b, "        out: %q\n", path.Join(".", block.Dir))
		fmt.Fprintf(&b, "        sql_package: %q\n", sqlPackage(block.Store))
		for _, option := range []string{
			"emit_methods_with_db_argument: true",
			"omit_unused_structs: true",
			"omit_sqlc_version: true",
			"query_parameter_limit: 0",
		} {
			fmt.Fprintf(&b, "        %s\n", option)
		}
		if block.Store.Engine == "mysql" {
			b.WriteString(nullableBlob)
		}
	}
	return b.String()
}

// nullableBlob has sqlc make bytes of a nullable LONGBLOB. By itself it makes a sql.NullString, which reaches the server as a
// text in the connection's character set where the driver puts the values into the statement.
const nullableBlob = `        overrides:
          - db_type: "longblob"
            nullable: true
            go_type:
              type: "byte"
              slice: true
`

func sqlPackage(s *model.Store) string {
	if s.Driver == model.PGX {
		return "pgx/v5"
	}
	return "database/sql"
}
