//go:build windows || !cgo

package schema

import (
	pg "github.com/wasilibs/go-pgquery"
	"github.com/wasilibs/go-pgquery/parser"
)

// parsePostgreSQL is PostgreSQL's own parser, as WebAssembly where there is no C compiler.
var parsePostgreSQL = pg.Parse

// pgError is its error.
type pgError = parser.Error
