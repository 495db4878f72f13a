package idemmysql

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

// session is one connection for one attempt. Its autocommit is off.
type session struct {
	db   *database
	conn *sql.Conn
	tx   *sql.Tx // nil outside of a transaction of ours
	stop context.CancelFunc

	reading bool            // a look-up has begun a transaction
	broken  bool            // the connection must not be used again
	silent  <-chan struct{} // where database/sql still waits for an answer: closed when it has one, or the connection has ended
}

// The mark of a transaction: it goes when the transaction does, whoever ends it and however.
const (
	setMark     = "SAVEPOINT idemgen"
	releaseMark = "RELEASE SAVEPOINT idemgen"
)

const (
	commit   = "COMMIT"
	rollback = "ROLLBACK"
)

// begin opens the transaction, and marks it.
func (s *session) begin(ctx context.Context) error {
	err := s.rollback()
	if err != nil {
		return err
	}
	if s.tx, s.stop, err = sqltx.Begin(ctx, s.conn, &s.db.options); err != nil {
		return err
	}
	_, err = s.tx.ExecContext(ctx, setMark)
	return err
}

// end has database/sql know that the transaction is over, which it is by then: this second ROLLBACK finds none. It is not
// what ends the transaction, since it knows no bound; the one before has just been answered, or has closed the connection. Where
// the network falls silent between the two, nobody waits for it but the connection, which is done with.
func (s *session) end() {
	var err error
	over := make(chan struct{})
	go func(tx *sql.Tx, stop context.CancelFunc) {
		defer close(over)
		defer stop()
		err = tx.Rollback()
	}(s.tx, s.stop)
	s.tx = nil
	bound := time.NewTimer(driver.EndTimeout)
	defer bound.Stop()
	select {
	case <-over:
		s.broken = s.broken || err != nil && !errors.Is(err, sql.ErrTxDone)
	case <-bound.C:
		s.silent, s.broken = over, true
	}
}

// errSilent is a connection that is done with, and that database/sql has not let go.
var errSilent = errors.New("the connection is silent")

// rollback rolls back what there is, whatever the handler has made of it: also what came after the end of the transaction.
func (s *session) rollback() error {
	if s.tx == nil && !s.reading {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), driver.EndTimeout)
	defer cancel()
	point.At(point.BeforeRollback)
	err := sql.ErrTxDone
	if s.tx != nil {
		// Not on the connection: where that turns out to be bad, database/sql would wait for the end of the transaction.
		_, err = s.tx.ExecContext(ctx, rollback)
		s.end()
		if s.silent != nil {
			return errSilent
		}
	}
	if errors.Is(err, sql.ErrTxDone) {
		_, err = s.conn.ExecContext(ctx, rollback)
	}
	s.reading = false
	s.broken = s.broken || err != nil
	point.At(point.RolledBack)
	return err
}

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
	n, err := engine{s.db}.Claim(ctx, s.tx, sqltx.Waiting{Wait: wait, Run: run})
	var kept *keptError
	s.broken = s.broken || errors.As(err, &kept)
	return err == nil && n == 1, err
}

// readNewest has the next transaction, which is the look-up, see the newest committed row and no other: neither what an
// older snapshot shows nor what is not committed. It takes no lock.
const readNewest = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"

func (s *session) Lookup(ctx context.Context, handler, key string) (store.Row, error) {
	if err := s.rollback(); err != nil {
		return store.Row{}, err
	}
	if _, err := s.conn.ExecContext(ctx, readNewest); err != nil {
		return store.Row{}, err
	}
	s.reading = true
	return s.db.queries.Lookup(ctx, s.conn, handler, key)
}

// Mine is false: the transaction has ended, and its claim with it.
func (s *session) Mine(context.Context, store.Owner) (bool, error) { return false, nil }

func (s *session) Begin(ctx context.Context) error { return s.begin(ctx) }

func (s *session) Tx() *sql.Tx { return s.tx }

func (s *session) Commit(ctx context.Context, c *store.Completion) error {
	ctx, cancel := driver.Detach(ctx)
	defer cancel()
	if err := s.whole(ctx); err != nil {
		return err
	}
	if c != nil {
		n, err := s.db.queries.Complete(ctx, s.tx, *c)
		switch {
		case err != nil:
			return err
		case n != 1:
			return &driver.CommitError{Fate: driver.Lost, Err: errors.New("the claim is gone")}
		}
	}
	point.At(point.BeforeCommit)
	_, err := s.tx.ExecContext(ctx, commit)
	if err == nil {
		s.end()
		return nil
	}
	if definite(err) && s.rollback() == nil {
		// An answer after which the server goes on.
		return &driver.CommitError{Fate: driver.Refused, Err: err}
	}
	s.broken = true
	return &driver.CommitError{Fate: driver.Unknown, Err: err}
}

// whole reports an error where the transaction is not the one any more that was begun.
func (s *session) whole(ctx context.Context) error {
	_, err := s.tx.ExecContext(ctx, releaseMark)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrTxDone), number(err) == noPoint:
		return &driver.CommitError{Fate: driver.Lost, Err: err}
	case errors.Is(err, sqldriver.ErrBadConn):
		return fmt.Errorf("the connection was closed under the handler, or has rows that it left open: %w", err)
	default:
		return err
	}
}

func (s *session) Close(ctx context.Context) {
	// What is wrong with a connection is known by now: it is closed where it could not be rolled back, and the database
	// rolls back what a closed connection has left.
	_ = s.rollback()
	if s.silent != nil {
		go func() {
			<-s.silent
			give(ctx, s.conn, restoreHold, true)
		}()
		return
	}
	give(ctx, s.conn, restoreHold, s.broken)
}
