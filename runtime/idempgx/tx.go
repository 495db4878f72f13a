package idempgx

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var errNotYours = errors.New("idem: the transaction is the guard's: return an error to roll it back, nil to commit it")

// closedTx is a pgx.Tx of no connection that is closed for good.
var closedTx = func() pgx.Tx {
	var b pgx.Batch
	b.BeginTx(pgx.TxOptions{})
	return pgx.FailedBatchResults(&b, pgx.ErrTxClosed).Tx()
}()

// guardedTx is the transaction as the handler sees it: pgx's own, without the means to end it, and closed once the handler
// has returned.
type guardedTx struct {
	native pgx.Tx
	closed atomic.Bool
	// shared tells that the handler holds something that leads to native itself.
	shared bool
	// failed is the error that aborted the transaction, where it was seen, for a handler that goes on as if there had
	// been none.
	failed error
}

var _ pgx.Tx = (*guardedTx)(nil)

func (t *guardedTx) tx() pgx.Tx {
	if t.closed.Load() {
		return closedTx
	}
	return t.native
}

// note keeps the first of a row of errors: the later ones only say that the transaction is aborted.
func (t *guardedTx) note(err error) {
	switch {
	case err == nil:
		t.failed = nil
	case t.failed == nil && !t.closed.Load() && t.native.Conn().PgConn().TxStatus() != statusActive:
		t.failed = err
	}
}

func (t *guardedTx) end() error {
	if t.closed.Load() {
		return pgx.ErrTxClosed
	}
	return errNotYours
}

// Commit returns an error: the guard commits.
func (t *guardedTx) Commit(context.Context) error { return t.end() }

// Rollback returns an error: the guard rolls back. A deferred Rollback, by habit, does no harm.
func (t *guardedTx) Rollback(context.Context) error { return t.end() }

func (t *guardedTx) Begin(ctx context.Context) (pgx.Tx, error) {
	t.shared = true
	return t.tx().Begin(ctx)
}

func (t *guardedTx) LargeObjects() pgx.LargeObjects {
	t.shared = true
	return t.tx().LargeObjects()
}

func (t *guardedTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	n, err := t.tx().CopyFrom(ctx, table, columns, rows)
	t.note(err)
	return n, err
}

func (t *guardedTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return t.tx().SendBatch(ctx, b)
}

func (t *guardedTx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	sd, err := t.tx().Prepare(ctx, name, sql)
	t.note(err)
	return sd, err
}

func (t *guardedTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	tag, err := t.tx().Exec(ctx, sql, args...)
	t.note(err)
	return tag, err
}

func (t *guardedTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	rows, err := t.tx().Query(ctx, sql, args...)
	t.note(err)
	return rows, err
}

func (t *guardedTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return t.tx().QueryRow(ctx, sql, args...)
}

func (t *guardedTx) Conn() *pgx.Conn { return t.tx().Conn() }
