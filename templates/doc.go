// Package templates holds the SQL that idemgen writes into a user's repository, one folder per engine, named as sqlc
// names the engine. It has no logic: package sqlcode fills the templates in.
//
// A template sees .Table, the quoted and perhaps schema-qualified name of the table, .Index, the quoted name of its
// index, and .Schema, the quoted schema to create (empty for none). The names of columns and queries are the contract
// with runtime/store: generated store_gen.go calls what sqlc makes of them.
//
// transitions.sql.tmpl is different: it sees the transitions of one package, and is filled in once for each that has some.
package templates

import "embed"

// FS has schema.sql.tmpl, keys.sql.tmpl and transitions.sql.tmpl of each engine.
//
//go:embed mysql/*.sql.tmpl postgresql/*.sql.tmpl sqlite/*.sql.tmpl
var FS embed.FS
