package idemtest

import (
	"context"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"
)

// ends are the ways in which a run under a lease ends: it completes, gives the key back, or records a failure.
var ends = map[string]error{"complete": nil, "release": errBusiness, "record": idem.Permanent(errBusiness)}

// lost wants the end of a run whose key is another's by now.
func (f *fixture[Tx]) lost(late answered, end error) {
	f.Helper()
	if end == errBusiness { //nolint:errorlint // The one that is not marked.
		f.is(late.err, errBusiness)
	} else {
		f.is(late.err, idem.ErrLeaseLost)
	}
	f.equal("the result of the late one", late.receipt, receipt{})
}

// A run that ends after the one which took its key over changes nothing of what that has left, also where both end alike.
func (f *fixture[Tx]) lateOwnerOfAnEnd() {
	spec := leased("Charge", 30*time.Second)
	for otherName, otherEnd := range ends {
		for lateName, lateEnd := range ends {
			f.Clear()
			o, late := fresh(), newParked()
			first := f.deliver(f.ctx, f.charging(spec, f.stopping(late)), o)
			f.await("the first run", late.reached)
			f.Alter(Change{LeaseLeft: span(-time.Millisecond)})
			won, err := f.charging(spec, func(ctx context.Context, o order) (receipt, error) {
				r, err := f.charge(ctx, o)
				if err != nil {
					return r, err
				}
				return r, otherEnd
			})(f.ctx, o)
			f.is(err, otherEnd)
			before := f.only()

			late.letGo <- lateEnd
			f.lost(<-first, lateEnd)
			after := f.only()
			f.equal(fmt.Sprintf("the row after %s and then %s", otherName, lateName), []any{after.State, after.Fence}, []any{before.State, before.Fence})
			if otherEnd == nil {
				f.equal("the repeat's result", f.result(f.charging(spec, f.charge), o), won)
			}
		}
	}
}

// A row that a person has deleted, and that has come again, begins with the same fence: the owner tells the two apart.
func (f *fixture[Tx]) lateOwnerOfANewRow() {
	spec := leased("Charge", 30*time.Second)
	for name, end := range ends {
		f.Clear()
		o, late, second := fresh(), newParked(), newParked()
		first := f.deliver(f.ctx, f.charging(spec, f.stopping(late)), o)
		f.await("the first run", late.reached)
		f.Clear()
		other := f.deliver(f.ctx, f.charging(spec, f.stopping(second)), o)
		f.await("the run on the new row", second.reached)

		late.letGo <- end
		f.lost(<-first, end)
		row := f.only()
		f.equal("the row after "+name, []any{row.State, row.Fence}, []any{"running", int64(1)})
		second.letGo <- nil
		won := <-other
		f.ok("the run on the new row", won.err)
		f.equal("the repeat's result", f.result(f.charging(spec, f.charge), o), won.receipt)
	}
}

// A handler that heeds its context, and returns an error for it, is told of as one that has lost its lease, and not as one
// that has failed.
func (f *fixture[Tx]) leaseLostAndToldSo() {
	o, reached := fresh(), make(chan struct{})
	first := f.deliver(f.ctx, f.charging(leased("Charge", idem.MinLease), func(ctx context.Context, _ order) (receipt, error) {
		close(reached)
		<-ctx.Done()
		return receipt{}, fmt.Errorf("it stops: %w", ctx.Err())
	}), o)
	f.await("the run", reached)
	f.Alter(Change{State: "parked"})
	lost := <-first
	f.is(lost.err, idem.ErrLeaseLost)
	f.is(lost.err, context.Canceled)
	f.states("parked")
	f.outcomes(map[idem.Outcome]int{idem.OutcomeLeaseLost: 1})
}

// The row of a new claim has the fence of the old one, and is not renewed for it.
func (f *fixture[Tx]) leaseLostToANewRow() {
	first := f.losing(func(o order) {
		f.Clear()
		f.Put("suite.Charge", "acme/"+o.ID, "running", nil)
		f.Alter(Change{LeaseLeft: span(100 * time.Second)})
	})
	f.is((<-first).err, idem.ErrLeaseLost)
	row := f.only()
	if row.State != "running" || row.LeaseLeft == nil || *row.LeaseLeft < 50*time.Second {
		f.Errorf("the row is %+v", row)
	}
}

// Between the look at a lease that has passed and what is made of that, its owner may renew it: then it has not passed.
func (f *fixture[Tx]) leaseRenewedInTime() {
	for query, rule := range map[string]idem.Expired{"TakeOver": idem.Retry, "Park": idem.Park} {
		f.Clear()
		spec, o := leased("Charge", 30*time.Second), fresh()
		spec.Expired = rule
		f.abandoned(spec, o)
		f.Before(query, func() { f.Alter(Change{LeaseLeft: span(100 * time.Second)}) })
		_, err := f.charging(spec, f.charge, idem.WithInFlightTimeout(50*time.Millisecond))(f.ctx, o)
		as[*idem.InProgressError](f, err)
		row := f.only()
		f.equal("the row", []any{row.State, row.Fence}, []any{"running", int64(1)})
	}
	f.leaseEffects(0, 0)
}

// A run that has taken an expired row over has a row that is not expired: nobody takes it over in turn, and no janitor deletes it.
func (f *fixture[Tx]) leaseOverExpired() {
	p, o := newParked(), fresh()
	spec := leased("Charge", 30*time.Second)
	f.result(f.charging(spec, f.charge), o)
	f.expire()
	second := f.deliver(f.ctx, f.charging(spec, f.stopping(p)), o)
	f.await("the second run", p.reached)
	rush := spec
	rush.InFlight = idem.Fail
	_, err := f.charging(rush, f.charge)(f.ctx, o)
	as[*idem.InProgressError](f, err)
	swept, err := idem.NewJanitor(f.guard()).Once(f.ctx)
	f.ok("the janitor", err)
	f.equal("removed", swept.Removed, int64(0))
	f.equal("the end of the window of a running row", f.only().ExpiresIn, (*time.Duration)(nil))
	p.letGo <- nil
	won := <-second
	f.ok("the second run", won.err)
	f.equal("the repeat's result", f.result(f.charging(spec, f.charge), o), won.receipt)
	f.equal("what is left of the lease of a row that is done", f.only().LeaseLeft, (*time.Duration)(nil))
	f.leaseEffects(2, 1)
}

// The effect has taken place, and is not undone by a result that cannot be stored.
func (f *fixture[Tx]) leaseDoesNotEncode() {
	spec, o := leased("Charge", 30*time.Second), fresh()
	f.wants(f.charging(spec, f.charge, idem.WithCodec(broken{})), o, errBusiness)
	f.states("done")
	f.wants(f.charging(spec, f.charge), o, idem.ErrResultOmitted)
	f.leaseEffects(1, 1)
}

// A claim that may have taken place, and that nobody will make use of, is taken back.
func (f *fixture[Tx]) leaseClaimAbandoned() {
	spec, o := leased("Charge", 30*time.Second), fresh()
	f.LoseAnswer("Claim")
	if _, err := f.charging(spec, f.charge, idem.WithInFlightTimeout(time.Nanosecond))(f.ctx, o); err == nil {
		f.Error("a delivery whose claim was not answered in time has succeeded")
	}
	f.leaseEffects(0, 0)
	f.states("released")
	f.result(f.charging(spec, f.charge), o)
	f.leaseEffects(1, 1)
}
