package idem

import (
	"context"
	"math/rand/v2"
	"time"
)

// delivery is the state of one call of Do, over all its attempts.
type delivery struct {
	key       string
	outcome   Outcome
	attempt   int
	start     time.Time     // zero where nobody observes
	until     time.Time     // end of the in-flight time; zero until the first connection is there
	retries   int           // times begun again
	runs      int           // times the handler ran, or its failure was to be recorded
	began     time.Time     // of the last run
	hook      *commitHook   // of the last run
	committed bool          // the last run
	verdict   error         // in shadow mode, what a guard would have returned
	joined    bool          // the transaction is the caller's
	failure   *FailedError  // what is being recorded; nil while the handler is what runs
	fence     int64         // of the claim
	leased    time.Duration // what is left of the lease that was met last
	asked     time.Time     // when a lease was asked for first
	keeps     bool          // nothing is parked: by shadow mode, nor by a mark
	doubt     *pending      // a lease that was asked for without an answer, before what came next
}

// observe begins to observe a delivery, where somebody observes. The function that it returns is deferred, and tells how the
// delivery ended.
func (h *Handler[Tx, E, R]) observe(ctx context.Context, e E, d *delivery, err *error) func() {
	if h.guard == nil {
		return func() {}
	}
	return observing(ctx, h.guard.settings.observer, &h.spec, e, d, err)
}

func observing[E any](ctx context.Context, o Observer, spec *Spec[E], e E, d *delivery, err *error) func() {
	if o == nil {
		return func() {}
	}
	d.start = time.Now()
	if spec.Attempt != nil {
		d.attempt = spec.Attempt(e)
	}
	return func() { d.observe(ctx, o, spec.Name, *err) }
}

// ran notes a run that has done what it could: committed, or joined a transaction that its caller may commit.
func (d *delivery) ran() {
	if d.joined {
		d.outcome = OutcomeJoined
		return
	}
	d.outcome, d.committed = OutcomeExecuted, true
}

// observe tells o how the delivery ended. It is deferred: a delivery without an outcome is one that was left by a panic
// or by runtime.Goexit.
func (d *delivery) observe(ctx context.Context, o Observer, handler string, err error) {
	if d.outcome == "" {
		d.outcome, err = OutcomeError, errAbandoned
	}
	if err == nil {
		err = d.verdict
	}
	o.Observe(ctx, Delivery{
		Handler:  handler,
		Outcome:  d.outcome,
		Attempt:  d.attempt,
		Duration: time.Since(d.start),
		Retries:  d.retries,
		Err:      err,
	})
}

// inProgress is the error of a delivery that met another one: timeout is what it waits for one that has no lease.
func (d *delivery) inProgress(timeout time.Duration, err error) *InProgressError {
	if d.leased > 0 {
		timeout = d.leased
	}
	return &InProgressError{RetryAfter: timeout, Err: err}
}

// run notes that a run begins.
func (d *delivery) run() {
	d.runs++
	d.began = time.Now()
}

// ctxReserve is how much of the time until the context's deadline is left to the answer of a statement that waits: pgx
// closes a connection whose context ends in a statement.
const ctxReserve = 50 * time.Millisecond

// wait is how long a claim may wait for a rival, from now on.
func (d *delivery) wait(ctx context.Context, rule InFlight) time.Duration {
	if rule == Fail {
		return 0
	}
	return waitUntil(ctx, d.until)
}

// waitUntil is how long a claim may wait that has to be answered before until, and before ctx ends.
func waitUntil(ctx context.Context, until time.Time) time.Duration {
	left := time.Until(until)
	if deadline, ok := ctx.Deadline(); ok {
		untilDeadline := time.Until(deadline)
		left = min(left, untilDeadline-min(untilDeadline/10, ctxReserve))
	}
	return max(left, 0)
}

const (
	pauseMin = time.Millisecond
	pauseMax = 64 * time.Millisecond
)

// pause waits before the nth retry: a random time, so that rivals do not meet again, under a bound that doubles.
func pause(ctx context.Context, n int) error {
	bound := pauseMax
	if n < 6 {
		bound = pauseMin << n
	}
	t := time.NewTimer(time.Duration(rand.Int64N(int64(bound))) + 1)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
