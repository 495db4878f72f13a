package sqlcode

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/header"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// A Block is one store in an sqlc.yaml.
type Block struct {
	Store *model.Store
	Files *Files
	Dir   string // where its files are, relative to the sqlc.yaml and with slashes; empty for beside it
	// UserSchema is where the user's schema is, files and folders in their order, relative to the sqlc.yaml and with slashes.
	UserSchema []string
}

// Config renders the sqlc.yaml of the blocks. The options are those that store_gen.go relies on: a method for each
// query that takes the connection with each call and its values in one struct, and output that depends on nothing else.
func Config(blocks ...Block) string {
	var b strings.Builder
	b.WriteString(header.YAML + "\nversion: \"2\"\nsql:\n")
	for _, block := range blocks {
		fmt.Fprintf(&b, "  - engine: %s\n", block.Store.Engine)
		writeSchema(&b, block)
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

// writeSchema names the table of keys, unless the user's schema has it, and the user's schema.
func writeSchema(b *strings.Builder, block Block) {
	own := path.Join(block.Dir, block.Files.Schema.Name)
	if len(block.UserSchema) == 0 {
		fmt.Fprintf(b, "    schema: %q\n", own)
		return
	}
	b.WriteString("    schema:\n")
	if !block.Store.OwnTable {
		fmt.Fprintf(b, "      - %q\n", own)
	}
	for _, file := range block.UserSchema {
		fmt.Fprintf(b, "      - %q\n", file)
	}
}

// besides are the paths of a user's schema relative to a store's folder.
func besides(s *model.Store, paths []string) []string {
	var out []string
	for _, path := range paths {
		rel, err := filepath.Rel(s.Dir, path)
		if err != nil {
			rel = path // on another drive
		}
		out = append(out, filepath.ToSlash(rel))
	}
	return out
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
