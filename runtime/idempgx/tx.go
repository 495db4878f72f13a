package idempgx

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/idemgen/idemgen/runtime/internal/driver"
)

var errNotYours = errors.New("idem: the transaction is the guard's: return an error to roll it back, nil to commit it")

// closedTx is a pgx.Tx of no connection that is closed for good.
var closedTx = func() pgx.Tx {
	var b pgx.Batch
	b.BeginTx(pgx.TxOptions{})
	return pgx.FailedBatchResults(&b, pgx.ErrTxClosed).Tx()
}()

// txState is what the transaction and all savepoints in it have in common.
type txState struct {
	// closed is set when the handler has returned.
	closed atomic.Bool
	// shared tells that the handler holds something that leads to pgx's own transaction.
	shared bool
	// unsure tells that the handler may have ended the transaction and begun another one, past its methods.
	unsure bool
	// failed is the error that aborted the transaction, where it was seen, for a handler that goes on as if there had
	// been none.
	failed error
}

// guardedTx is the transaction as the handler sees it, or a savepoint in it: pgx's own, without the means to end the
// transaction, and closed once the handler has returned.
type guardedTx struct {
	native pgx.Tx
	state  *txState
	nested bool
}

var _ pgx.Tx = (*guardedTx)(nil)

func (t *guardedTx) tx() pgx.Tx {
	if t.state.closed.Load() {
		return closedTx
	}
	return t.native
}

// see looks at a statement before it is sent.
func (t *guardedTx) see(sql string) {
	if mayEnd(sql) {
		t.state.unsure = true
	}
}

// note keeps the first of a row of errors: the later ones only say that the transaction is aborted.
func (t *guardedTx) note(err error) {
	switch {
	case err == nil:
		t.state.failed = nil
	case t.state.failed == nil && !t.state.closed.Load() && t.native.Conn().PgConn().TxStatus() != statusActive &&
		driver.SQLState(err) != abortedState:
		t.state.failed = err
	}
}

func (t *guardedTx) end() error {
	if t.state.closed.Load() {
		return pgx.ErrTxClosed
	}
	return errNotYours
}

// Commit releases a savepoint. Of the transaction it returns an error: the guard commits.
func (t *guardedTx) Commit(ctx context.Context) error {
	if t.nested {
		return t.tx().Commit(ctx)
	}
	return t.end()
}

// Rollback goes back to a savepoint. Of the transaction it returns an error: the guard rolls back. A deferred Rollback, by
// habit, does no harm.
func (t *guardedTx) Rollback(ctx context.Context) error {
	if t.nested {
		return t.tx().Rollback(ctx)
	}
	return t.end()
}

func (t *guardedTx) Begin(ctx context.Context) (pgx.Tx, error) {
	native, err := t.tx().Begin(ctx)
	t.note(err)
	if err != nil {
		return nil, err
	}
	return &guardedTx{native: native, state: t.state, nested: true}, nil
}

func (t *guardedTx) LargeObjects() pgx.LargeObjects {
	t.state.shared = true
	return t.tx().LargeObjects()
}

func (t *guardedTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	n, err := t.tx().CopyFrom(ctx, table, columns, rows)
	t.note(err)
	return n, err
}

func (t *guardedTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	for _, q := range b.QueuedQueries {
		t.see(q.SQL)
	}
	return t.tx().SendBatch(ctx, b)
}

func (t *guardedTx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	t.see(sql)
	sd, err := t.tx().Prepare(ctx, name, sql)
	t.note(err)
	return sd, err
}

func (t *guardedTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	t.see(sql)
	tag, err := t.tx().Exec(ctx, sql, args...)
	t.note(err)
	return tag, err
}

func (t *guardedTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	t.see(sql)
	rows, err := t.tx().Query(ctx, sql, args...)
	t.note(err)
	return rows, err
}

func (t *guardedTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	t.see(sql)
	return notedRow{t.tx().QueryRow(ctx, sql, args...), t}
}

// notedRow is a row whose error is noted.
type notedRow struct {
	native pgx.Row
	tx     *guardedTx
}

func (r notedRow) Scan(dest ...any) error {
	err := r.native.Scan(dest...)
	r.tx.note(err)
	return err
}

func (t *guardedTx) Conn() *pgx.Conn {
	t.state.unsure = true
	return t.tx().Conn()
}
