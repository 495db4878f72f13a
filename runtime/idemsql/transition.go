package idemsql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/sqltx"
	"github.com/idemgen/idemgen/runtime/store"
)

var (
	_ driver.Transitions[*sql.Tx, DBTX] = (*database)(nil)
	_ driver.Mover[DBTX]                = (*session)(nil)
	_ driver.Mover[DBTX]                = (*sqltx.Joined[DBTX])(nil)
)

func (d *database) Update(ctx context.Context, wait time.Duration, update func(context.Context, DBTX) (int64, error)) (int64, error) {
	return d.engine.alone(ctx, d, wait, update)
}

// alone begins a transaction of its own, in which the wait can be bounded: a context that ends in a statement would cost the
// connection, and leave open whether the statement takes place after all.
func (postgresql) alone(ctx context.Context, d *database, wait time.Duration, update func(context.Context, DBTX) (int64, error)) (int64, error) {
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	s := &session{db: d, conn: conn}
	defer s.Close(ctx)
	if err := s.begin(ctx); err != nil {
		return 0, err
	}
	n, err := s.Move(ctx, wait, update)
	if err != nil || n != 1 {
		return n, err
	}
	return n, s.Commit(ctx, nil)
}

// alone leaves the transaction to SQLite, for which a statement without BEGIN is one. Whatever it answers is definite, but a driver
// may tell of the context's end in place of an answer that came at the same time.
func (e sqlite) alone(ctx context.Context, d *database, _ time.Duration, update func(context.Context, DBTX) (int64, error)) (int64, error) {
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	// The only error there is says that a broken connection has been closed already.
	defer func() { _ = conn.Close() }()
	if err := e.free(ctx, conn); err != nil {
		return 0, err
	}
	n, err := update(ctx, conn)
	if end := ctx.Err(); end != nil && (errors.Is(err, end) || primaryCode(err) == codeInterrupt) {
		return n, &driver.CommitError{Fate: driver.Unknown, Err: err}
	}
	return n, err
}

func (d *database) Look(ctx context.Context, look func(context.Context, DBTX) error) error {
	return look(ctx, d.db)
}

func (d *database) AcquireTransition(ctx context.Context) (driver.TransitionSession[*sql.Tx, DBTX], error) {
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return moving{session: &session{db: d, conn: conn}}, nil
}

// moving is a session whose transaction begins with an UPDATE rather than with a claim. There is no claim whose completion
// would find the transaction gone, so a savepoint behind the UPDATE takes its place: it goes with the transaction.
type moving struct{ *session }

// The mark of the transaction.
const (
	setMark     = "SAVEPOINT idemgen"
	releaseMark = "RELEASE SAVEPOINT idemgen"
)

func (s moving) Update(ctx context.Context, wait time.Duration, update func(context.Context, DBTX) (int64, error)) (int64, error) {
	if err := s.begin(ctx); err != nil {
		return 0, err
	}
	n, err := s.Move(ctx, wait, update)
	if err != nil || n != 1 {
		return n, err
	}
	_, err = s.tx.ExecContext(ctx, setMark)
	return n, err
}

func (s *session) Move(ctx context.Context, wait time.Duration, update func(context.Context, DBTX) (int64, error)) (int64, error) {
	return s.db.engine.Update(ctx, s.tx, sqltx.Waiting{Wait: wait, Run: func(ctx context.Context) (int64, error) { return update(ctx, s.tx) }})
}

func (s *session) Read(ctx context.Context, _ time.Duration, look func(context.Context, DBTX) error) error {
	return look(ctx, s.tx)
}

func (s moving) Look(ctx context.Context, look func(context.Context, DBTX) error) error {
	if err := s.rollback(); err != nil {
		return err
	}
	return look(ctx, s.conn)
}

func (s moving) Commit(ctx context.Context, _ *store.Completion) error {
	bounded, cancel := driver.Detach(ctx)
	defer cancel()
	_, err := s.tx.ExecContext(bounded, releaseMark)
	switch {
	case err == nil:
		return s.session.Commit(ctx, nil)
	case errors.Is(err, sql.ErrTxDone):
		return &driver.CommitError{Fate: driver.Lost, Err: err}
	case s.db.engine.Aborted(err):
		return &driver.CommitError{Fate: driver.Aborted, Err: err}
	case s.db.engine.NoPoint(err):
		return &driver.CommitError{Fate: driver.Lost, Err: err}
	case errors.Is(err, sqldriver.ErrBadConn):
		return errors.Join(errors.New("the connection was closed under the handler, or has rows that it left open"), err)
	default:
		return err
	}
}

func (d *database) JoinTransition(tx *sql.Tx) (driver.TransitionSession[*sql.Tx, DBTX], error) {
	if tx == nil {
		return nil, errors.New("idemsql: the transaction is nil")
	}
	return d.joined(tx), nil
}
