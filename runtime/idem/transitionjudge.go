package idem

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/idemgen/idemgen/runtime/internal/driver"
)

// unmoved judges an error of the UPDATE, or of the look-up behind it.
func (m *mover[Tx, DB, E]) unmoved(ctx context.Context, d *delivery, what string, err error) (step, error) {
	var end *driver.CommitError
	if errors.As(err, &end) && end.Fate == driver.Unknown {
		return unsettled, withEnd(ctx, end.Err)
	}
	class := m.guard.driver.Classify(err)
	if ctx.Err() != nil && class == driver.Other {
		return ended, m.fail(d, fmt.Errorf("%s: %w", what, withEnd(ctx, err)))
	}
	switch class {
	case driver.Conflict, driver.Locked:
		return unclaimed, err
	case driver.Busy:
		return ended, m.tooLate(d, err)
	default:
		return ended, m.fail(d, fmt.Errorf("%s: %w", what, commitError(err)))
	}
}

// judge says why no row was moved.
func (m *mover[Tx, DB, E]) judge(ctx context.Context, e E, d *delivery, row RowState, err error) (step, error) {
	switch why := m.spec.judge(e, row, err, false); {
	case why == nil:
		d.outcome = OutcomeDuplicate
		return ended, nil
	case errors.Is(why, ErrUnmoved):
		return unclaimed, why
	case refused(why):
		d.outcome = OutcomeConflict
		return ended, m.wrap(d.key, why)
	case err != nil && !errors.Is(why, ErrRowNotFound):
		return m.unmoved(ctx, d, "look-up", err)
	default:
		return ended, m.fail(d, why)
	}
}

// judge says why no row was moved: nil for a repeat. keyed says that the event has a key of its own, by which it is known not
// to be a repeat.
func (s *TransitionSpec[DB, E]) judge(e E, row RowState, err error, keyed bool) error {
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%w: %s", ErrRowNotFound, s.Column)
	case err != nil:
		return err
	case !s.OneRow && row.Rows == 0:
		return fmt.Errorf("%w: %s", ErrRowNotFound, s.Column)
	case row.Rows > 1:
		return fmt.Errorf("%w: %d", ErrManyRows, row.Rows)
	}
	// A state that the change may begin in comes first, also where it lies behind To on a way that leads back: the UPDATE has
	// not moved the row from there, and that is no success.
	from := slices.Contains(s.From, row.State)
	switch {
	case !from && (keyed || !slices.Contains(s.Past, row.State)):
		return &ConflictError{Column: s.Column, Have: row.State, Want: s.To}
	case s.Expect != nil && (from && s.Expect(e) != row.Version || s.Expect(e) > row.Version):
		// Nor can a row that has not come to the event's version have been moved by it.
		return &StaleVersionError{Column: s.Column, Have: row.Version, Want: s.Expect(e)}
	case from:
		return fmt.Errorf("%w: %s is %s", ErrUnmoved, s.Column, row.State)
	default:
		return nil
	}
}

// refused says that an error is about the event and the row, and not about the database: a person has to look.
func refused(err error) bool {
	var conflict *ConflictError
	var stale *StaleVersionError
	return errors.As(err, &conflict) || errors.As(err, &stale)
}
