//go:build !windows && cgo

package schema

import (
	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/pganalyze/pg_query_go/v6/parser"
)

// parsePostgreSQL is PostgreSQL's own parser.
var parsePostgreSQL = pg.Parse

// pgError is its error.
type pgError = parser.Error
