package idem

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/point"
)

// settle finds out what became of a COMMIT without an answer, by running the UPDATE once more in a transaction that is rolled
// back: it waits while the old transaction lives, and then it moves the row, or finds it moved. The caller's end does not end
// this: the answer is worth more than the time, which is bounded by the in-flight timeout.
func (m *mover[Tx, DB, E]) settle(ctx context.Context, e E, d *delivery, cause error) (step, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.guard.settings.inFlightTimeout)
	defer cancel()
	if cause == nil {
		cause = errUnanswered
	}
	for n := 0; ; n++ {
		point.At(point.BeforeQuestion)
		moved, why, err := m.ask(ctx, e)
		point.At(point.Answered)
		switch {
		case err == nil && moved && m.bare():
			// Nor has it taken place yet. But a statement that is all of its transaction holds no lock before it arrives, and it
			// may still arrive: who does not run it again does not know.
			return undone, m.fail(d, fmt.Errorf("commit: %w: %w", ErrCommitUnknown, cause))
		case err == nil && moved:
			return undone, m.fail(d, fmt.Errorf("commit: it did not take place: %w", cause))
		case err == nil && why == nil:
			d.outcome = OutcomeSettled
			return ended, nil
		case err == nil && !errors.Is(why, ErrUnmoved):
			// The row has been moved on or removed, by somebody who may have come before the run or after it.
			// It is no answer to the event, which may have been carried out: so errors.Is does not find it.
			return ended, m.fail(d, fmt.Errorf("commit: %w: %w; now: %v", ErrCommitUnknown, cause, why))
		case err == nil:
			err = why
		}
		if pause(ctx, n) != nil {
			// The cause of the silence is found by errors.Is; what asking ran into is only told.
			return ended, m.fail(d, fmt.Errorf("commit: %w: %w; asked again: %v", ErrCommitUnknown, cause, err))
		}
	}
}

// ask runs the UPDATE on another connection and takes it back. It reports whether that would have moved the row, and else why
// not, as judge says it.
func (m *mover[Tx, DB, E]) ask(ctx context.Context, e E) (moved bool, why, err error) {
	s, err := m.driver.AcquireTransition(ctx)
	if err != nil {
		return false, nil, fmt.Errorf("no connection: %w", err)
	}
	defer s.Close(ctx)
	n, err := s.Update(ctx, waitUntil(ctx, time.Now().Add(m.guard.settings.inFlightTimeout)), m.update(e))
	point.At(point.Asked)
	if err != nil || n > 0 {
		return n > 0, nil, err
	}
	row, err := m.look(ctx, e, s.Look)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, nil, err
	}
	return false, m.spec.judge(e, row, err, false), nil
}
