package analyze

import (
	"go/types"

	"github.com/idemgen/idemgen/generator/internal/model"
)

// noTransaction says why a handler has no transaction, and what would be one: an almost-transaction first.
func (h *handler) noTransaction() {
	if _, ok := h.placed.Arg("lease"); ok && h.change == nil {
		return // what it takes is its own affair
	}
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
	if h.change != nil {
		h.fail(h.Pos, codeTransitionTx,
			"take the transaction as a parameter, tx pgx.Tx or tx *sql.Tx, and do in it what belongs to the change of state; if there is nothing to do, "+
				"declare the method in an interface and annotate it there",
			"%s has no transaction parameter, and its body could not be one with the change of state", h.Source)
		return
	}
	h.fail(h.Pos, codeNoTx,
		"is its effect in the database? take the transaction as a parameter, tx pgx.Tx or tx *sql.Tx, and do the work in it: "+
			"it commits together with the key. Is it outside, a charge or a mail? write how long a key is held for it: lease=30s",
		"%s has no transaction parameter, and no lease=", h.Source)
}

// noLease refuses what is only for a handler without a transaction.
func (h *handler) noLease(tx int) {
	for _, name := range []string{"lease", "expired"} {
		if arg, ok := h.placed.Arg(name); ok {
			h.fail(arg.Pos, codeTxLease,
				"remove "+name+"=, or, if the effect is outside of the database, the parameter",
				"%s takes %s, which holds the key until it commits, and %s= is for handlers without a transaction", h.Source, h.paramText(tx), name)
			return
		}
	}
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
	if what, mend := s.almostQueries(t); what != "" {
		return what, mend
	}
	iface, ok := bare.Underlying().(*types.Interface)
	if !ok {
		return "", ""
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
