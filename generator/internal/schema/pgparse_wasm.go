//go:build windows || !cgo

package schema

import pg "github.com/wasilibs/go-pgquery"

// parsePostgreSQL is PostgreSQL's own parser, as WebAssembly where there is no C compiler.
var parsePostgreSQL = pg.Parse
