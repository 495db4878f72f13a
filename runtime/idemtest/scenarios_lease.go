package idemtest

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"
)

// leaseEffects says how many calls the outside has seen, and how many of them it did not know by their key.
func (f *fixture[Tx]) leaseEffects(calls, charges int) {
	f.Helper()
	f.lock.Lock()
	defer f.lock.Unlock()
	f.equal("calls, and charges of their own", []int{int(f.outside.Load()), len(f.charges)}, []int{calls, charges})
}

func (f *fixture[Tx]) leaseAtOnce() {
	const n = 24
	spec := leased("Charge", 30*time.Second)
	f.together(n, fresh(), f.charging(spec, f.charge, f.long()), f.charging(spec, f.charge, f.long()))
	f.leaseEffects(1, 1)
	f.states("done")
	f.outcomes(map[idem.Outcome]int{idem.OutcomeExecuted: 1, idem.OutcomeDuplicate: n - 1})
}

// The outside is called at least once, with the same key each time.
func (f *fixture[Tx]) leaseMishaps() {
	keys := f.crowd(f.charging(leased("Charge", 30*time.Second), func(ctx context.Context, o order) (receipt, error) {
		r, err := f.charge(ctx, o)
		if err != nil {
			return r, err
		}
		return r, strike()
	}, f.long()))
	f.lock.Lock()
	f.equal("charges of their own", len(f.charges), keys)
	f.lock.Unlock()
	for _, r := range f.Rows() {
		f.equal("the state of "+r.Key, r.State, "done")
	}
}

// stopping is a lease's body that stops behind its call of the outside.
func (f *fixture[Tx]) stopping(p *parked) func(context.Context, order) (receipt, error) {
	return func(ctx context.Context, o order) (receipt, error) {
		r, err := f.charge(ctx, o)
		if err != nil {
			return r, err
		}
		return r, p.stop(f.ctx)
	}
}

func (f *fixture[Tx]) leaseRenewed() {
	p, o := newParked(), fresh()
	var over error
	stop := f.stopping(p)
	spec := leased("Charge", idem.MinLease)
	first := f.deliver(f.ctx, f.charging(spec, func(ctx context.Context, o order) (receipt, error) {
		r, err := stop(ctx, o)
		over = ctx.Err()
		return r, err
	}), o)
	f.await("the run", p.reached)
	rush := spec
	rush.InFlight = idem.Fail
	rival := f.charging(rush, f.charge)
	began := time.Now()
	f.eventually("the lease is longer than itself", func() bool {
		left := f.only().LeaseLeft
		if left == nil || *left <= 0 {
			f.Fatalf("the lease has passed: %v", left)
		}
		if *left > idem.MinLease {
			f.Fatalf("a renewed lease begins anew, and has %s left", *left)
		}
		_, err := rival(f.ctx, o)
		as[*idem.InProgressError](f, err)
		return time.Since(began) > 2*idem.MinLease
	})
	p.letGo <- nil
	f.ok("the run", (<-first).err)
	f.ok("its context", over)
	f.states("done")
	f.leaseEffects(1, 1)
	f.equal("the fence", f.only().Fence, int64(1))
}

// abandoned is a row that a run has left without an end.
func (f *fixture[Tx]) abandoned(spec idem.Spec[order], o order) {
	f.Helper()
	d := f.charging(spec, func(context.Context, order) (receipt, error) { return receipt{}, errBusiness })
	f.wants(d, o, errBusiness)
	f.Alter(Change{State: "running", LeaseLeft: span(-time.Second)})
}

func (f *fixture[Tx]) leaseTakenOver() {
	spec, o := leased("Charge", 30*time.Second), fresh()
	f.abandoned(spec, o)
	d := f.charging(spec, f.charge)
	first := f.result(d, o)
	f.equal("the repeat's result", f.result(d, o), first)
	f.leaseEffects(1, 1)
	f.equal("the fence", f.only().Fence, int64(2))
	f.states("done")
}

func (f *fixture[Tx]) leaseParked() {
	spec, o := leased("Charge", 30*time.Second), fresh()
	spec.Expired = idem.Park
	f.abandoned(spec, o)
	d := f.charging(spec, f.charge)
	for range 2 {
		f.wants(d, o, idem.ErrParked)
		f.states("parked")
	}
	f.leaseEffects(0, 0)
	f.Alter(Change{State: "released"})
	f.result(d, o)
	f.leaseEffects(1, 1)
}

// lateOwner has a run end, in each of its ways, after another has taken its key over.
func (f *fixture[Tx]) lateOwner() {
	spec := leased("Charge", 30*time.Second)
	for name, end := range map[string]error{
		"complete": nil, "release": errBusiness, "record": idem.Permanent(errBusiness),
	} {
		f.Clear()
		o, late, second := fresh(), newParked(), newParked()
		first := f.deliver(f.ctx, f.charging(spec, f.stopping(late)), o)
		f.await("the first run", late.reached)
		f.Alter(Change{LeaseLeft: span(-time.Millisecond)})
		other := f.deliver(f.ctx, f.charging(spec, f.stopping(second)), o)
		f.await("the run of whoever took over", second.reached)

		late.letGo <- end
		lost := <-first
		if end == nil || name == "record" {
			f.is(lost.err, idem.ErrLeaseLost)
		} else {
			f.is(lost.err, errBusiness)
		}
		f.equal("the result of the late one", lost.receipt, receipt{})
		f.states("running")
		f.equal("the fence", f.only().Fence, int64(2))
		second.letGo <- nil
		won := <-other
		f.ok("whoever took over", won.err)
		f.states("done")
		f.equal("the repeat's result", f.result(f.charging(spec, f.charge), o), won.receipt)
	}
}

// losing has a run go on until its context ends, which is in because of.
func (f *fixture[Tx]) losing(lose func(order)) (first <-chan answered) {
	f.Helper()
	o := fresh()
	reached := make(chan struct{})
	first = f.deliver(f.ctx, f.charging(leased("Charge", idem.MinLease), func(ctx context.Context, o order) (receipt, error) {
		r, err := f.charge(ctx, o)
		if err != nil {
			return r, err
		}
		close(reached)
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, idem.ErrLeaseLost) {
			return r, errors.Join(errors.New("the context ended for another reason"), cause)
		}
		return r, nil
	}), o)
	f.await("the run", reached)
	lose(o)
	return first
}

func (f *fixture[Tx]) leaseLostByRenewal() {
	first := f.losing(func(order) { f.Alter(Change{State: "parked"}) })
	lost := <-first
	f.is(lost.err, idem.ErrLeaseLost)
	f.equal("the result of the late one", lost.receipt, receipt{})
	f.states("parked")
	f.outcomes(map[idem.Outcome]int{idem.OutcomeLeaseLost: 1})
}

// Nobody else could have the key, so that the end is recorded all the same.
func (f *fixture[Tx]) leaseLostByClock() {
	ended := make(chan struct{})
	var unlock func()
	began := time.Now()
	first := f.losing(func(order) { unlock = f.Lock() })
	go func() {
		defer close(ended)
		f.eventually("the end of the lease", func() bool { return time.Since(began) > idem.MinLease+idem.MinLease/5 })
	}()
	<-ended
	unlock()
	f.ok("the run", (<-first).err)
	f.states("done")
	f.leaseEffects(1, 1)
}

func (f *fixture[Tx]) leaseFails() {
	o := fresh()
	spec := leased("Charge", 30*time.Second)
	fence := int64(0)
	for name, how := range map[string]func(context.CancelFunc) error{
		"error":           func(context.CancelFunc) error { return errBusiness },
		"a caller's end":  func(cancel context.CancelFunc) error { cancel(); return errBusiness },
		"panic":           func(context.CancelFunc) error { panic(errDeath) },
		"Goexit":          func(context.CancelFunc) error { runtime.Goexit(); return nil },
		"a wrapped error": func(context.CancelFunc) error { return errors.Join(errBusiness) },
	} {
		ctx, cancel := context.WithCancel(f.ctx)
		d := f.charging(spec, func(context.Context, order) (receipt, error) { return receipt{}, how(cancel) })
		left, err := outside(func() error { _, err := d(ctx, o); return err })
		cancel()
		if left == nil && !errors.Is(err, errBusiness) {
			f.Errorf("%s: %v", name, err)
		}
		fence++
		f.states("released")
		f.equal("the fence", f.only().Fence, fence)
	}
	f.result(f.charging(spec, f.charge), o)
	f.leaseEffects(1, 1)
	f.equal("the fence", f.only().Fence, fence+1)
}

func (f *fixture[Tx]) leasePermanentTooLate() {
	ctx, cancel := context.WithCancel(f.ctx)
	spec, o := leased("Charge", 30*time.Second), fresh()
	d := f.charging(spec, func(context.Context, order) (receipt, error) {
		cancel()
		return receipt{}, idem.Permanent(errBusiness)
	})
	_, err := d(ctx, o)
	f.is(err, errBusiness)
	f.states("released")
	f.result(f.charging(spec, f.charge), o)
}

func (f *fixture[Tx]) leaseCallerGone() {
	ctx, cancel := context.WithCancel(f.ctx)
	spec, o := leased("Charge", 30*time.Second), fresh()
	first, err := f.charging(spec, func(ctx context.Context, o order) (receipt, error) {
		r, err := f.charge(ctx, o)
		cancel()
		return r, err
	})(ctx, o)
	f.ok("the run", err)
	f.equal("the repeat's result", f.result(f.charging(spec, f.charge), o), first)
	f.leaseEffects(1, 1)
}

func (f *fixture[Tx]) leaseEndLost() {
	d, o := f.charging(leased("Charge", 30*time.Second), f.charge), fresh()
	f.LoseAnswer("Finish")
	first := f.result(d, o)
	f.equal("the repeat's result", f.result(d, o), first)
	f.leaseEffects(1, 1)
	f.outcomes(map[idem.Outcome]int{idem.OutcomeSettled: 1, idem.OutcomeDuplicate: 1})
}

func (f *fixture[Tx]) leaseInProgress() {
	p, o := newParked(), fresh()
	spec := leased("Charge", 30*time.Second)
	first := f.deliver(f.ctx, f.charging(spec, f.stopping(p)), o)
	f.await("the run", p.reached)
	_, err := f.charging(spec, f.charge, idem.WithInFlightTimeout(50*time.Millisecond))(f.ctx, o)
	if busy := as[*idem.InProgressError](f, err); busy.RetryAfter <= spec.Lease/2 || busy.RetryAfter > spec.Lease {
		f.Errorf("retry after %s", busy.RetryAfter)
	}
	waits := f.deliver(f.ctx, f.charging(spec, f.charge, f.long()), o)
	f.eventually("who waits has no connection", func() bool { return f.InUse() == 0 })
	p.letGo <- nil
	won, repeat := <-first, <-waits
	f.ok("the run", won.err)
	f.ok("who waited", repeat.err)
	f.equal("the result of who waited", repeat.receipt, won.receipt)
	f.leaseEffects(1, 1)
}

func (f *fixture[Tx]) leaseMetByTransaction() {
	d, o := f.placing(f.place, idem.WithInFlightTimeout(50*time.Millisecond)), fresh()
	f.result(d, o)
	f.expire()
	f.result(d, o)
	window := f.only().ExpiresIn
	f.Clear()
	f.Put("suite.Place", "acme/"+o.ID, "running", nil)
	f.Alter(Change{LeaseLeft: span(100 * time.Second)})
	_, err := d(f.ctx, o)
	if busy := as[*idem.InProgressError](f, err); busy.RetryAfter <= 50*time.Second || busy.RetryAfter > 100*time.Second {
		f.Errorf("retry after %s", busy.RetryAfter)
	}
	f.Alter(Change{State: "parked"})
	f.wants(d, o, idem.ErrParked)
	f.Alter(Change{State: "running", LeaseLeft: span(-time.Second)})
	f.result(d, o)
	f.states("done")
	if got := f.only().ExpiresIn; got == nil || window == nil || *got > *window+time.Hour {
		f.Errorf("its window ends in %v", got)
	}
	f.effects(3)
}

func (f *fixture[Tx]) releasedKeepsPayload() {
	spec, o := leased("Charge", 30*time.Second), fresh()
	f.wants(f.charging(spec, func(context.Context, order) (receipt, error) { return receipt{}, errBusiness }), o, errBusiness)
	d := f.charging(spec, f.charge)
	changed := o
	changed.Total++
	f.wants(d, changed, idem.ErrPayloadMismatch)
	f.Alter(Change{State: "running", LeaseLeft: span(-time.Second)})
	f.wants(d, changed, idem.ErrPayloadMismatch)
	f.leaseEffects(0, 0)
	f.result(d, o)
	f.leaseEffects(1, 1)
}

func (f *fixture[Tx]) leaseWindow() {
	p, o := newParked(), fresh()
	spec := leased("Charge", 30*time.Second)
	spec.Window = time.Minute
	first := f.deliver(f.ctx, f.charging(spec, f.stopping(p)), o)
	f.await("the run", p.reached)
	f.equal("the end of the window of a running row", f.only().ExpiresIn, (*time.Duration)(nil))
	swept, err := idem.NewJanitor(f.guard()).Once(f.ctx)
	f.ok("the janitor", err)
	f.equal("removed", swept.Removed, int64(0))
	p.letGo <- errBusiness
	f.is((<-first).err, errBusiness)
	f.equal("the end of the window of a released row", f.only().ExpiresIn, (*time.Duration)(nil))
	f.result(f.charging(spec, f.charge), o)
	if got := f.only().ExpiresIn; got == nil || *got <= 0 || *got > time.Minute {
		f.Errorf("a window of a minute ends in %v", got)
	}
}

func (f *fixture[Tx]) leaseClaimLost() {
	spec, o := leased("Charge", 30*time.Second), fresh()
	d := f.charging(spec, f.charge)
	f.LoseAnswer("Claim")
	first := f.result(d, o)
	f.equal("the repeat's result", f.result(d, o), first)
	f.leaseEffects(1, 1)
	f.equal("the fence", f.only().Fence, int64(1))

	f.expire()
	f.LoseAnswer("TakeOver")
	f.result(d, o)
	f.leaseEffects(2, 1)
	f.equal("the fence", f.only().Fence, int64(2))
	f.states("done")
}

// Whoever ends before its claim, or while it waits for another's lease, holds nothing.
func (f *fixture[Tx]) leaseGivenUp() {
	spec, o, p := leased("Charge", 30*time.Second), fresh(), newParked()
	d := f.charging(spec, f.charge, f.long())
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	_, err := d(ctx, o)
	f.is(err, context.Canceled)
	f.result(d, o)
	f.leaseEffects(1, 1)

	f.Clear()
	first := f.deliver(f.ctx, f.charging(spec, f.stopping(p)), o)
	f.await("the run", p.reached)
	ctx, cancel = context.WithCancel(f.ctx)
	waits := f.deliver(ctx, d, o)
	cancel()
	if err := (<-waits).err; !errors.Is(err, context.Canceled) {
		f.Fatalf("who gave up: %v", err)
	}
	f.states("running")
	p.letGo <- nil
	f.ok("the run", (<-first).err)
	f.leaseEffects(2, 1)
	f.states("done")
}

func (f *fixture[Tx]) leaseMarkLost() {
	l := idem.NewLease(f.guard(), leased("Charge", 30*time.Second), f.charge)
	o, want := fresh(), receipt{By: "before"}
	f.LoseAnswer("Claim")
	f.ok("Mark", l.Mark(f.ctx, o, want))
	f.states("done")
	f.ok("Mark", l.Mark(f.ctx, o, receipt{By: "again"}))
	f.equal("the result", f.result(l.Do, o), want)
	f.leaseEffects(0, 0)
	row := f.only()
	if row.ExpiresIn == nil || row.LeaseLeft != nil {
		f.Errorf("the row is %+v", row)
	}
}

func (f *fixture[Tx]) leaseShadow() {
	spec, o := leased("Charge", 30*time.Second), fresh()
	spec.Expired = idem.Park
	f.abandoned(spec, o)
	for range 2 {
		f.result(f.charging(spec, f.charge, idem.WithShadow()), o)
		f.states("running")
	}
	f.leaseEffects(2, 1)
	f.wants(f.charging(spec, f.charge), o, idem.ErrParked)
}
