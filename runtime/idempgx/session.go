package idempgx

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// The states of a transaction, as the server reports them after each answer. PostgreSQL, "Message Formats",
// ReadyForQuery.
const (
	statusIdle    = 'I'
	statusActive  = 'T' // in a transaction
	statusAborted = 'E'
)

// session is one connection for one attempt.
type session struct {
	pool *pool
	conn *pgxpool.Conn
	tx   guardedTx
	open bool // tx.native may still be open
}

// began takes over the transaction whose BEGIN has been sent.
func (s *session) began(native pgx.Tx) {
	s.tx.native = native
	s.open = true
}

// ended notes that the transaction is over. Where native does not know of it, native must not be shared.
func (s *session) ended() { s.open = false }

func (s *session) Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error) {
	bounded, cancel := driver.BoundWait(ctx, wait)
	defer cancel()
	n, err := s.pool.queries.Claim(bounded, beginning{session: s, wait: wait}, c)
	return n == 1, driver.WaitError(ctx, bounded, err)
}

func (s *session) Lookup(ctx context.Context, handler, key string) (store.Row, error) {
	return s.pool.queries.Lookup(ctx, looking{session: s}, handler, key)
}

func (s *session) TakeOver(ctx context.Context, c store.Claim, seen store.Owner, wait time.Duration) (bool, error) {
	bounded, cancel := driver.BoundWait(ctx, wait)
	defer cancel()
	n, err := s.pool.queries.TakeOver(bounded, beginning{session: s, wait: wait}, c, seen)
	return n == 1, driver.WaitError(ctx, bounded, err)
}

func (s *session) Tx() pgx.Tx { return &s.tx }

func (s *session) Commit(ctx context.Context, c *store.Completion) error {
	s.tx.closed.Store(true)
	conn := s.conn.Conn().PgConn()
	switch {
	case conn.IsClosed():
		return errors.Join(errors.New("the connection was closed under the handler"), s.tx.failed)
	case conn.IsBusy():
		return errors.New("the handler returned with rows, a batch or a copy still open")
	case conn.TxStatus() == statusAborted:
		return &driver.CommitError{Fate: driver.Aborted, Err: s.tx.failed}
	case conn.TxStatus() == statusIdle:
		return &driver.CommitError{Fate: driver.Lost}
	}

	ctx, cancel := driver.Detach(ctx)
	defer cancel()
	if c == nil {
		return s.commitNative(ctx)
	}
	if s.tx.shared {
		// One round trip more, for which native learns that it is closed.
		if err := s.complete(ctx, s.tx.native, *c); err != nil {
			return err
		}
		return s.commitNative(ctx)
	}
	return s.commitPipelined(ctx, *c)
}

// complete turns the claim into a done row.
func (s *session) complete(ctx context.Context, db DBTX, c store.Completion) error {
	n, err := s.pool.queries.Complete(ctx, db, c)
	if err != nil {
		return err
	}
	if n != 1 {
		return &driver.CommitError{Fate: driver.Lost, Err: errors.New("the claim is gone")}
	}
	return nil
}

func (s *session) commitNative(ctx context.Context) error {
	if err := s.tx.native.Commit(ctx); err != nil {
		return s.commitError(err)
	}
	s.ended()
	return nil
}

func (s *session) commitPipelined(ctx context.Context, c store.Completion) error {
	var answer pgconn.CommandTag
	err := s.complete(ctx, committing{session: s, answer: &answer}, c)
	switch {
	case answer.String() == "COMMIT":
		s.ended()
		return err // the claim is gone, or nil
	case answer.String() == "ROLLBACK":
		s.ended()
		return &driver.CommitError{Fate: driver.Aborted, Err: s.tx.failed}
	case err == nil:
		return errOneStatement
	default:
		return s.commitError(err)
	}
}

// commitError tells what an error in place of COMMIT's answer means.
func (s *session) commitError(err error) error {
	var refused *pgconn.PgError
	var unsent pgx.ErrPreprocessingBatch
	switch {
	case errors.Is(err, pgx.ErrTxCommitRollback):
		return &driver.CommitError{Fate: driver.Aborted, Err: s.tx.failed}
	case errors.As(err, &unsent):
		return err
	case errors.As(err, &refused):
		if driver.CommitUnknownState(refused.Code) {
			return &driver.CommitError{Fate: driver.Unknown, Err: err}
		}
		return err
	case pgconn.SafeToRetry(err):
		return err
	case s.conn.Conn().IsClosed():
		return &driver.CommitError{Fate: driver.Unknown, Err: err}
	default:
		// The statement could not even be sent, and the connection is as it was.
		return err
	}
}

func (s *session) Close(ctx context.Context) {
	s.tx.closed.Store(true)
	if s.open {
		ctx, cancel := driver.Detach(ctx)
		// An error closes the connection, and with it the server rolls back. For a transaction that is closed it is
		// the error, and nothing is sent.
		_ = s.tx.native.Rollback(ctx)
		cancel()
	}
	s.conn.Release()
}
