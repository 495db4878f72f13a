package idempgx

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/point"
	"github.com/idemgen/idemgen/runtime/store"
)

// The states of a transaction, as the server reports them after each answer. PostgreSQL, "Message Formats",
// ReadyForQuery.
const (
	statusIdle    = 'I'
	statusActive  = 'T' // in a transaction
	statusAborted = 'E'
)

// abortedState is the answer to every statement of a transaction that an earlier error has aborted. PostgreSQL, Appendix
// A, class 25.
const abortedState = "25P02"

// session is one connection for one attempt.
type session struct {
	pool  *pool
	conn  *pgxpool.Conn
	tx    guardedTx
	state txState // tx's
	open  bool    // tx.native may still be open
}

func newSession(p *pool, conn *pgxpool.Conn) *session {
	s := &session{pool: p, conn: conn}
	s.tx.state = &s.state
	return s
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

func (s *session) Begin(ctx context.Context) error {
	if s.open {
		// A claim that could not even be described has not begun anything.
		if err := s.tx.native.Rollback(ctx); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
			return err
		}
		s.ended()
	}
	b := &pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, 2)}
	b.BeginTx(s.pool.options)
	b.Queue(keepLock)
	results := s.conn.SendBatch(ctx, b)
	s.began(results.Tx())
	_, err := readTags(results, 2)
	return err
}

// Mine is false: the transaction has ended, and its claim with it.
func (s *session) Mine(context.Context, store.Owner) (bool, error) { return false, nil }

func (s *session) Tx() pgx.Tx { return &s.tx }

func (s *session) Commit(ctx context.Context, c *store.Completion) error {
	s.state.closed.Store(true)
	conn := s.conn.Conn().PgConn()
	switch {
	case conn.IsClosed():
		return errors.Join(errors.New("the connection was closed under the handler"), s.state.failed)
	case conn.IsBusy():
		return errors.New("the handler returned with rows, a batch or a copy still open")
	case conn.TxStatus() == statusAborted:
		return &driver.CommitError{Fate: driver.Aborted, Err: s.state.failed}
	case conn.TxStatus() == statusIdle:
		return &driver.CommitError{Fate: driver.Lost}
	}

	ctx, cancel := driver.Detach(ctx)
	defer cancel()
	if c == nil && !s.state.unsure {
		return s.commitNative(ctx)
	}
	end := &ending{session: s, check: s.state.unsure, commit: !s.state.shared}
	err := s.complete(ctx, end, c)
	switch {
	case end.answer.String() == "COMMIT":
		s.ended()
		return err // the claim is gone, or nil
	case end.answer.String() == "ROLLBACK":
		s.ended()
		return &driver.CommitError{Fate: driver.Aborted, Err: s.state.failed}
	case err != nil && !end.commit:
		return err // of what came before a COMMIT that was not sent
	case err != nil:
		return s.commitError(err, end.reached)
	case end.commit:
		return errOneStatement
	default:
		// One round trip more, for which native learns that it is closed.
		return s.commitNative(ctx)
	}
}

// complete turns the claim into a done row, where that is not done yet.
func (s *session) complete(ctx context.Context, end *ending, c *store.Completion) error {
	if c == nil {
		_, err := end.send(ctx, func(*pgx.Batch) {})
		return err
	}
	n, err := s.pool.queries.Complete(ctx, end, *c)
	if err != nil {
		return err
	}
	if n != 1 {
		return &driver.CommitError{Fate: driver.Lost, Err: errors.New("the claim is gone")}
	}
	return nil
}

func (s *session) commitNative(ctx context.Context) error {
	point.At(point.BeforeCommit)
	if err := s.tx.native.Commit(ctx); err != nil {
		return s.commitError(err, true)
	}
	s.ended()
	return nil
}

// commitError tells what an error in place of COMMIT's answer means: of COMMIT itself, or of what was sent with it and was
// not answered before.
func (s *session) commitError(err error, reached bool) error {
	var ended *driver.CommitError
	var refused *pgconn.PgError
	var unsent pgx.ErrPreprocessingBatch
	switch {
	case errors.As(err, &ended):
		return err
	case errors.Is(err, pgx.ErrTxCommitRollback):
		return &driver.CommitError{Fate: driver.Aborted, Err: s.state.failed}
	case errors.As(err, &unsent):
		return err
	case errors.As(err, &refused):
		if driver.CommitUnknownState(refused.Code) || fatal(refused) {
			return &driver.CommitError{Fate: driver.Unknown, Err: err}
		}
		if reached {
			return &driver.CommitError{Fate: driver.Refused, Err: err}
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

// fatal reports whether the server ended the connection with an answer, or itself: it can do so for a reason that has
// nothing to do with COMMIT, and between COMMIT and its answer. PostgreSQL, "Error and Notice Message Fields".
func fatal(err *pgconn.PgError) bool {
	severity := err.SeverityUnlocalized
	if severity == "" {
		severity = err.Severity
	}
	return severity == "FATAL" || severity == "PANIC"
}

func (s *session) Close(ctx context.Context) {
	s.state.closed.Store(true)
	if s.open {
		point.At(point.BeforeRollback)
		ctx, cancel := driver.Detach(ctx)
		// An error closes the connection, and with it the server rolls back. For a transaction that is closed it is
		// the error, and nothing is sent.
		_ = s.tx.native.Rollback(ctx)
		cancel()
		point.At(point.RolledBack)
	}
	s.conn.Release()
}
