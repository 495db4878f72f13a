//go:build !windows && cgo

package schema

import pg "github.com/pganalyze/pg_query_go/v6"

// parsePostgreSQL is PostgreSQL's own parser.
var parsePostgreSQL = pg.Parse
