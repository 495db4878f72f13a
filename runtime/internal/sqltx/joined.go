package sqltx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/point"
	"github.com/idemgen/idemgen/runtime/store"
)

// Waiting is a claim or a take-over that may wait for a rival.
type Waiting struct {
	Wait time.Duration
	Run  func(context.Context) (int64, error)
}

// Engine is what differs between the databases in a transaction of the caller's.
type Engine interface {
	// Savepoint sets a savepoint in tx. It returns a *driver.CommitError of fate Lost where tx has ended in the database without
	// database/sql knowing of it, and nothing has been done then: what came after it would be on its own.
	Savepoint(ctx context.Context, tx *sql.Tx, name string) error
	// Claim runs a claim or a take-over in tx, where it waits for a rival at most for the time given.
	Claim(ctx context.Context, tx *sql.Tx, w Waiting) (int64, error)
	// Update runs the UPDATE of a transition in tx, which waits in the same way.
	Update(ctx context.Context, tx *sql.Tx, w Waiting) (int64, error)
	// Read runs a SELECT on what Newest makes of tx, and waits in the same way where that takes a lock.
	Read(ctx context.Context, tx *sql.Tx, w Waiting) error
	// Whole returns such an error where the savepoint is gone, before anything is written into what is left. An engine whose
	// statements fail there by themselves has nothing to do.
	Whole(ctx context.Context, tx *sql.Tx, name string) error
	// NoPoint reports whether the release of a savepoint was answered with there being none.
	NoPoint(err error) bool
	// Aborted reports whether a statement was refused because an earlier error has aborted its transaction.
	Aborted(err error) bool
}

// Joined is a savepoint in a transaction of the caller's. It is a driver.Session.
type Joined[DB any] struct {
	// Handle is the caller's transaction.
	Handle *sql.Tx
	// Queries are run on what On makes of the transaction, but Lookup on what Newest does: where the caller's snapshot hides
	// the rows of rivals, it reads past it.
	Queries    store.Queries[DB]
	On, Newest func(*sql.Tx) DB
	Engine     Engine

	point  string    // the savepoint's name
	inside bool      // of the savepoint
	until  time.Time // how long a transition's look may wait
}

// points numbers the savepoints of this process, so that no two of a transaction share a name, whichever guards they are of: on
// MySQL one within another of the same name replaces it.
var points atomic.Int64

func (s *Joined[DB]) Begin(ctx context.Context) error {
	if err := s.back(ctx); err != nil {
		return err
	}
	s.point = fmt.Sprintf("idemgen_%d", points.Add(1))
	if err := s.Engine.Savepoint(ctx, s.Handle, s.point); err != nil {
		if errors.Is(err, sql.ErrTxDone) {
			return &driver.CommitError{Fate: driver.Lost, Err: err}
		}
		if lost := (*driver.CommitError)(nil); errors.As(err, &lost) {
			// Nobody shall go on in a transaction that is none. The first error tells more than this one.
			_ = s.Handle.Rollback()
		}
		return err
	}
	s.inside = true
	point.At(point.SavepointSet)
	return nil
}

// back goes back to the savepoint, if there is one, and releases it, whether the caller's context is over or not. Where it
// cannot, what should be undone must not be committed either: then the whole transaction is rolled back.
func (s *Joined[DB]) back(ctx context.Context) error {
	if !s.inside {
		return nil
	}
	s.inside = false
	ctx, cancel := driver.Detach(ctx)
	defer cancel()
	point.At(point.BeforeSavepointRollback)
	_, err := s.Handle.ExecContext(ctx, "ROLLBACK TO SAVEPOINT "+s.point)
	if err == nil {
		_, err = s.Handle.ExecContext(ctx, "RELEASE SAVEPOINT "+s.point)
	}
	if err != nil {
		// The first error tells more than the second, which is the transaction's end.
		_ = s.Handle.Rollback()
	}
	point.At(point.SavepointRolledBack)
	return err
}

// Tx is the caller's transaction.
func (s *Joined[DB]) Tx() *sql.Tx { return s.Handle }

func (s *Joined[DB]) Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error) {
	return s.claim(ctx, c.Owner, wait, func(ctx context.Context) (int64, error) {
		return s.Queries.Claim(ctx, s.On(s.Handle), c)
	})
}

func (s *Joined[DB]) TakeOver(ctx context.Context, c store.Claim, seen store.Owner, wait time.Duration) (bool, error) {
	return s.claim(ctx, c.Owner, wait, func(ctx context.Context) (int64, error) {
		return s.Queries.TakeOver(ctx, s.On(s.Handle), c, seen)
	})
}

func (s *Joined[DB]) claim(ctx context.Context, owner store.Owner, wait time.Duration, run func(context.Context) (int64, error)) (bool, error) {
	if err := s.Begin(ctx); err != nil {
		return false, err
	}
	n, err := s.Engine.Claim(ctx, s.Handle, Waiting{wait, run})
	if err != nil || n != 1 {
		return false, err
	}
	joinedClaims.note(s.Handle, owner)
	return true, nil
}

func (s *Joined[DB]) Lookup(ctx context.Context, handler, key string) (store.Row, error) {
	if err := s.back(ctx); err != nil {
		return store.Row{}, err
	}
	return s.Queries.Lookup(ctx, s.Newest(s.Handle), handler, key)
}

func (s *Joined[DB]) Mine(_ context.Context, owner store.Owner) (bool, error) {
	return joinedClaims.noted(s.Handle, owner), nil
}

func (s *Joined[DB]) Commit(ctx context.Context, c *store.Completion) error {
	ctx, cancel := driver.Detach(ctx)
	defer cancel()
	if err := s.Engine.Whole(ctx, s.Handle, s.point); err != nil {
		return s.unreleased(err)
	}
	if c != nil {
		n, err := s.Queries.Complete(ctx, s.On(s.Handle), *c)
		switch {
		case err != nil:
			return s.unreleased(err)
		case n != 1:
			return &driver.CommitError{Fate: driver.Lost, Err: errors.New("the claim is gone")}
		}
	}
	point.At(point.BeforeSavepointRelease)
	if _, err := s.Handle.ExecContext(ctx, "RELEASE SAVEPOINT "+s.point); err != nil {
		if s.Engine.NoPoint(err) {
			return &driver.CommitError{Fate: driver.Lost, Err: err}
		}
		return s.unreleased(err)
	}
	s.inside = false
	point.At(point.SavepointReleased)
	return nil
}

// unreleased tells what an error at the savepoint's end means.
func (s *Joined[DB]) unreleased(err error) error {
	switch {
	case errors.Is(err, sql.ErrTxDone):
		return &driver.CommitError{Fate: driver.Lost, Err: err}
	case s.Engine.Aborted(err):
		return &driver.CommitError{Fate: driver.Aborted, Err: err}
	default:
		return err
	}
}

func (s *Joined[DB]) Close(ctx context.Context) {
	// Where it cannot go back, the caller's transaction cannot go on, which the caller will see.
	_ = s.back(ctx)
}
