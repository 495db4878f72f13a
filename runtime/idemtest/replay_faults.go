package idemtest

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// pointee is what a pointer points to, for a report.
func pointee(v any) any {
	if r := reflect.ValueOf(v); r.Kind() == reflect.Pointer && !r.IsNil() {
		return r.Elem().Interface()
	}
	return v
}

// transactionPlays have COMMIT go wrong.
func (p *player[E, R]) transactionPlays() {
	p.t.Helper()
	p.diesBeforeCommit()
	p.diesAfterCommit()
	p.commitUnanswered()
	p.commitNotArrived()
}

func (p *player[E, R]) diesBeforeCommit() {
	p.t.Helper()
	const play = "a worker that dies before COMMIT"
	ev := p.fresh()
	died := false
	d := p.deliver(p.open(script{commit: func(func() error) error {
		died = true
		panic(death{"before COMMIT"})
	}}), ev)
	if !died {
		p.unready(ev, play, d)
		return
	}
	p.judge(ev, play, "after a worker had died before COMMIT", d, nothing)
}

func (p *player[E, R]) diesAfterCommit() {
	p.t.Helper()
	const play = "a worker that dies after COMMIT"
	ev := p.fresh()
	var result any
	died := false
	d := p.deliver(p.open(script{
		run: func(ctx context.Context, _ *leases, run func(context.Context) (any, error)) (_ any, err error) {
			result, err = run(ctx)
			return result, err
		},
		commit: func(commit func() error) error {
			if err := commit(); err != nil {
				return err
			}
			died = true
			panic(death{"after COMMIT"})
		},
	}), ev)
	if !died {
		p.unready(ev, play, d)
		return
	}
	p.repeated(ev, play, "after a worker had died after COMMIT", d, result)
}

// repeated expects that an event is done, and that its redelivery does not run the handler and returns its result.
func (p *player[E, R]) repeated(ev *event, play, what string, d ended[R], result any) {
	p.t.Helper()
	runs := p.runs.Load()
	again, ok := p.judge(ev, play, what, d, everything)
	if !ok {
		return
	}
	if p.runs.Load() != runs {
		p.broke(ev, play, "%s, the redelivery ran the handler again", what)
		return
	}
	if first, ok := result.(R); ok {
		p.same(ev, play, first, again.result)
	}
}

func (p *player[E, R]) commitUnanswered() {
	p.t.Helper()
	const play = "a COMMIT without an answer"
	ev := p.fresh()
	var cut atomic.Bool
	d := p.deliver(p.open(script{commit: func(commit func() error) error {
		err := commit()
		if err == nil && cut.CompareAndSwap(false, true) {
			err = &driver.CommitError{Fate: driver.Unknown, Err: errLost}
		}
		return err
	}}), ev)
	if !d.succeeded() && !errors.Is(d.err, idem.ErrCommitUnknown) {
		p.unready(ev, play, d)
		return
	}
	again, ok := p.judge(ev, play, "after a COMMIT that was not answered", d, everything)
	if ok && d.succeeded() {
		p.same(ev, play, d.result, again.result)
	}
}

// commitNotArrived has the handler run a second time within one delivery, as it does after a deadlock too.
func (p *player[E, R]) commitNotArrived() {
	p.t.Helper()
	const play = "a COMMIT that does not arrive"
	ev := p.fresh()
	var cut atomic.Bool
	d := p.deliver(p.open(script{commit: func(commit func() error) error {
		if cut.CompareAndSwap(false, true) {
			return &driver.CommitError{Fate: driver.Unknown, Err: errLost}
		}
		return commit()
	}}), ev)
	switch {
	case d.succeeded(), errors.Is(d.err, errLost), errors.Is(d.err, idem.ErrCommitUnknown):
	case cut.Load():
		p.broke(ev, play, "the handler's transaction was rolled back and the handler run again within one delivery, as after a deadlock, and then it %s.%s "+
			"Does it change the event, or keep something in memory?", d, because(d.err))
		return
	default:
		p.unready(ev, play, d)
		return
	}
	again, ok := p.judge(ev, play, "after a COMMIT that did not arrive", d, nothing)
	if ok && d.succeeded() {
		p.same(ev, play, d.result, again.result)
	}
}

// leasePlays have the record of a run go wrong.
func (p *player[E, R]) leasePlays() {
	p.t.Helper()
	p.diesBeforeRecord()
	p.diesAfterRecord()
	p.recordUnanswered()
	p.leaseLost()
}

func (p *player[E, R]) diesBeforeRecord() {
	p.t.Helper()
	const play = "a worker that dies after the effect"
	ev := p.fresh()
	var lapsed error
	died := false
	d := p.deliver(p.open(script{finish: func(keys *leases, h store.Holder, _ func() (bool, error)) (bool, error) {
		lapsed = keys.lapse(context.WithoutCancel(p.t.Context()), h)
		died = true
		panic(death{"between the effect and its record"})
	}}), ev)
	switch {
	case lapsed != nil:
		p.t.Fatal(lapsed)
	case !died:
		p.unready(ev, play, d)
		return
	}
	p.judge(ev, play, "after a worker had died between the effect and its record, and its lease had passed", d, either)
}

func (p *player[E, R]) diesAfterRecord() {
	p.t.Helper()
	const play = "a worker that dies after the record"
	ev := p.fresh()
	var result any
	died := false
	d := p.deliver(p.open(script{
		run: func(ctx context.Context, _ *leases, run func(context.Context) (any, error)) (_ any, err error) {
			result, err = run(ctx)
			return result, err
		},
		finish: func(_ *leases, _ store.Holder, finish func() (bool, error)) (bool, error) {
			done, err := finish()
			if err != nil || !done {
				return done, err
			}
			died = true
			panic(death{"after the record of the effect"})
		},
	}), ev)
	if !died {
		p.unready(ev, play, d)
		return
	}
	p.repeated(ev, play, "after a worker had died after the record of the effect", d, result)
}

func (p *player[E, R]) recordUnanswered() {
	p.t.Helper()
	const play = "a record without an answer"
	ev := p.fresh()
	var cut atomic.Bool
	d := p.deliver(p.open(script{finish: func(_ *leases, _ store.Holder, finish func() (bool, error)) (bool, error) {
		done, err := finish()
		if err == nil && cut.CompareAndSwap(false, true) {
			return false, errLost
		}
		return done, err
	}}), ev)
	if !d.succeeded() && !errors.Is(d.err, idem.ErrCommitUnknown) {
		p.unready(ev, play, d)
		return
	}
	again, ok := p.judge(ev, play, "after a record that was not answered", d, everything)
	if ok && d.succeeded() {
		p.same(ev, play, d.result, again.result)
	}
}

// leaseLost has another worker take the key over while the first one is at the end of its run.
func (p *player[E, R]) leaseLost() {
	p.t.Helper()
	const play = "a lease that is lost"
	ev := p.fresh()
	var rival ended[R]
	d := p.deliver(p.open(script{run: func(ctx context.Context, keys *leases, run func(context.Context) (any, error)) (any, error) {
		result, err := run(ctx)
		if err != nil {
			return result, err
		}
		h, err := keys.holder(ctx)
		if err != nil {
			return nil, err
		}
		if err := keys.lapse(ctx, h); err != nil {
			return nil, err
		}
		own, cancel := context.WithTimeout(p.t.Context(), p.c.Patience)
		defer cancel()
		rival = p.await(p.start(own, p.calm, ev))
		return result, nil
	}}), ev)
	switch {
	case rival.succeeded(), errors.Is(rival.err, idem.ErrParked):
	case rival.hung, rival.err != nil, rival.panicked != nil:
		p.broke(ev, play, "the lease passed in the middle of a run, and the delivery to another worker %s.%s", rival, because(rival.err))
		return
	default:
		p.unready(ev, play, d)
		return
	}
	if d.succeeded() {
		p.broke(ev, play, "the lease was lost to another worker, and the delivery succeeded all the same")
		return
	}
	p.judge(ev, play, "after the lease had passed in the middle of a run and another worker had taken the event", d, either)
}

// eitherPlays are those of any handler.
func (p *player[E, R]) eitherPlays() {
	p.t.Helper()
	p.panics()
	p.contextEnds()
	p.callsFail()
}

// failed is what remains of a run that failed.
func (p *player[E, R]) failed() outcome {
	if p.leased.Load() {
		return either
	}
	return nothing
}

func (p *player[E, R]) panics() {
	p.t.Helper()
	const play = "a panic"
	ev := p.fresh()
	reached := false
	d := p.deliver(p.open(script{run: func(ctx context.Context, _ *leases, run func(context.Context) (any, error)) (any, error) {
		if result, err := run(ctx); err != nil {
			return result, err
		}
		reached = true
		panic(death{"of a panic at the end of the handler"})
	}}), ev)
	if !reached {
		p.unready(ev, play, d)
		return
	}
	p.judge(ev, play, "after a panic at the end of the handler", d, p.failed())
}

func (p *player[E, R]) contextEnds() {
	p.t.Helper()
	const play = "a context that ends"
	ev := p.fresh()
	ctx, cancel := context.WithTimeout(p.t.Context(), p.c.Patience)
	defer cancel()
	reached := false
	d := p.await(p.start(ctx, p.open(script{run: func(ctx context.Context, _ *leases, run func(context.Context) (any, error)) (any, error) {
		result, err := run(ctx)
		reached = err == nil
		cancel()
		return result, err
	}}), ev))
	switch {
	case d.hung:
		p.t.Fatalf("idemtest: a delivery of Event(%d) does not return, although its context has ended", ev.i)
	case !reached:
		p.unready(ev, play, d)
		return
	}
	p.judge(ev, play, "after the context had ended when the handler had done its work", d, p.failed())
}

// callsFail gives the handler a context that is over, which is not the delivery's: all that the handler does with it fails, and
// a handler that does not say so commits nothing and looks handled.
func (p *player[E, R]) callsFail() {
	p.t.Helper()
	play := "statements that fail"
	what := "after every statement of the handler that heeds its context had failed"
	if p.leased.Load() {
		play, what = "calls that fail", "after every call of the handler that heeds its context had failed"
	}
	ev := p.fresh()
	d := p.deliver(p.open(script{run: func(ctx context.Context, _ *leases, run func(context.Context) (any, error)) (any, error) {
		over, cancel := context.WithCancel(ctx)
		cancel()
		return run(over)
	}}), ev)
	p.judge(ev, play, what, d, p.failed())
}
