package idem

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/point"
	"github.com/idemgen/idemgen/runtime/store"
)

// fate is what became of a transaction whose COMMIT was not answered.
type fate int

const (
	untold     fate = iota // no answer, this time
	committed              // its claim's row is there
	rolledBack             // it is over and has left nothing
	outrun                 // it has left nothing, and another delivery of the key has committed since
	left                   // its claim's row is there and was never completed
)

var errUnanswered = errors.New("it was not answered")

// settle finds out what became of a COMMIT without an answer, by asking for the key once more: a claim waits while the
// old transaction lives, as a rival's would, and only a primary grants one. What it is granted is rolled back. The caller's
// end does not end this: the answer is worth more than the time, which is bounded by the in-flight timeout.
func (h *Handler[Tx, E, R]) settle(ctx context.Context, claim store.Claim, d *delivery, result R, cause error) (R, step, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.guard.settings.inFlightTimeout)
	defer cancel()
	if cause == nil {
		cause = errUnanswered
	}
	var none R
	for n := 0; ; n++ {
		point.At(point.BeforeQuestion)
		became, row, err := h.ask(ctx, claim)
		point.At(point.Answered)
		switch became {
		case committed:
			if d.failure != nil {
				return none, ended, h.failed(d, d.failure)
			}
			d.outcome, d.committed = OutcomeSettled, true
			return result, ended, nil
		case rolledBack:
			return none, undone, h.fail(d, fmt.Errorf("commit: it did not take place: %w", cause))
		case outrun:
			if h.guard.settings.shadow {
				// A row is no answer there.
				return none, undone, h.fail(d, fmt.Errorf("commit: it did not take place: %w", cause))
			}
			return h.repeat(row, claim, d)
		case left:
			return none, ended, h.fail(d, fmt.Errorf("commit: %w: %w", ErrTransactionLost, cause))
		}
		if pause(ctx, n) != nil {
			// The cause of the silence is found by errors.Is; what asking ran into is only told.
			return none, ended, h.fail(d, fmt.Errorf("commit: %w: %w; asked again: %v", ErrCommitUnknown, cause, err))
		}
	}
}

// ask claims the key of a claim whose fate is not known, on another connection, and takes the new claim back.
func (h *Handler[Tx, E, R]) ask(ctx context.Context, claim store.Claim) (became fate, row store.Row, err error) {
	s, err := h.guard.driver.Acquire(ctx)
	if err != nil {
		return untold, row, fmt.Errorf("no connection: %w", err)
	}
	defer s.Close(ctx)

	again := claim
	if _, err := rand.Read(again.Owner[:]); err != nil {
		return untold, row, err
	}
	claimed, err := s.Claim(ctx, again, waitUntil(ctx, time.Now().Add(h.guard.settings.inFlightTimeout)))
	point.At(point.Asked)
	switch {
	case err != nil && h.guard.driver.Classify(err) != driver.Locked:
		return untold, row, err
	case claimed:
		return rolledBack, row, nil
	}
	locked := err

	row, err = s.Lookup(ctx, claim.Handler, claim.Key)
	switch {
	case err != nil:
		return untold, row, errors.Join(locked, err)
	case row.Owner == claim.Owner && row.State == store.Open:
		return left, row, nil
	case row.Owner == claim.Owner:
		return committed, row, nil
	case row.Free() && locked != nil:
		// The old transaction may be the one that holds the lock, and about to replace this row.
		return untold, row, locked
	case row.Free():
		return rolledBack, row, nil
	case !known(row.State):
		return untold, row, unknownState(row.State)
	default:
		return outrun, row, nil
	}
}
