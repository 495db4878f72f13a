package idem

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/point"
)

// WithTransition puts a change of state before a handler's function, for an event that has a key as well: once the key is
// claimed, the UPDATE decides whether the function runs, in the same transaction. run may be nil, for a handler that does
// nothing else.
//
// A repeat is known by its key, and gets the stored result. So a new key that finds its row moved already is another event for
// the same state, and that is a [*ConflictError]: it is not taken for a repeat, as a [Transition] would have to. Whatever keeps
// the row from being moved rolls the claim back, and the next delivery tries again.
func WithTransition[Tx, DB, E, R any](spec TransitionSpec[DB, E], run func(context.Context, Tx, E) (R, error)) func(context.Context, Tx, E) (R, error) {
	return func(ctx context.Context, tx Tx, e E) (result R, err error) {
		if err := spec.check(); err != nil {
			return result, &refusal{err, OutcomeError}
		}
		hook := hookOf(ctx)
		if hook == nil {
			return result, &refusal{errNotItsDriver, OutcomeError}
		}
		in, ok := hook.session.(driver.Mover[DB])
		if !ok {
			return result, &refusal{errNotItsDriver, OutcomeError}
		}
		if err := spec.move(ctx, in, hook.wait, e); err != nil {
			return result, err
		}
		if run == nil {
			return result, nil
		}
		return run(ctx, tx, e)
	}
}

var errNotItsDriver = errors.New("the guard's driver does not run the transition's statements: run go generate")

// refusal is an error of a transition within a handler's run: not the handler's own.
type refusal struct {
	err     error
	outcome Outcome
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// move moves the row of a keyed event, in the transaction that holds its claim.
func (s *TransitionSpec[DB, E]) move(ctx context.Context, in driver.Mover[DB], wait func(context.Context) time.Duration, e E) error {
	if _, err := s.Row(e); err != nil {
		return &refusal{err, OutcomeError}
	}
	for n := 0; ; n++ {
		point.At(point.BeforeMove)
		moved, err := in.Move(ctx, wait(ctx), func(ctx context.Context, db DB) (int64, error) { return s.Update(ctx, db, e) })
		if moved == 1 {
			point.At(point.Moved)
		}
		switch {
		case err != nil:
			return unmovedIn(ctx, "update", err)
		case moved == 1 && s.OneRow:
			return nil
		case moved > 1:
			return &refusal{fmt.Errorf("%w: %d", ErrManyRows, moved), OutcomeError}
		}
		point.At(point.BeforeRowLookup)
		row, err := s.read(ctx, in.Read, wait(ctx), e)
		point.At(point.RowLookedUp)
		switch {
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return unmovedIn(ctx, "look-up", err)
		case moved == 1 && row.Rows <= 1:
			return nil
		case moved == 1:
			return &refusal{fmt.Errorf("%w: %d", ErrManyRows, row.Rows), OutcomeError}
		}
		why := s.judge(e, row, err, true)
		switch {
		case refused(why):
			return &refusal{why, OutcomeConflict}
		case errors.Is(why, ErrUnmoved) && n < maxUnmoved:
			if err := pause(ctx, n); err != nil {
				return &refusal{err, OutcomeError}
			}
		default:
			return &refusal{why, OutcomeError}
		}
	}
}

// read reads the row, in the transaction that may have moved it.
func (s *TransitionSpec[DB, E]) read(ctx context.Context, read func(context.Context, time.Duration, func(context.Context, DB) error) error, wait time.Duration, e E) (row RowState, err error) {
	err = read(ctx, wait, func(ctx context.Context, db DB) error {
		row, err = s.Look(ctx, db, e)
		return err
	})
	return row, err
}

// unmovedIn is an error of the database before the handler ran.
func unmovedIn(ctx context.Context, what string, err error) error {
	return &refusal{fmt.Errorf("%s: %w", what, withEnd(ctx, err)), OutcomeError}
}
