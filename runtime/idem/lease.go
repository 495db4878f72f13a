package idem

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// Lease is a handler of events E with results R whose effect is outside of the database: a card is charged, a mail is sent.
// No transaction can hold such an effect and the key together, so a Lease promises less than a [Handler]:
//
//   - While a delivery holds the key, no other one runs, as long as it renews its lease; a goroutine does that.
//   - Once a run has ended well, its result is stored, and repeats get it without running.
//   - A run that dies between its effect and its end is run again, or is left to a person (see [Park]): the outside sees the
//     event at least once. It sees the same [Run.ExternalKey] each time, and has to recognise it for the effect to happen once.
//
// Generated code makes leases and has an accessor for each. A Lease is safe for concurrent use.
type Lease[E, R any] struct {
	spec     Spec[E]
	run      func(context.Context, E) (R, error)
	err      error // returned by every delivery
	settings *settings
	keys     driver.Keys
	classify func(error) driver.Class
	diagnose func(context.Context, error) error

	hasResult bool           // R is not struct{}
	window    *time.Duration // from the end of a run
}

// NewLease guards run by the keys of g. What is wrong with spec is returned by every delivery.
func NewLease[Tx, E, R any](g *Guard[Tx], spec Spec[E], run func(context.Context, E) (R, error)) *Lease[E, R] {
	l := &Lease[E, R]{spec: spec, run: run, settings: &settings{}}
	switch {
	case g == nil:
		l.err = errors.New("the handler has no guard")
		return l
	case run == nil:
		l.err = errors.New("the handler has no function")
	case g.err != nil:
		l.err = g.err
	default:
		l.err = spec.checkLease()
	}
	l.settings = &g.settings
	if l.err != nil {
		return l
	}
	l.keys, l.classify, l.diagnose = g.driver.Keys(), g.driver.Classify, g.diagnose
	_, none := any(*new(R)).(struct{})
	l.hasResult = !none
	l.window = spec.window()
	return l
}

// NoLeaseResult makes a function for [NewLease] of one that returns nothing but an error.
func NoLeaseResult[E any](run func(context.Context, E) error) func(context.Context, E) (struct{}, error) {
	if run == nil {
		return nil
	}
	return func(ctx context.Context, e E) (struct{}, error) {
		return struct{}{}, run(ctx, e)
	}
}

// Name is the handler's name, as it stands in the table.
func (l *Lease[E, R]) Name() string { return l.spec.Name }

// Key is the business key of e, as it stands in the table. The error is an [*Error], of [ErrZeroKey] where a part of the
// key is zero.
func (l *Lease[E, R]) Key(e E) (string, error) {
	if l.spec.Key == nil {
		return "", l.wrap("", l.spec.check())
	}
	key, err := l.spec.Key(e)
	if err != nil {
		return "", l.wrap("", err)
	}
	return key, nil
}

// Do delivers e. The handler's function runs if e's key has no row, or one that is free: past its window, released by a run
// that failed, or, by default, past its lease. Then Do returns what the function returns, once that is stored. A repeat
// returns the stored result without running.
//
// The function's context ends with [ErrLeaseLost] as its cause (see [context.Cause]) when the lease is lost, and, where the
// database cannot be reached, shortly before it may be. [FromContext] gives it the run's [Run.ExternalKey].
//
// An error of the function gives the key back, and comes back as it is. One that is marked by [Permanent] is recorded, and
// is a [*FailedError] now and for repeats. Other errors are an [*Error] that wraps [ErrZeroKey], [ErrPayloadMismatch], an
// [*InProgressError], a [*FailedError], [ErrResultOmitted], a [*ResultError], [ErrLeaseLost], [ErrParked], [ErrCommitUnknown],
// a [*TableError], or an error of the database or of ctx. A panic gives the key back and goes on.
func (l *Lease[E, R]) Do(ctx context.Context, e E) (result R, err error) {
	var d delivery
	defer observing(ctx, l.settings.observer, &l.spec, e, &d, &err)()
	if l.err != nil {
		return result, l.fail(&d, l.err)
	}
	d.key, err = l.spec.Key(e)
	switch {
	case l.settings.shadow:
		return l.shadow(ctx, e, &d, err)
	case err != nil:
		return result, l.fail(&d, err)
	case hookOf(ctx).within(l.spec.Name, d.key):
		return result, l.fail(&d, ErrReentrant)
	}
	h, result, err := l.acquire(ctx, l.claim(e, d.key), &d)
	if h == nil {
		return result, err
	}
	if err := l.refresh(ctx, h, &d); err != nil {
		return result, err
	}
	return l.hold(ctx, e, *h, &d)
}

// Mark records e as handled, with the result r, without running the handler: for the events that were handled before
// idemgen was there, and may come again. The window is counted from now on. Pass struct{}{} for a handler without a result.
//
// A key that has a row which is not free keeps it: Mark returns nil if e is recorded as handled, with this result or another,
// and otherwise what a repeat would get. It is one statement, and after any other error it may be called again: the database
// may have recorded e and not have said so. It is not a delivery, and no [Observer] is told of it.
func (l *Lease[E, R]) Mark(ctx context.Context, e E, r R) error {
	if l.err != nil {
		return l.wrap("", l.err)
	}
	key, err := l.spec.Key(e)
	if err != nil {
		return l.wrap("", err)
	}
	data, err := encoded(l.settings, l.hasResult, r)
	if err != nil {
		return l.wrap(key, err)
	}
	claim := l.claim(e, key)
	claim.State, claim.Lease, claim.Result, claim.Window = store.Done, nil, data, l.window
	d := delivery{key: key, keeps: true}
	h, _, err := l.acquire(ctx, claim, &d)
	if h != nil || d.outcome == OutcomeDuplicate {
		// Whether the stored result of an earlier one can be returned does not matter here.
		return nil
	}
	return err
}

// claim is the claim of e's key.
func (l *Lease[E, R]) claim(e E, key string) store.Claim {
	claim := store.Claim{Handler: l.spec.Name, Key: key, State: store.Running, Lease: &l.spec.Lease}
	if l.spec.Fingerprint != nil {
		claim.Fingerprint = l.spec.Fingerprint(e)
	}
	return claim
}

// wrap adds handler and key to an error that is not the handler's own.
func (l *Lease[E, R]) wrap(key string, err error) error {
	return &Error{Handler: l.spec.Name, Key: key, Err: err}
}

// fail ends the delivery with an error that is not the handler's own.
func (l *Lease[E, R]) fail(d *delivery, err error) error {
	d.outcome = OutcomeError
	return l.wrap(d.key, err)
}

// inProgress ends the delivery because another one of its key did not end in time.
func (l *Lease[E, R]) inProgress(d *delivery, err error) error {
	d.outcome = OutcomeInProgress
	return l.wrap(d.key, d.inProgress(l.settings.inFlightTimeout, err))
}

// failed ends the delivery with the failure that stands in the row.
func (l *Lease[E, R]) failed(d *delivery, f *FailedError) error {
	d.outcome = OutcomeFailed
	return l.wrap(d.key, f)
}

// repeat answers from the row of an earlier delivery.
func (l *Lease[E, R]) repeat(row store.Row, claim store.Claim, d *delivery) (result R, err error) {
	if mismatch(row.Fingerprint, claim.Fingerprint) {
		d.outcome = OutcomeMismatch
		return result, l.wrap(d.key, ErrPayloadMismatch)
	}
	switch row.State {
	case store.Open:
		return result, l.fail(d, fmt.Errorf("%w: an earlier delivery's claim was committed without its end", ErrTransactionLost))
	case store.Failed:
		return result, l.failed(d, &FailedError{Failure: row.Failure})
	case store.Running:
		d.leased = row.LeaseLeft
		return result, l.inProgress(d, nil)
	case store.Parked:
		return result, l.fail(d, ErrParked)
	}
	d.outcome = OutcomeDuplicate
	if result, err = stored[R](l.settings, l.hasResult, row); err != nil {
		err = l.wrap(d.key, err)
	}
	return result, err
}
