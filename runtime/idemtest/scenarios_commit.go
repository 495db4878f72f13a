package idemtest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/idemgen/idemgen/runtime/idem"
)

// swallowing is a body that goes on after a statement that failed.
func (f *fixture[Tx]) swallowing(refused func(context.Context, Tx) error) body[Tx] {
	return f.then(func(ctx context.Context, tx Tx, _ order) error {
		if err := refused(ctx, tx); err == nil {
			return errors.New("the statement was to fail")
		}
		return nil
	})
}

func (f *fixture[Tx]) swallowed() {
	o := fresh()
	for _, d := range f.both(f.swallowing(f.Refused)) {
		f.wants(d, o, idem.ErrTransactionAborted)
		f.clean()
	}
	for _, d := range f.both(f.place) {
		f.result(d, o)
	}
	f.effects(2)
}

func (f *fixture[Tx]) undoneBySavepoint() { f.goesOn(f.RefusedInSavepoint) }

func (f *fixture[Tx]) undoneAlone() { f.goesOn(f.Refused) }

// goesOn says that a transaction whose failed statement is undone commits the rest, once.
func (f *fixture[Tx]) goesOn(refused func(context.Context, Tx) error) {
	o := fresh()
	for i, d := range f.both(f.swallowing(refused)) {
		first := f.result(d, o)
		f.equal("the repeat's result", f.result(d, o), first)
		f.effects(i + 1)
	}
}

func (f *fixture[Tx]) commitLost() {
	o := fresh()
	for i, d := range f.both(f.place) {
		f.LoseCommit()
		first := f.result(d, o)
		f.equal("the repeat's result", f.result(d, o), first)
		f.effects(i + 1)
	}
	f.outcomes(map[idem.Outcome]int{idem.OutcomeSettled: 2, idem.OutcomeDuplicate: 2})
}

func (f *fixture[Tx]) commitBroken() {
	o := fresh()
	for i, d := range f.both(f.place) {
		broken := f.BreakCommit()
		f.result(d, o)
		f.await("the break", broken)
		f.effects(i + 1)
		f.equal("retries", f.deliveries()[i].Retries, 1)
	}
	f.outcomes(map[idem.Outcome]int{idem.OutcomeExecuted: 2})
}

// Whoever waits for the transaction whose COMMIT was lost may be faster than the question, and then its row answers. A proxy that
// breaks the connection may break that of the rival too, which is then delivered again.
func (f *fixture[Tx]) commitBrokenBeforeARival() {
	o := fresh()
	p, first, others := f.race(1, o, f.long())
	broken := f.BreakCommit()
	p.letGo <- nil
	one, other := <-first, <-others[0]
	f.await("the break", broken)
	f.ok("the first", one.err)
	if other.err != nil {
		other.receipt = f.result(f.placing(f.place), o)
	}
	f.equal("the rival's result", other.receipt, one.receipt)
	f.effects(1)
	f.states("done")
}

// leaving is a codec whose caller leaves when the run is over: COMMIT comes after it.
type leaving struct{ leave func() }

func (c leaving) Encode(v any) ([]byte, error) {
	c.leave()
	return json.Marshal(v)
}

func (leaving) Decode(data []byte, v any) error { return json.Unmarshal(data, v) }

// The end of a run does not depend on who asked for it, nor does the question what became of it.
func (f *fixture[Tx]) commitCallerGone() {
	for n, lose := range []func(){func() {}, f.LoseCommit} {
		ctx, cancel := context.WithCancel(f.ctx)
		o := fresh()
		lose()
		first, err := f.placing(f.place, idem.WithCodec(leaving{cancel}))(ctx, o)
		f.ok("the delivery", err)
		f.effects(n + 1)
		f.equal("the repeat's result", f.result(f.placing(f.place), o), first)
		f.effects(n + 1)
	}
	f.outcomes(map[idem.Outcome]int{idem.OutcomeExecuted: 1, idem.OutcomeSettled: 1, idem.OutcomeDuplicate: 2})
}

func (f *fixture[Tx]) commitLostOverExpired() {
	o := fresh()
	for i, d := range f.both(f.place) {
		f.result(d, o)
		f.expire()
		f.LoseCommit()
		f.result(d, o)
		f.effects(2 * (i + 1))
	}
	f.outcomes(map[idem.Outcome]int{idem.OutcomeExecuted: 2, idem.OutcomeSettled: 2})
}

func (f *fixture[Tx]) commitBrokenOverExpired() {
	o := fresh()
	for i, d := range f.both(f.place) {
		f.result(d, o)
		f.expire()
		broken := f.BreakCommit()
		f.result(d, o)
		f.await("the break", broken)
		f.effects(2 * (i + 1))
	}
	f.outcomes(map[idem.Outcome]int{idem.OutcomeExecuted: 4})
}

func (f *fixture[Tx]) commitHeld() {
	o := fresh()
	d := f.placing(f.place, f.long())
	letGo := f.HoldCommit()
	placed := f.deliver(f.ctx, d, o)
	f.AwaitRivals(1) // it is the question for the key that waits
	f.effects(0)
	letGo()
	got := <-placed
	f.ok("the delivery", got.err)
	f.equal("the repeat's result", f.result(d, o), got.receipt)
	f.effects(1)
	f.equal("runs", f.runs.Load(), int64(1))
	f.outcomes(map[idem.Outcome]int{idem.OutcomeSettled: 1, idem.OutcomeDuplicate: 1})
}

func (f *fixture[Tx]) commitUnknown() {
	o := fresh()
	letGo := f.HoldCommit()
	f.wants(f.placing(f.place, idem.WithInFlightTimeout(200*time.Millisecond)), o, idem.ErrCommitUnknown)
	letGo()
	f.eventually("the effect", func() bool { return f.Effects() == 1 })
	f.equal("the run", f.result(f.placing(f.place), o).By, "run 1")
	f.effects(1)
	f.outcomes(map[idem.Outcome]int{idem.OutcomeError: 1, idem.OutcomeDuplicate: 1})
}

func (f *fixture[Tx]) foreignCommit() {
	f.Translate()
	f.winnerCommits()
}

func (f *fixture[Tx]) foreignWait() {
	f.Translate()
	f.waitIsBounded()
}

func (f *fixture[Tx]) foreignConflict() {
	f.Translate()
	f.retriesAreBounded()
}

func (f *fixture[Tx]) roundTrips() {
	o := fresh()
	for _, d := range f.both(f.place) {
		for range 2 { // until every statement has been prepared
			f.result(d, o)
		}
	}
	bare := f.RoundTrips(func() { f.ok("the bare transaction", f.Bare(f.ctx)) })
	f.equal("round trips of BEGIN, a statement and COMMIT", bare, 3)
	for _, d := range f.both(f.place) {
		o := fresh()
		f.equal("round trips of a new event", f.RoundTrips(func() { f.result(d, o) }), bare)
		f.equal("round trips of a repeat", f.RoundTrips(func() { f.result(d, o) }), 2)
	}
}

func (f *fixture[Tx]) leaseRoundTrips() {
	d, o := f.charging(leased("Charge", 30*time.Second), f.charge), fresh()
	for range 2 {
		f.result(d, o)
	}
	o = fresh()
	f.equal("round trips of a new event", f.RoundTrips(func() { f.result(d, o) }), 2)
	f.equal("round trips of a repeat", f.RoundTrips(func() { f.result(d, o) }), 2)
}

func (f *fixture[Tx]) permanent() {
	var fail atomicError
	u, o := f.unit(fail.get), fresh()
	fail.set(idem.Permanent(errBusiness))
	_, err := u.do(f.ctx, o)
	first := as[*idem.FailedError](f, err)
	f.is(err, errBusiness)
	f.states("failed")
	fail.set(nil)
	before := f.runs.Load()
	_, err = u.do(f.ctx, o)
	f.equal("the failure", as[*idem.FailedError](f, err).Failure, first.Failure)
	as[*idem.FailedError](f, u.mark(f.ctx, o, receipt{}))
	f.equal("runs", f.runs.Load(), before)
	f.outcomes(map[idem.Outcome]int{idem.OutcomeFailed: 2})

	// The mark of another event is not this one's, and an unmarked failure is not recorded.
	other := fresh()
	fail.set(err)
	_, err = u.do(f.ctx, other)
	f.is(err, err)
	fail.set(nil)
	f.result(u.do, other)

	f.expire()
	f.result(u.do, o)
	f.states("done", "done")
}

// A failure is recorded as far as a row can hold its text.
func (f *fixture[Tx]) permanentText() {
	text := "card\x00refused \xff " + strings.Repeat("\u20ac", 1000)
	u, o := f.unit(func(context.Context) error { return idem.Permanent(errors.New(text)) }), fresh()
	_, err := u.do(f.ctx, o)
	first := as[*idem.FailedError](f, err).Failure
	if len(first) > 2<<10 || !utf8.ValidString(first) || !strings.HasPrefix(first, "card\uFFFDrefused \uFFFD \u20ac") {
		f.Errorf("recorded is %q", first)
	}
	_, err = u.do(f.ctx, o)
	f.equal("the repeat's failure", as[*idem.FailedError](f, err).Failure, first)
	f.states("failed")
}

// A run whose context is over may have failed for that, whatever it says.
func (f *fixture[Tx]) permanentTooLate() {
	o := fresh()
	ctx, cancel := context.WithCancel(f.ctx)
	_, err := f.placing(f.then(func(context.Context, Tx, order) error {
		cancel()
		return idem.Permanent(errBusiness)
	}))(ctx, o)
	f.is(err, errBusiness)
	f.clean()
	f.result(f.placing(f.place), o)
	f.effects(1)
}

func (f *fixture[Tx]) permanentRival() {
	p, o := newParked(), fresh()
	d := f.placing(f.then(func(ctx context.Context, _ Tx, _ order) error {
		if p.first.Load() {
			// It may run between the other one's rollback and its record.
			return idem.Permanent(errBusiness)
		}
		return p.stop(f.ctx)
	}), f.long())
	first := f.deliver(f.ctx, d, o)
	f.await("the first delivery's effect", p.reached)
	second := f.deliver(f.ctx, d, o)
	f.AwaitRivals(1)
	p.letGo <- idem.Permanent(errBusiness)
	for _, one := range []<-chan answered{first, second} {
		as[*idem.FailedError](f, (<-one).err)
	}
	f.effects(0)
	f.states("failed")
}

func (f *fixture[Tx]) afterCommit() {
	var called []int
	fail := error(nil)
	d := f.placing(f.then(func(ctx context.Context, _ Tx, _ order) error {
		if err := idem.AfterCommit(ctx, func(context.Context) {
			called = append(called, f.Effects())
			if n := f.InUse(); n != 0 {
				f.Errorf("%d connections are in use", n)
			}
		}); err != nil {
			return err
		}
		return fail
	}))
	o := fresh()
	for range 2 {
		f.result(d, o)
	}
	f.equal("calls, each with the effects that it saw", called, []int{1})
	fail = errBusiness
	f.wants(d, fresh(), errBusiness)
	f.equal("calls after a rollback", called, []int{1})
	f.is(idem.AfterCommit(f.ctx, func(context.Context) {}), idem.ErrNoCommitHook)
}

func (f *fixture[Tx]) afterLostCommit() {
	var called []int
	d := f.placing(f.then(func(ctx context.Context, _ Tx, _ order) error {
		return idem.AfterCommit(ctx, func(context.Context) { called = append(called, f.Effects()) })
	}))
	f.LoseCommit()
	f.result(d, fresh())
	f.equal("calls", called, []int{1})
	<-func() <-chan struct{} {
		broken := f.BreakCommit()
		f.result(d, fresh())
		return broken
	}()
	f.equal("calls, none for the run that was lost", called, []int{1, 2})
}
