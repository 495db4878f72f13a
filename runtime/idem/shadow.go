package idem

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// WithShadow has the guard claim and report and leave it at that: the handler runs in every delivery, as it would without
// idemgen, and its result or error is the caller's. It is for finding out what a guard would do before it does it.
//
// A new key is claimed in the handler's transaction, and commits or is rolled back with it. A repeat runs in a transaction
// of its own that has no claim, and leaves the row as the first delivery wrote it. Nobody waits for a rival, and what goes
// wrong with a claim does not keep the handler from running. The [Observer] gets the outcome that the delivery would have
// had: see [Delivery].
//
// The rows are as good as a guard's: without the option, their repeats are answered from them. A failure that is marked by
// [Permanent] is returned and not recorded.
func WithShadow() Option {
	return option(func(s *settings) error {
		s.shadow = true
		return nil
	})
}

// verdict is what a guard would have done about a delivery.
type verdict struct {
	outcome Outcome
	err     error
}

// shadow runs the handler whatever becomes of the claim. v is nil for a key that can be claimed.
func (h *Handler[Tx, E, R]) shadow(ctx context.Context, e E, claim store.Claim, d *delivery, v *verdict) (R, error) {
	for {
		if _, err := rand.Read(claim.Owner[:]); err != nil {
			var none R
			return none, h.fail(d, fmt.Errorf("no owner: %w", err))
		}
		result, next, err := h.shadowRun(ctx, e, claim, d, v)
		if next == unsettled {
			result, next, err = h.settle(ctx, claim, d, result, err)
		}
		if next == unusable {
			err = h.fail(d, h.guard.diagnose(ctx, err))
		}
		if next != undone || d.runs > h.guard.settings.retries || pause(ctx, d.retries) != nil {
			return result, err
		}
		d.retries++
		d.outcome, d.verdict = "", nil
	}
}

// shadowRun runs the handler once, in the transaction that holds the claim or in one that holds none.
func (h *Handler[Tx, E, R]) shadowRun(ctx context.Context, e E, claim store.Claim, d *delivery, v *verdict) (result R, next step, err error) {
	s, err := h.guard.driver.Acquire(ctx)
	if err != nil {
		return result, ended, h.fail(d, fmt.Errorf("no connection: %w", err))
	}
	defer s.Close(ctx)

	if v == nil {
		v = h.judge(ctx, s, claim)
	}
	claimed := v == nil
	if !claimed {
		if err := s.Begin(ctx); err != nil {
			return result, ended, h.fail(d, fmt.Errorf("no transaction: %w", err))
		}
	}
	defer func() { d.judged(v) }()
	return h.shadowExecute(ctx, s, e, claim, d, claimed)
}

// judged makes the verdict the delivery's outcome, whatever the run's was.
func (d *delivery) judged(v *verdict) {
	if v != nil && d.outcome != "" {
		d.outcome, d.verdict = v.outcome, v.err
	}
}

// judge claims the key if it can be had at once. It returns nil if it could, and otherwise what a guard would have done.
func (h *Handler[Tx, E, R]) judge(ctx context.Context, s driver.Session[Tx], claim store.Claim) *verdict {
	claimed, err := s.Claim(ctx, claim, 0)
	switch {
	case err != nil && h.guard.driver.Classify(err) != driver.Locked:
		return h.unjudged(claim.Key, "claim", err)
	case claimed:
		return nil
	}
	locked := err

	row, err := s.Lookup(ctx, claim.Handler, claim.Key)
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return h.unjudged(claim.Key, "look-up", err)
	case err == nil && !known(row.State):
		return &verdict{OutcomeError, h.wrap(claim.Key, unknownState(row.State))}
	case err == nil && (!row.Free() || !row.Expired && mismatch(row.Fingerprint, claim.Fingerprint)):
		d := delivery{key: claim.Key}
		_, _, err := h.repeat(row, claim, &d)
		return &verdict{d.outcome, err}
	case err != nil || locked != nil:
		// A rival that has just gone, or a lock that may be anybody's.
		return h.met(claim.Key, locked)
	}
	claimed, err = s.TakeOver(ctx, claim, row.Owner, 0)
	switch {
	case err != nil:
		return h.unjudged(claim.Key, "take-over", err)
	case claimed:
		return nil
	default:
		return h.met(claim.Key, nil)
	}
}

// unjudged is the verdict on a delivery whose claim failed.
func (h *Handler[Tx, E, R]) unjudged(key, what string, err error) *verdict {
	switch h.guard.driver.Classify(err) {
	case driver.Busy, driver.Locked, driver.Conflict:
		return h.met(key, err)
	default:
		return &verdict{OutcomeError, h.wrap(key, fmt.Errorf("%s: %w", what, err))}
	}
}

// met is the verdict on a delivery that met another one.
func (h *Handler[Tx, E, R]) met(key string, err error) *verdict {
	return &verdict{OutcomeInProgress, h.wrap(key, &InProgressError{RetryAfter: h.guard.settings.inFlightTimeout, Err: err})}
}

// shadowExecute runs the handler and commits, with the claim completed if there is one.
func (h *Handler[Tx, E, R]) shadowExecute(ctx context.Context, s driver.Session[Tx], e E, claim store.Claim, d *delivery, claimed bool) (result R, next step, err error) {
	var none R
	d.run()
	result, err = h.call(ctx, s, e, d)
	if err != nil {
		if r, ok := err.(*refusal); ok {
			next, err := h.refused(d, r)
			if next == unclaimed {
				next, err = undone, h.wrap(d.key, err)
				d.runs++
			}
			d.outcome = r.outcome
			return result, next, err
		}
		d.outcome = OutcomeError
		return result, h.undone(err), err
	}
	if err := ctx.Err(); err != nil {
		return none, ended, h.fail(d, err)
	}
	var completion *store.Completion
	if claimed {
		completion, err = h.completion(claim, result)
		if err != nil {
			// A guard would not have committed. Without one nobody would have asked for an encoding.
			d.verdict = h.wrap(d.key, err)
			completion = &store.Completion{Handler: claim.Handler, Key: claim.Key, Owner: claim.Owner, Window: h.window}
		}
	}
	if err := s.Commit(ctx, completion); err != nil {
		result, next, err := h.uncommitted(d, result, err)
		if next == unsettled && !claimed {
			// There is no row that could tell.
			return none, ended, h.fail(d, fmt.Errorf("commit: %w: %w", ErrCommitUnknown, err))
		}
		return result, next, err
	}
	d.ran()
	return result, ended, nil
}
