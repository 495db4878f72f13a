package idempgx

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemgen/idemgen/runtime/internal/driver"
)

var (
	_ driver.Transitions[pgx.Tx, DBTX] = (*pool)(nil)
	_ driver.Mover[DBTX]               = (*session)(nil)
	_ driver.Mover[DBTX]               = (*joined)(nil)
)

func (p *pool) Update(ctx context.Context, wait time.Duration, update func(context.Context, DBTX) (int64, error)) (int64, error) {
	conn, err := p.db.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Release()
	bounded, cancel := driver.BoundWait(ctx, wait)
	defer cancel()
	alone := &alone{conn: conn, wait: wait}
	n, err := update(bounded, alone)
	if err = driver.WaitError(ctx, bounded, err); err == nil || !alone.sent {
		return n, err
	}
	return n, aloneError(conn, err)
}

// alone is the DBTX of an UPDATE in a transaction of its own: it sends the bound of the wait before the statement. What
// travels together without a BEGIN is one transaction, which ends with the last statement. PostgreSQL, "Pipelining", in the
// chapter on the protocol.
type alone struct {
	noQuery
	conn *pgxpool.Conn
	wait time.Duration
	sent bool
}

func (p *alone) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	b := &pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, 2)}
	b.Queue(setLock, driver.LockTimeout(p.wait))
	b.Queue(sql, args...)
	p.sent = true
	tags, err := readTags(p.conn.SendBatch(ctx, b), 2)
	return tags[1], err
}

// setLock bounds the wait in a transaction that has nothing behind the one statement.
const setLock = `SELECT set_config('lock_timeout', $1, true)`

// aloneError tells what an error in place of the answer to a statement that commits by itself means.
func aloneError(conn *pgxpool.Conn, err error) error {
	var refused *pgconn.PgError
	var unsent pgx.ErrPreprocessingBatch
	switch {
	case errors.As(err, &unsent), pgconn.SafeToRetry(err):
		return err
	case errors.As(err, &refused):
		if driver.CommitUnknownState(refused.Code) || fatal(refused) {
			return &driver.CommitError{Fate: driver.Unknown, Err: err}
		}
		return err
	case conn.Conn().IsClosed():
		return &driver.CommitError{Fate: driver.Unknown, Err: err}
	default:
		return err
	}
}

func (p *pool) Look(ctx context.Context, look func(context.Context, DBTX) error) error {
	return look(ctx, p.db)
}

func (p *pool) AcquireTransition(ctx context.Context) (driver.TransitionSession[pgx.Tx, DBTX], error) {
	conn, err := p.db.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return moving{newSession(p, conn)}, nil
}

// moving is a session whose transaction begins with an UPDATE rather than with a claim: BEGIN travels with it all the same.
type moving struct{ *session }

func (s moving) Update(ctx context.Context, wait time.Duration, update func(context.Context, DBTX) (int64, error)) (int64, error) {
	bounded, cancel := driver.BoundWait(ctx, wait)
	defer cancel()
	n, err := update(bounded, beginning{session: s.session, wait: wait})
	return n, driver.WaitError(ctx, bounded, err)
}

func (s moving) Look(ctx context.Context, look func(context.Context, DBTX) error) error {
	return look(ctx, looking{session: s.session})
}

func (p *pool) JoinTransition(tx pgx.Tx) (driver.TransitionSession[pgx.Tx, DBTX], error) {
	if tx == nil {
		return nil, errors.New("idempgx: the transaction is nil")
	}
	return movingIn{&joined{pool: p, outer: tx}}, nil
}

// movingIn is a savepoint in a transaction of the caller's, for an UPDATE.
type movingIn struct{ *joined }

func (s movingIn) Update(ctx context.Context, wait time.Duration, update func(context.Context, DBTX) (int64, error)) (int64, error) {
	if err := s.Begin(ctx); err != nil {
		return 0, err
	}
	return s.Move(ctx, wait, update)
}

func (s movingIn) Look(ctx context.Context, look func(context.Context, DBTX) error) error {
	if err := s.back(ctx); err != nil {
		return err
	}
	return look(ctx, s.outer)
}

func (s *session) Move(ctx context.Context, wait time.Duration, update func(context.Context, DBTX) (int64, error)) (int64, error) {
	return move(ctx, s.tx.native, wait, update)
}

func (s *joined) Move(ctx context.Context, wait time.Duration, update func(context.Context, DBTX) (int64, error)) (int64, error) {
	return move(ctx, s.outer, wait, update)
}

func move(ctx context.Context, tx pgx.Tx, wait time.Duration, update func(context.Context, DBTX) (int64, error)) (int64, error) {
	bounded, cancel := driver.BoundWait(ctx, wait)
	defer cancel()
	n, err := update(bounded, boundedIn{tx: tx, wait: wait})
	return n, driver.WaitError(ctx, bounded, err)
}

func (s *session) Read(ctx context.Context, _ time.Duration, look func(context.Context, DBTX) error) error {
	return look(ctx, s.tx.native)
}

func (s *joined) Read(ctx context.Context, _ time.Duration, look func(context.Context, DBTX) error) error {
	return look(ctx, s.outer)
}

// boundedIn is the DBTX of an UPDATE in a transaction that goes on: it sends the bound of the wait before the statement, and the bound's
// removal behind it.
type boundedIn struct {
	noQuery
	tx   pgx.Tx
	wait time.Duration
}

func (p boundedIn) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	b := &pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, 3)}
	b.Queue(boundLock, driver.LockTimeout(p.wait))
	b.Queue(sql, args...)
	b.Queue(freeLock)
	tags, err := readTags(p.tx.SendBatch(ctx, b), 3)
	return tags[1], err
}
