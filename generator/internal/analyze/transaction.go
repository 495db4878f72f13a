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
	if iface, ok := t.Underlying().(*types.Interface); ok {
		driver, ok := satisfied(iface)
		return txParam{driver: driver}, ok
	}
	if fn := constructorOf(t); fn != nil && importable(fn.Pkg().Path(), s.Path) {
		iface, _ := fn.Signature().Params().At(0).Type().Underlying().(*types.Interface)
		driver, ok := satisfied(iface)
		return txParam{driver: driver, constructor: fn}, ok
	}
	return txParam{}, false
}

// constructorOf finds New(X) *T, where X is an interface, in the package of T, given *T: the shape of sqlc's Queries.
func constructorOf(t types.Type) *types.Func {
	ptr, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return nil
	}
	named, ok := types.Unalias(ptr.Elem()).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return nil
	}
	fn, ok := named.Obj().Pkg().Scope().Lookup("New").(*types.Func)
	if !ok {
		return nil
	}
	sig := fn.Signature()
	if sig.TypeParams().Len() > 0 || sig.Variadic() || sig.Params().Len() != 1 || sig.Results().Len() != 1 ||
		!types.Identical(sig.Results().At(0).Type(), t) {
		return nil
	}
	if _, ok := sig.Params().At(0).Type().Underlying().(*types.Interface); !ok {
		return nil
	}
	return fn
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

// noTransaction says why a handler has no transaction, and what would be one: an almost-transaction first.
func (h *handler) noTransaction() {
	for i := range h.Params {
		if h.Params[i].Role != model.Value {
			continue
		}
		if what, mend := h.s.almostTransaction(h.Params[i].Type); what != "" {
			h.fail(h.paramPos(i), codeHandle, mend, "%s has no transaction parameter, and %s %s", h.Source, h.paramText(i), what)
			h.Params[i].Role = model.Tx // it stands in its place, and is no payload
			return
		}
	}
	h.fail(h.Pos, codeNoTx,
		"take the transaction as a parameter, tx pgx.Tx or tx *sql.Tx, and do the work in it: it commits together with the key",
		"%s has no transaction parameter; handlers with effects outside the database (leases) are not supported yet", h.Source)
}

// handles are types that people run statements with and that our transaction is not.
var handles = []struct{ path, name, what, mend string }{
	{sqlPath, "DB", "opens transactions of its own, which the key is not part of", "take tx *sql.Tx instead"},
	{sqlPath, "Conn", "is a connection of its own, which the key is not part of", "take tx *sql.Tx instead"},
	{pgxPath, "Conn", "is a connection of its own, which the key is not part of", "take tx pgx.Tx instead"},
	{pgxPath + "/pgxpool", "Pool", "opens transactions of its own, which the key is not part of", "take tx pgx.Tx instead"},
	{pgxPath + "/pgxpool", "Conn", "is a connection of its own, which the key is not part of", "take tx pgx.Tx instead"},
	{pgxPath + "/pgxpool", "Tx", "is one driver's type for a transaction", "take the interface, tx pgx.Tx, instead"},
	{"github.com/jackc/pgx/v4", "Tx", "is of pgx v4", "move to github.com/jackc/pgx/v5, and take its pgx.Tx"},
	{"github.com/jackc/pgx/v4/pgxpool", "Pool", "is of pgx v4", "move to github.com/jackc/pgx/v5, and take its pgx.Tx"},
	{"github.com/jmoiron/sqlx", "DB", "opens transactions of its own, which the key is not part of", "take tx *sql.Tx instead"},
	{"github.com/jmoiron/sqlx", "Tx", "cannot be made from the transaction that the key is in", "take tx *sql.Tx instead"},
	{"gorm.io/gorm", "DB", "cannot be made from the transaction that the key is in", "take tx *sql.Tx, and open gorm on it: gorm.Open(…{Conn: tx})"},
	{"github.com/uptrace/bun", "DB", "opens transactions of its own, which the key is not part of", "take tx *sql.Tx instead"},
	{"github.com/uptrace/bun", "Tx", "cannot be made from the transaction that the key is in", "take tx *sql.Tx instead"},
	{"entgo.io/ent/dialect/sql", "Tx", "cannot be made from the transaction that the key is in", "take tx *sql.Tx instead"},
}

// almostTransaction says why a parameter that runs statements does not take the transaction; what is empty where it does
// not look as if it should.
func (s *scan) almostTransaction(t types.Type) (what, mend string) {
	bare := types.Unalias(t)
	if p, ok := bare.(*types.Pointer); ok {
		bare = types.Unalias(p.Elem())
	}
	switch {
	case isNamed(bare, sqlPath, "Tx"):
		return "is not a pointer", "take tx *sql.Tx"
	case isNamed(bare, pgxPath, "Tx"):
		return "is a pointer to an interface", "take tx pgx.Tx"
	}
	for _, known := range handles {
		if isNamed(bare, known.path, known.name) {
			return known.what, known.mend
		}
	}
	iface, ok := bare.Underlying().(*types.Interface)
	if !ok {
		return "", ""
	}
	if fn := querier(bare, iface); fn != nil {
		queries := s.typeText(fn.Signature().Results().At(0).Type())
		return "is an interface that has to be made from the transaction", "take " + queries + " instead"
	}
	if !runsStatements(iface) {
		return "", ""
	}
	pgx, sql := lacking(iface, model.PGX), lacking(iface, model.SQL)
	if pgx == nil || sql == nil {
		return "", ""
	}
	return "is satisfied neither by pgx.Tx, because of " + pgx.Name() + ", nor by *sql.Tx, because of " + sql.Name(),
		"leave only methods that the transaction has, or take it itself: tx pgx.Tx or tx *sql.Tx"
}

// querier finds the constructor New(X) *T in the package of an interface that *T satisfies: sqlc's Querier.
func querier(t types.Type, iface *types.Interface) *types.Func {
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil || iface.Empty() {
		return nil
	}
	fn, ok := named.Obj().Pkg().Scope().Lookup("New").(*types.Func)
	if !ok || fn.Signature().Results().Len() != 1 {
		return nil
	}
	result := fn.Signature().Results().At(0).Type()
	if constructorOf(result) != fn || !types.Implements(result, iface) {
		return nil
	}
	if x, ok := fn.Signature().Params().At(0).Type().Underlying().(*types.Interface); !ok || !runsStatements(x) {
		return nil
	}
	return fn
}
