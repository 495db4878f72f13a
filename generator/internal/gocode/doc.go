// Package gocode renders the model as Go source: idem_gen.go of a package with handlers ([Package]) and store_gen.go of
// a store ([Store]).
//
// It is pure: it reads no file, and the same model gives the same bytes. Declarations are put together with jennifer.
// The import block is our own, because it is grouped and its aliases must be known before anything else is named (see
// package names). A model that analyze should have refused is answered with an error that says so.
package gocode

import "fmt"

// Protocol is the number of the protocol between generated code and the runtime. Generated code names a constant of the
// runtime by it, so that skew is a compile error which says what to do.
const Protocol = 1

// The names of the generated files.
const (
	PackageFile = "idem_gen.go"
	StoreFile   = "store_gen.go"
)

// The packages that generated code names.
const (
	runtimePath = "github.com/idemgen/idemgen/runtime"
	idemPath    = runtimePath + "/idem"
	pgxPath     = "github.com/jackc/pgx/v5"
	pgxpoolPath = pgxPath + "/pgxpool"
	sqlPath     = "database/sql"
)

func bug(format string, args ...any) error {
	return fmt.Errorf("bug in idemgen: "+format+"; please report it", args...)
}
