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

// Do delivers e. The handler's function runs if e's key has no row, or an expired one; then it returns what the function
// returns, once that is committed. A repeat returns the stored result without running.
//
// An error of the function rolls everything back, the claim included, and comes back as it is. One that is marked by
// [Permanent] is recorded, and is a [*FailedError] now and for repeats. Other errors are an [*Error] that wraps
// [ErrZeroKey], [ErrPayloadMismatch], an [*InProgressError], a [*FailedError], [ErrResultOmitted], a [*ResultError],
// [ErrTransactionAborted], [ErrTransactionLost], [ErrCommitUnknown], a [*TableError], or an error of the database or of ctx.
//
// The function may run more than once within one call, in a new transaction each time, but what it writes through its
// transaction takes effect once. A COMMIT whose answer is lost is asked about, and is a success if it took place. A panic in it rolls back and goes on.
func (h *Handler[Tx, E, R]) Do(ctx context.Context, e E) (result R, err error) {
	var d delivery
	defer h.observe(ctx, e, &d, &err)()
	if h.err != nil {
		return result, h.fail(&d, h.err)
	}
	d.key, err = h.spec.Key(e)
	if err != nil && !h.guard.settings.shadow {
		return result, h.fail(&d, err)
	}
	claim := h.claim(e, d.key)
	if h.guard.settings.shadow {
		var v *verdict
		if err != nil {
			v = &verdict{OutcomeError, h.wrap("", err)}
		}
		result, err = h.shadow(ctx, e, claim, &d, v)
	} else {
		result, err = h.deliver(ctx, claim, &d, h.running(e))
	}
	if d.committed {
		point.At(point.BeforeHooks)
		callAll(context.WithoutCancel(ctx), d.hook.fns)
		point.At(point.AfterHooks)
	}
	return result, err
}

// claim is the claim of e's key.
func (h *Handler[Tx, E, R]) claim(e E, key string) store.Claim {
	claim := store.Claim{Handler: h.spec.Name, Key: key, State: h.state, Window: h.pending}
	if h.spec.Fingerprint != nil {
		claim.Fingerprint = h.spec.Fingerprint(e)
	}
	return claim
}

// step is what an attempt ended with.
type step int

const (
	ended     step = iota // result and error are the delivery's
	unclaimed             // nothing ran: again, within the in-flight time
	undone                // the handler ran and was rolled back by a conflict: again, as often as the retries allow
	unsettled             // COMMIT was sent and not answered: the result is the run's, if it took place
	failing               // the handler failed for good: that is to be recorded
	unusable              // the table is not as the statements need it
)

// body is what is done in the transaction that holds the claim, its end included.
type body[Tx, R any] func(context.Context, driver.Session[Tx], store.Claim, *delivery) (R, step, error)

// deliver attempts until one attempt ends the delivery or the bounds are reached.
func (h *Handler[Tx, E, R]) deliver(ctx context.Context, claim store.Claim, d *delivery, inside body[Tx, R]) (R, error) {
	for {
		if _, err := rand.Read(claim.Owner[:]); err != nil {
			var none R
			return none, h.fail(d, fmt.Errorf("no owner: %w", err))
		}
		result, next, err := h.attempt(ctx, claim, d, inside)
		if next == unsettled {
			result, next, err = h.settle(ctx, claim, d, result, err)
		}
		switch next {
		case ended:
			return result, err
		case unclaimed:
			if time.Until(d.until) <= 0 {
				return result, h.inProgress(d, err)
			}
		case undone:
			if d.runs > h.guard.settings.retries {
				return result, err
			}
			// What the run took was no waiting.
			d.until = d.until.Add(time.Since(d.began))
		case failing:
			return h.record(ctx, claim, d, err)
		case unusable:
			return result, h.fail(d, h.guard.diagnose(ctx, err))
		}
		if perr := pause(ctx, d.retries); perr != nil {
			if next == unclaimed {
				return result, h.inProgress(d, perr)
			}
			return result, err
		}
		point.At(point.BeforeRetry)
		d.retries++
		d.outcome = ""
	}
}

// attempt goes once through claim, handler and commit, on one connection.
func (h *Handler[Tx, E, R]) attempt(ctx context.Context, claim store.Claim, d *delivery, inside body[Tx, R]) (result R, next step, err error) {
	s, err := h.guard.driver.Acquire(ctx)
	if d.until.IsZero() {
		d.until = time.Now().Add(h.guard.settings.inFlightTimeout)
	}
	switch {
	case err != nil && h.guard.driver.Classify(err) == driver.Locked:
		// A new connection to SQLite may begin with a statement of the DSN's, and meet a lock in it.
		return h.unclaimed(ctx, d, "no connection", err)
	case err != nil:
		return result, ended, h.fail(d, fmt.Errorf("no connection: %w", withEnd(ctx, err)))
	}
	// Also on a panic and on Goexit, without a recover: the panic goes on as it was.
	defer s.Close(ctx)

	return h.once(ctx, s, claim, d, inside)
}

// once is an attempt on a session.
func (h *Handler[Tx, E, R]) once(ctx context.Context, s driver.Session[Tx], claim store.Claim, d *delivery, inside body[Tx, R]) (result R, next step, err error) {
	d.leased = 0
	point.At(point.BeforeClaim)
	claimed, err := s.Claim(ctx, claim, d.wait(ctx, h.spec.InFlight))
	switch {
	case err != nil && h.guard.driver.Classify(err) != driver.Locked:
		return h.unclaimed(ctx, d, "claim", err)
	case claimed:
		point.At(point.Claimed)
		d.fence = 1
		return inside(ctx, s, claim, d)
	}
	// A locked database can still be read, and has the answer if the key is done.
	locked := err

	point.At(point.BeforeLookup)
	row, err := s.Lookup(ctx, claim.Handler, claim.Key)
	point.At(point.LookedUp)
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return h.unclaimed(ctx, d, "look-up", err)
	case err == nil && !known(row.State):
		return result, ended, h.fail(d, unknownState(row.State))
	case err == nil && !row.Free():
		mine, err := s.Mine(ctx, row.Owner)
		switch {
		case err != nil:
			return h.unclaimed(ctx, d, "look-up", err)
		case mine:
			return result, ended, h.fail(d, ErrReentrant)
		case row.State == store.Running && h.spec.InFlight == Wait && !mismatch(row.Fingerprint, claim.Fingerprint):
			// The handler had a lease when the other delivery began.
			d.leased = row.LeaseLeft
			return result, unclaimed, nil
		}
		return h.repeat(row, claim, d)
	case locked != nil:
		return h.unclaimed(ctx, d, "claim", locked)
	case err != nil:
		// The rival rolled back, or its row has been swept.
		return result, unclaimed, nil
	case !row.Expired && mismatch(row.Fingerprint, claim.Fingerprint):
		// A lease without an end: it may have had its effect, with another payload.
		return h.repeat(row, claim, d)
	}

	point.At(point.BeforeTakeOver)
	claimed, err = s.TakeOver(ctx, claim, row.Owner, d.wait(ctx, h.spec.InFlight))
	switch {
	case err != nil:
		return h.unclaimed(ctx, d, "take-over", err)
	case claimed:
		point.At(point.TakenOver)
		d.fence = row.Fence + 1
		return inside(ctx, s, claim, d)
	default:
		// A rival took over first.
		return result, unclaimed, nil
	}
}

// known reports whether a row's state is one that this version acts upon. The others are written by newer ones, and what
// they mean is not guessed.
func known(s store.State) bool {
	switch s {
	case store.Open, store.Done, store.Failed, store.Running, store.Released, store.Parked:
		return true
	default:
		return false
	}
}

func unknownState(s store.State) error {
	return fmt.Errorf("the key's row is in state %q, which this version of the runtime does not know: upgrade it", s)
}

// unclaimed judges an error before the handler ran.
func (h *Handler[Tx, E, R]) unclaimed(ctx context.Context, d *delivery, what string, err error) (result R, next step, _ error) {
	class := h.guard.driver.Classify(err)
	if ctx.Err() != nil && class == driver.Other {
		return result, ended, h.fail(d, fmt.Errorf("%s: %w", what, withEnd(ctx, err)))
	}
	switch class {
	case driver.Conflict:
		return result, unclaimed, err
	case driver.Locked:
		if h.spec.InFlight == Fail {
			return result, ended, h.inProgress(d, err)
		}
		return result, unclaimed, err
	case driver.Busy:
		return result, ended, h.inProgress(d, err)
	case driver.Misfit, driver.Denied:
		return result, unusable, err
	default:
		return result, ended, h.fail(d, fmt.Errorf("%s: %w", what, commitError(err)))
	}
}

// repeat answers from the row of an earlier delivery.
func (h *Handler[Tx, E, R]) repeat(row store.Row, claim store.Claim, d *delivery) (result R, next step, err error) {
	if mismatch(row.Fingerprint, claim.Fingerprint) {
		d.outcome = OutcomeMismatch
		return result, ended, h.wrap(d.key, ErrPayloadMismatch)
	}
	switch row.State {
	case store.Open:
		return result, ended, h.fail(d, fmt.Errorf("%w: an earlier delivery's claim was committed without its end", ErrTransactionLost))
	case store.Failed:
		return result, ended, h.failed(d, &FailedError{Failure: row.Failure})
	case store.Running:
		d.leased = row.LeaseLeft
		return result, ended, h.inProgress(d, nil)
	case store.Parked:
		return result, ended, h.fail(d, ErrParked)
	}
	d.outcome = OutcomeDuplicate
	if result, err = stored[R](&h.guard.settings, h.hasResult, row); err != nil {
		err = h.wrap(d.key, err)
	}
	return result, ended, err
}

// stored is the result in the row of an earlier delivery.
func stored[R any](s *settings, hasResult bool, row store.Row) (result R, err error) {
	switch {
	case !hasResult:
		return result, nil
	case row.Result == nil:
		return result, ErrResultOmitted
	}
	var r R
	if err := s.codec.Decode(unpackResult(row.Result), &r); err != nil {
		return result, &ResultError{Err: err}
	}
	return r, nil
}

// running is the handler's run for e.
func (h *Handler[Tx, E, R]) running(e E) body[Tx, R] {
	return func(ctx context.Context, s driver.Session[Tx], claim store.Claim, d *delivery) (R, step, error) {
		return h.execute(ctx, s, e, claim, d)
	}
}

// execute runs the handler in the transaction that holds the claim, and commits.
func (h *Handler[Tx, E, R]) execute(ctx context.Context, s driver.Session[Tx], e E, claim store.Claim, d *delivery) (result R, next step, err error) {
	var none R
	d.run()
	point.At(point.BeforeHandler)
	result, err = h.call(ctx, s, e, d)
	point.At(point.AfterHandler)
	if err != nil {
		if r, ok := err.(*refusal); ok { // what a handler within the handler has returned is that one's
			next, err := h.refused(d, r)
			return none, next, err
		}
		d.outcome = OutcomeError
		next = h.undone(err)
		if next == ended && ctx.Err() == nil && isPermanent(err) {
			return none, failing, err
		}
		return result, next, err
	}
	if err := ctx.Err(); err != nil {
		return none, ended, h.fail(d, err)
	}
	completion, err := h.completion(claim, result)
	if err != nil {
		return none, ended, h.fail(d, err)
	}
	point.At(point.Encoded)
	if err := s.Commit(ctx, completion); err != nil {
		return h.uncommitted(d, result, err)
	}
	point.At(point.Committed)
	d.ran()
	return result, ended, nil
}

// refused judges an error of a transition before the handler, which is ours. As before the claim, nothing has run.
func (h *Handler[Tx, E, R]) refused(d *delivery, r *refusal) (step, error) {
	switch h.guard.driver.Classify(r.err) {
	case driver.Busy:
		return ended, h.inProgress(d, r.err)
	case driver.Conflict, driver.Locked:
		d.runs--
		return unclaimed, r.err
	default:
		d.outcome = r.outcome
		return ended, h.wrap(d.key, r.err)
	}
}

// call is the handler's function, with a hook for what it wants done after the commit. A joined run has none to wait for.
func (h *Handler[Tx, E, R]) call(ctx context.Context, s driver.Session[Tx], e E, d *delivery) (R, error) {
	d.hook = &commitHook{
		run: newRun(&h.spec, e, d), outer: hookOf(ctx), closed: d.joined,
		session: driver.Inner(s), wait: func(ctx context.Context) time.Duration { return d.wait(ctx, h.spec.InFlight) },
	}
	defer d.hook.close()
	return h.run(context.WithValue(ctx, hookKey{}, d.hook), s.Tx(), e)
}

// uncommitted judges an error in place of COMMIT's answer.
func (h *Handler[Tx, E, R]) uncommitted(d *delivery, result R, err error) (R, step, error) {
	var none R
	var end *driver.CommitError
	if errors.As(err, &end) && end.Fate == driver.Unknown {
		return result, unsettled, end.Err
	}
	if class := h.guard.driver.Classify(err); end == nil && (class == driver.Misfit || class == driver.Denied) {
		return none, unusable, err
	}
	return none, h.undone(err), h.fail(d, fmt.Errorf("commit: %w", commitError(err)))
}

// undone is the step after an error of the handler or of COMMIT: the transaction that lost against another one is run
// again. An error of the handler counts too, since it is most often the database's, wrapped.
func (h *Handler[Tx, E, R]) undone(err error) step {
	var end *driver.CommitError
	if errors.As(err, &end) && end.Fate != driver.Refused {
		return ended
	}
	switch h.guard.driver.Classify(err) {
	case driver.Conflict, driver.Locked:
		return undone
	default:
		return ended
	}
}

// completion is what is added to the claim before COMMIT; nil for nothing.
func (h *Handler[Tx, E, R]) completion(claim store.Claim, result R) (*store.Completion, error) {
	if claim.State == store.Done {
		return nil, nil
	}
	data, err := encoded(&h.guard.settings, h.hasResult, result)
	if err != nil {
		return nil, err
	}
	return &store.Completion{Handler: claim.Handler, Key: claim.Key, Owner: claim.Owner, Result: data, Window: h.window}, nil
}

// encoded is a result as the row holds it; nil for none, or for one over the limit.
func encoded[R any](s *settings, hasResult bool, result R) ([]byte, error) {
	if !hasResult {
		return nil, nil
	}
	data, err := s.codec.Encode(result)
	if err != nil {
		return nil, fmt.Errorf("the result does not encode: %w", err)
	}
	if len(data) > s.resultLimit {
		return nil, nil
	}
	return packResult(data), nil
}

// fail ends the delivery with an error that is not the handler's own.
func (h *Handler[Tx, E, R]) fail(d *delivery, err error) error {
	d.outcome = OutcomeError
	return h.wrap(d.key, err)
}

// inProgress ends the delivery because another one of its key did not end in time.
func (h *Handler[Tx, E, R]) inProgress(d *delivery, err error) error {
	d.outcome = OutcomeInProgress
	return h.wrap(d.key, d.inProgress(h.guard.settings.inFlightTimeout, err))
}
