package analyze

import (
	"go/types"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/model"
)

const (
	pgxPath = "github.com/jackc/pgx/v5"
	sqlPath = "database/sql"
)

// A txParam is a parameter that takes the transaction.
type txParam struct {
	driver model.Driver
	// constructor makes the parameter from the transaction; nil where the transaction is the parameter.
	constructor *types.Func
}

// transaction says whether a parameter of type t takes the transaction, and how.
func (s *scan) transaction(t types.Type) (txParam, bool) {
	switch {
	case isNamed(t, pgxPath, "Tx"):
		return txParam{driver: model.PGX}, true
	case isPointerTo(t, sqlPath, "Tx"):
		return txParam{driver: model.SQL}, true
	}
	fn := constructorOf(t)
	if iface, ok := t.Underlying().(*types.Interface); ok {
		if driver, ok := satisfied(iface); ok {
			return txParam{driver: driver}, true
		}
		fn = querier(t, iface)
	}
	if fn != nil && importable(fn.Pkg().Path(), s.Path) {
		iface, _ := fn.Signature().Params().At(0).Type().Underlying().(*types.Interface)
		driver, ok := satisfied(iface)
		return txParam{driver: driver, constructor: fn}, ok
	}
	return txParam{}, false
}

// statements are the methods that make an interface one for running statements.
var statements = []string{"Exec", "ExecContext", "Query", "QueryContext", "QueryRow", "QueryRowContext"}

// runsStatements says that an interface has a method to run a statement with.
func runsStatements(iface *types.Interface) bool {
	for m := range iface.Methods() {
		if slices.Contains(statements, m.Name()) {
			return true
		}
	}
	return false
}

// satisfied says which driver's transaction has all methods of an interface that runs statements.
func satisfied(iface *types.Interface) (model.Driver, bool) {
	if !runsStatements(iface) || !iface.IsMethodSet() {
		return "", false
	}
	for _, driver := range []model.Driver{model.PGX, model.SQL} {
		if lacking(iface, driver) == nil {
			return driver, true
		}
	}
	return "", false
}

// lacking is the first method of an interface that the driver's transaction does not have, or nil.
func lacking(iface *types.Interface, driver model.Driver) *types.Func {
	for m := range iface.Methods() {
		if txMethods[driver][m.Name()] != shape(m.Signature()) {
			return m
		}
	}
	return nil
}

// txMethods are the methods of pgx.Tx and *sql.Tx. They are data, because the packages of a user who only takes sqlc's
// Queries need not import either driver; a test compares them with the real ones.
var txMethods = map[model.Driver]map[string]string{
	model.PGX: {
		"Begin":        "(context.Context) (github.com/jackc/pgx/v5.Tx, error)",
		"Commit":       "(context.Context) (error)",
		"Rollback":     "(context.Context) (error)",
		"CopyFrom":     "(context.Context, github.com/jackc/pgx/v5.Identifier, []string, github.com/jackc/pgx/v5.CopyFromSource) (int64, error)",
		"SendBatch":    "(context.Context, *github.com/jackc/pgx/v5.Batch) (github.com/jackc/pgx/v5.BatchResults)",
		"LargeObjects": "() (github.com/jackc/pgx/v5.LargeObjects)",
		"Prepare":      "(context.Context, string, string) (*github.com/jackc/pgx/v5/pgconn.StatementDescription, error)",
		"Exec":         "(context.Context, string, ...any) (github.com/jackc/pgx/v5/pgconn.CommandTag, error)",
		"Query":        "(context.Context, string, ...any) (github.com/jackc/pgx/v5.Rows, error)",
		"QueryRow":     "(context.Context, string, ...any) (github.com/jackc/pgx/v5.Row)",
		"Conn":         "() (*github.com/jackc/pgx/v5.Conn)",
	},
	model.SQL: {
		"Commit":          "() (error)",
		"Rollback":        "() (error)",
		"Prepare":         "(string) (*database/sql.Stmt, error)",
		"PrepareContext":  "(context.Context, string) (*database/sql.Stmt, error)",
		"Stmt":            "(*database/sql.Stmt) (*database/sql.Stmt)",
		"StmtContext":     "(context.Context, *database/sql.Stmt) (*database/sql.Stmt)",
		"Exec":            "(string, ...any) (database/sql.Result, error)",
		"ExecContext":     "(context.Context, string, ...any) (database/sql.Result, error)",
		"Query":           "(string, ...any) (*database/sql.Rows, error)",
		"QueryContext":    "(context.Context, string, ...any) (*database/sql.Rows, error)",
		"QueryRow":        "(string, ...any) (*database/sql.Row)",
		"QueryRowContext": "(context.Context, string, ...any) (*database/sql.Row)",
	},
}

// shape writes a signature without names, receiver and aliases.
func shape(sig *types.Signature) string {
	var b strings.Builder
	write := func(tuple *types.Tuple, variadic bool) {
		b.WriteByte('(')
		for i := range tuple.Len() {
			if i > 0 {
				b.WriteString(", ")
			}
			t := tuple.At(i).Type()
			if slice, ok := types.Unalias(t).(*types.Slice); ok && variadic && i == tuple.Len()-1 {
				b.WriteString("..." + fullText(slice.Elem()))
				continue
			}
			b.WriteString(fullText(t))
		}
		b.WriteByte(')')
	}
	write(sig.Params(), sig.Variadic())
	b.WriteByte(' ')
	write(sig.Results(), false)
	return b.String()
}

// fullText writes a type with package paths, and with what an alias at its outside stands for.
func fullText(t types.Type) string {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		return "*" + fullText(p.Elem())
	}
	if i, ok := t.(*types.Interface); ok && i.Empty() {
		return "any"
	}
	return types.TypeString(t, (*types.Package).Path)
}
