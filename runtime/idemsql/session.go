package idemsql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/point"
	"github.com/idemgen/idemgen/runtime/internal/sqltx"
	"github.com/idemgen/idemgen/runtime/store"
)

// session is one connection for one attempt.
type session struct {
	db   *database
	conn *sql.Conn
	tx   *sql.Tx // nil outside of a transaction
	stop context.CancelFunc
}

// begin opens the transaction.
//
// A connection that turns out to be bad here broke while it was idle, after a restart of the server say, and so may have others
// that were idle beside it. Nothing has been done on it, and it is not to be had again: the next one is tried.
func (s *session) begin(ctx context.Context) error {
	err := s.beginOnce(ctx)
	if !bad(ctx, s.conn, err) {
		return err
	}
	for range s.db.db.Stats().Idle + 1 {
		s.discard()
		_ = s.conn.Close() // it says nothing but that it is closed already
		conn, cerr := s.db.db.Conn(ctx)
		if cerr != nil {
			return cerr
		}
		s.conn = conn
		if err = s.beginOnce(ctx); !bad(ctx, s.conn, err) {
			return err
		}
	}
	return err
}

func (s *session) beginOnce(ctx context.Context) (err error) {
	s.tx, s.stop, err = sqltx.Begin(ctx, s.conn, &s.db.options)
	return s.db.engine.begun(err)
}

// end ends the transaction for database/sql by Commit or Rollback, bounded.
func (s *session) end(how func(*sql.Tx) error) error {
	bound := time.AfterFunc(driver.EndTimeout, s.stop)
	err := how(s.tx)
	bound.Stop()
	s.stop()
	s.tx = nil
	return err
}

// rollback ends the transaction, if there is one. A connection that is not certainly out of it is discarded.
func (s *session) rollback() error {
	if s.tx == nil {
		return nil
	}
	point.At(point.BeforeRollback)
	err := s.end((*sql.Tx).Rollback)
	point.At(point.RolledBack)
	if errors.Is(err, sql.ErrTxDone) || s.db.engine.rolledBack(err) {
		return nil
	}
	s.discard()
	return err
}

// discard has database/sql close the connection when it is given back.
func (s *session) discard() { sqltx.Discard(s.conn) }

func (s *session) Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error) {
	return s.claim(ctx, wait, func(ctx context.Context) (int64, error) {
		return s.db.queries.Claim(ctx, s.tx, c)
	})
}

func (s *session) TakeOver(ctx context.Context, c store.Claim, seen store.Owner, wait time.Duration) (bool, error) {
	return s.claim(ctx, wait, func(ctx context.Context) (int64, error) {
		return s.db.queries.TakeOver(ctx, s.tx, c, seen)
	})
}

func (s *session) claim(ctx context.Context, wait time.Duration, run func(context.Context) (int64, error)) (bool, error) {
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	n, err := s.db.engine.Claim(ctx, s.tx, sqltx.Waiting{Wait: wait, Run: run})
	return err == nil && n == 1, err
}

func (s *session) Lookup(ctx context.Context, handler, key string) (store.Row, error) {
	if err := s.rollback(); err != nil {
		return store.Row{}, err
	}
	return s.db.queries.Lookup(ctx, s.conn, handler, key)
}

// Mine is false: the transaction has ended, and its claim with it.
func (s *session) Mine(context.Context, store.Owner) (bool, error) { return false, nil }

func (s *session) Begin(ctx context.Context) error {
	if err := s.rollback(); err != nil {
		return err
	}
	return s.begin(ctx)
}

func (s *session) Tx() *sql.Tx { return s.tx }

func (s *session) Commit(ctx context.Context, c *store.Completion) error {
	ctx, cancel := driver.Detach(ctx)
	defer cancel()
	if c != nil {
		n, err := s.db.queries.Complete(ctx, s.tx, *c)
		switch {
		case errors.Is(err, sql.ErrTxDone):
			return &driver.CommitError{Fate: driver.Lost, Err: err}
		case s.db.engine.Aborted(err):
			return &driver.CommitError{Fate: driver.Aborted, Err: err}
		case errors.Is(err, sqldriver.ErrBadConn):
			return fmt.Errorf("the connection was closed under the handler, or has rows that it left open: %w", err)
		case err != nil:
			return err
		case n != 1:
			return &driver.CommitError{Fate: driver.Lost, Err: errors.New("the claim is gone")}
		}
	}
	point.At(point.BeforeCommit)
	return s.db.engine.commit(ctx, s)
}

func (s *session) Close(context.Context) {
	// What is wrong with a connection is known by now: it is discarded where it could not be rolled back, and the
	// database rolls back what a closed connection has left.
	_ = s.rollback()
	_ = s.conn.Close()
}
