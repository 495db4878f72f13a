package idem

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/point"
	"github.com/idemgen/idemgen/runtime/store"
)

// hold runs the handler under its lease, and records how it ended.
func (l *Lease[E, R]) hold(ctx context.Context, e E, h held, d *delivery) (result R, err error) {
	var none R
	d.fence = h.Fence
	beat, running := l.beat(ctx, h)
	defer beat.stop()
	result, permanent, err := l.call(ctx, running, e, h, d)
	lost := beat.lost.Load()
	switch {
	case permanent != nil:
		return none, l.record(ctx, h, d, permanent)
	case err != nil:
		l.release(ctx, h.Holder, driver.EndTimeout)
		if lost {
			d.outcome = OutcomeLeaseLost
			return none, l.wrap(d.key, fmt.Errorf("%w: %w", ErrLeaseLost, err))
		}
		d.outcome = OutcomeError
		return none, err
	}
	// The effect has taken place: whatever became of ctx, and of a result that cannot be stored, the row has to say so. If
	// the lease seems to be lost, owner and fence decide whether it is.
	data, unstored := l.encode(ctx, h, result)
	point.At(point.Encoded)
	settled, err := l.finish(ctx, store.End{Holder: h.Holder, State: store.Done, Result: data, Window: l.window})
	switch {
	case errors.Is(err, ErrLeaseLost):
		d.outcome = OutcomeLeaseLost
		return none, l.wrap(d.key, err)
	case err != nil:
		return none, l.fail(d, fmt.Errorf("the handler ran: %w", err))
	case unstored != nil:
		return none, l.fail(d, fmt.Errorf("the handler ran: %w", unstored))
	case settled:
		d.outcome = OutcomeSettled
	default:
		d.outcome = OutcomeExecuted
	}
	return result, nil
}

// call is the handler's function, and what it says of an error that is permanent. Where it panics or exits its goroutine, or
// its error does when it is asked for its text, the lease is given back, and that goes on.
func (l *Lease[E, R]) call(ctx, running context.Context, e E, h held, d *delivery) (result R, permanent *FailedError, err error) {
	d.run()
	returned := false
	defer func() {
		if !returned {
			l.release(ctx, h.Holder, driver.EndTimeout)
		}
	}()
	// There is no commit that something could be done after.
	hook := &commitHook{run: newRun(&l.spec, e, d), outer: hookOf(ctx), closed: true}
	point.At(point.BeforeHandler)
	result, err = l.run(context.WithValue(running, hookKey{}, hook), e)
	point.At(point.AfterHandler)
	if err != nil && isPermanent(err) && running.Err() == nil {
		permanent = &FailedError{Failure: failureText(err), Err: err}
	}
	returned = true
	return result, permanent, err
}

// encode is the result as the row holds it. Where the codec panics the row says done without it, and the panic goes on.
func (l *Lease[E, R]) encode(ctx context.Context, h held, result R) (data []byte, err error) {
	returned := false
	defer func() {
		if !returned {
			_, _ = l.finish(ctx, store.End{Holder: h.Holder, State: store.Done, Window: l.window})
		}
	}()
	data, err = encoded(l.settings, l.hasResult, result)
	returned = true
	return data, err
}

// record writes the permanent failure of a run.
func (l *Lease[E, R]) record(ctx context.Context, h held, d *delivery, f *FailedError) error {
	point.At(point.BeforeFailure)
	_, err := l.finish(ctx, store.End{Holder: h.Holder, State: store.Failed, Failure: f.Failure, Window: l.window})
	if err == nil {
		point.At(point.FailureRecorded)
		return l.failed(d, f)
	}
	d.outcome = OutcomeError
	if errors.Is(err, ErrLeaseLost) {
		d.outcome = OutcomeLeaseLost
	}
	return l.wrap(d.key, fmt.Errorf("%w; that this is permanent is not recorded: %w", f.Err, err))
}

// finishTry bounds one try to record the end of a run, so that a connection that has died in silence leaves time for others.
const finishTry = driver.EndTimeout / 2

// finish makes the row a final one, whatever became of ctx. The run has taken place, so that nothing the database says keeps
// this from being tried again, on another connection, until the time is over: a table that may not be written, or not be
// found, may be on a server that is no longer the primary. What the database has no room for is left out; see [Lease.shrunk].
// settled says that the row has shown that an earlier try was the one. It returns ErrLeaseLost where the row is no longer the
// holder's, and ErrCommitUnknown where the end may not be recorded.
func (l *Lease[E, R]) finish(ctx context.Context, end store.End) (settled bool, _ error) {
	deadline := time.Now().Add(l.finishTime())
	bounded, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	var why error
	for n := 0; ; n++ {
		settled, final, err := l.finishOnce(bounded, end)
		if final {
			return settled, err
		}
		if why == nil || bounded.Err() == nil {
			// What the last try runs into is mostly the end of the time.
			why = err
		}
		end = l.shrunk(end, err, deadline)
		if pause(bounded, n) != nil {
			break
		}
	}
	switch l.classify(why) {
	case driver.Misfit, driver.Denied:
		why = l.diagnose(context.WithoutCancel(ctx), why)
	}
	return false, fmt.Errorf("%w: %w", ErrCommitUnknown, why)
}

// finishOnce tries once. Where it is not final, err tells why.
func (l *Lease[E, R]) finishOnce(ctx context.Context, end store.End) (settled, final bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, finishTry)
	defer cancel()
	point.At(point.BeforeFinish)
	done, err := l.keys.Finish(ctx, end)
	switch {
	case err != nil:
		return false, false, err
	case done:
		point.At(point.Finished)
		return false, true, nil
	}
	// Either the lease is another's, or an earlier try, or an earlier execution of this one, was not answered.
	row, err := l.keys.Lookup(ctx, end.Handler, end.Key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, true, ErrLeaseLost
	case err != nil:
		return false, false, err
	case row.Owner == end.Owner && row.Fence == end.Fence && row.State == end.State:
		return true, true, nil
	default:
		return false, true, ErrLeaseLost
	}
}

// heartbeat renews a lease until it is stopped.
type heartbeat struct {
	lost   atomic.Bool             // this lease, and not one around it whose end ends the handler's context as well
	cancel context.CancelCauseFunc // of the handler's context
	end    context.CancelFunc
	ended  chan struct{}
}

// beat begins to renew a lease. The context that it returns is the handler's: it ends with ErrLeaseLost when the lease does.
func (l *Lease[E, R]) beat(ctx context.Context, h held) (*heartbeat, context.Context) {
	running, cancel := context.WithCancelCause(ctx)
	own, end := context.WithCancel(context.WithoutCancel(ctx))
	b := &heartbeat{cancel: cancel, end: end, ended: make(chan struct{})}
	// The watch does not depend on the goroutine, which may hang in a statement.
	watch := time.AfterFunc(time.Until(h.sent.Add(sure(l.spec.Lease))), b.lose)
	go func() {
		defer close(b.ended)
		defer watch.Stop()
		l.renew(own, h, watch, b.lose)
	}()
	return b, running
}

// lose ends the handler's context because the lease is lost, or may be.
func (b *heartbeat) lose() {
	b.lost.Store(true)
	b.cancel(ErrLeaseLost)
}

// stop ends the renewals and returns when they have ended.
func (b *heartbeat) stop() {
	b.end()
	<-b.ended
	b.cancel(nil)
}

// sure is how long a lease lasts for certain from the time on when it was asked for, by this machine's clock: what is left of
// it is for clocks of different speed, and for the handler to stop.
func sure(lease time.Duration) time.Duration { return lease - lease/10 }

// renew renews the lease at each third of it, and more often where the database does not answer, until own ends or the lease
// is lost. Only this machine's monotonic clock decides when an unanswered lease is.
func (l *Lease[E, R]) renew(own context.Context, h held, watch *time.Timer, lose func()) {
	lease := l.spec.Lease
	until := h.sent.Add(sure(lease))
	next := h.sent.Add(lease / 3)
	for wait(own, time.Until(next)) == nil {
		sent := time.Now()
		if !sent.Before(until) {
			// The watch may be about to say so, and stops with this goroutine.
			lose()
			return
		}
		bounded, cancel := context.WithDeadline(own, earlier(until, sent.Add(lease/3)))
		point.At(point.BeforeRenewal)
		renewed, err := l.keys.Renew(bounded, h.Holder, lease)
		point.At(point.Renewed)
		cancel()
		switch {
		case err != nil:
			next = time.Now().Add(lease / 30)
		case !renewed:
			lose()
			return
		case !watch.Stop():
			// It was too late, and the handler's context has ended. The row is still this delivery's until it is taken over.
			return
		default:
			until, next = sent.Add(sure(lease)), sent.Add(lease/3)
			watch.Reset(time.Until(until))
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
