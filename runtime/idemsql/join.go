package idemsql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/point"
	"github.com/idemgen/idemgen/runtime/store"
)

// joined is a savepoint in a transaction of the caller's. Its session has a transaction and no connection.
type joined struct {
	session

	inside bool // of the savepoint
}

// The savepoint's name: one within another of the same name hides it until it is released.
const (
	setPoint     = "SAVEPOINT idemgen"
	backToPoint  = "ROLLBACK TO SAVEPOINT idemgen"
	releasePoint = "RELEASE SAVEPOINT idemgen"
)

func (s *joined) Begin(ctx context.Context) error {
	if err := s.back(ctx); err != nil {
		return err
	}
	if _, err := s.tx.ExecContext(ctx, setPoint); err != nil {
		return err
	}
	s.inside = true
	point.At(point.SavepointSet)
	return nil
}

// back goes back to the savepoint, if there is one, and releases it, whether the caller's context is over or not. Where it
// cannot, what should be undone must not be committed either: then the whole transaction is rolled back.
func (s *joined) back(ctx context.Context) error {
	if !s.inside {
		return nil
	}
	s.inside = false
	ctx, cancel := driver.Detach(ctx)
	defer cancel()
	point.At(point.BeforeSavepointRollback)
	_, err := s.tx.ExecContext(ctx, backToPoint)
	if err == nil {
		_, err = s.tx.ExecContext(ctx, releasePoint)
	}
	if err != nil {
		// The first error tells more than the second, which is the transaction's end.
		_ = s.tx.Rollback()
	}
	point.At(point.SavepointRolledBack)
	return err
}

func (s *joined) Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error) {
	return s.claim(ctx, c.Owner, wait, func(ctx context.Context) (int64, error) {
		return s.db.queries.Claim(ctx, s.tx, c)
	})
}

func (s *joined) TakeOver(ctx context.Context, c store.Claim, seen store.Owner, wait time.Duration) (bool, error) {
	return s.claim(ctx, c.Owner, wait, func(ctx context.Context) (int64, error) {
		return s.db.queries.TakeOver(ctx, s.tx, c, seen)
	})
}

func (s *joined) claim(ctx context.Context, owner store.Owner, wait time.Duration, run func(context.Context) (int64, error)) (bool, error) {
	if err := s.Begin(ctx); err != nil {
		return false, err
	}
	n, err := s.db.engine.claim(ctx, &s.session, waiting{wait, run})
	if err != nil || n != 1 {
		return false, err
	}
	s.db.claims.note(s.tx, owner)
	return true, nil
}

func (s *joined) Lookup(ctx context.Context, handler, key string) (store.Row, error) {
	if err := s.back(ctx); err != nil {
		return store.Row{}, err
	}
	return s.db.queries.Lookup(ctx, s.tx, handler, key)
}

func (s *joined) Mine(_ context.Context, owner store.Owner) (bool, error) {
	return s.db.claims.noted(s.tx, owner), nil
}

func (s *joined) Commit(ctx context.Context, c *store.Completion) error {
	ctx, cancel := driver.Detach(ctx)
	defer cancel()
	if c != nil {
		n, err := s.db.queries.Complete(ctx, s.tx, *c)
		switch {
		case err != nil:
			return s.unreleased(err)
		case n != 1:
			return &driver.CommitError{Fate: driver.Lost, Err: errors.New("the claim is gone")}
		}
	}
	point.At(point.BeforeSavepointRelease)
	if _, err := s.tx.ExecContext(ctx, releasePoint); err != nil {
		if s.db.engine.noPoint(err) {
			return &driver.CommitError{Fate: driver.Lost, Err: err}
		}
		return s.unreleased(err)
	}
	s.inside = false
	point.At(point.SavepointReleased)
	return nil
}

// unreleased tells what an error at the savepoint's end means.
func (s *joined) unreleased(err error) error {
	switch {
	case errors.Is(err, sql.ErrTxDone):
		return &driver.CommitError{Fate: driver.Lost, Err: err}
	case driver.SQLState(err) == abortedState:
		return &driver.CommitError{Fate: driver.Aborted, Err: err}
	default:
		return err
	}
}

func (s *joined) Close(ctx context.Context) {
	// Where it cannot go back, the caller's transaction cannot go on, which the caller will see.
	_ = s.back(ctx)
}
