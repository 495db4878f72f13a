package idemtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"
)

// together delivers an order n times at once, by turns with each of the handlers, and wants one answer.
func (f *fixture[Tx]) together(n int, o order, by ...delivering) {
	f.Helper()
	all := make([]<-chan answered, n)
	for i := range all {
		all[i] = f.deliver(f.ctx, by[i%len(by)], o)
	}
	var first answered
	for i, one := range all {
		got := <-one
		f.ok("a delivery", got.err)
		if i == 0 {
			first = got
		}
		f.equal("the answer", got.receipt, first.receipt)
	}
}

func (f *fixture[Tx]) oneKeyAtOnce() {
	const n = 24
	f.together(n, fresh(), f.placing(f.place, f.long()), f.placing(f.place, f.long()))
	f.effects(1)
	f.states("done")
	f.outcomes(map[idem.Outcome]int{idem.OutcomeExecuted: 1, idem.OutcomeDuplicate: n - 1})
}

// errDeath is what a handler panics with.
var errDeath = errors.New("the worker dies")

// strike does something bad to one run in ten.
func strike() error {
	switch rand.IntN(30) {
	case 0:
		panic(errDeath)
	case 1:
		runtime.Goexit()
	case 2:
		return errBusiness
	}
	return nil
}

// crowd has workers deliver each of many keys several times, each delivery until it succeeds, and wants one answer for each
// key.
func (f *fixture[Tx]) crowd(d delivering) (keys int) {
	const deliveries, workers = 3, 8
	keys = 60
	queue := make(chan order, keys*deliveries)
	for range keys {
		o := fresh()
		for range deliveries {
			queue <- o
		}
	}
	close(queue)
	answers := map[order]map[receipt]int{}
	var lock sync.Mutex
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for o := range queue {
				r, err := redeliver(f.ctx, d, o)
				if err != nil {
					f.Errorf("%s: %v", o.ID, err)
					return
				}
				lock.Lock()
				if answers[o] == nil {
					answers[o] = map[receipt]int{}
				}
				answers[o][r]++
				lock.Unlock()
			}
		})
	}
	all.Wait()
	f.equal("keys", len(answers), keys)
	for o, got := range answers {
		if len(got) != 1 {
			f.Fatalf("%s has several answers: %v", o.ID, got)
		}
	}
	return keys
}

// redeliver delivers until a delivery succeeds.
func redeliver(ctx context.Context, d delivering, o order) (r receipt, err error) {
	for {
		left, err := outside(func() (err error) {
			r, err = d(ctx, o)
			return err
		})
		switch {
		case left == nil && err == nil:
			return r, nil
		case left != nil && left != exited && left != errDeath:
			return r, fmt.Errorf("a panic: %v", left)
		case err != nil && !errors.Is(err, errBusiness), ctx.Err() != nil:
			return r, errors.Join(err, ctx.Err())
		}
	}
}

func (f *fixture[Tx]) mishaps() {
	keys := f.crowd(f.placing(f.then(func(context.Context, Tx, order) error { return strike() }), f.long()))
	f.effects(keys)
	f.equal("rows", len(f.Rows()), keys)
	for _, r := range f.Rows() {
		f.equal("the state of "+r.Key, r.State, "done")
	}
}

func (f *fixture[Tx]) twoHandlers() {
	o, other := fresh(), fresh()
	other.Tenant, other.ID = "globex", o.ID // effects 06
	for range 2 {
		for _, d := range f.both(f.place) {
			f.result(d, o)
			f.result(d, other)
		}
	}
	f.effects(4)
	f.states("done", "done", "done", "done")
}

func (f *fixture[Tx]) sameResult() {
	u, o := f.unit(nil), fresh()
	first := f.result(u.do, o)
	for range 3 {
		f.equal("the repeat's result", f.result(u.do, o), first)
	}
	if first.Number <= 1<<53 || first.At.IsZero() {
		f.Fatalf("got %+v", first)
	}
	f.effects(1)
	f.outcomes(map[idem.Outcome]int{idem.OutcomeExecuted: 1, idem.OutcomeDuplicate: 3})
}

func (f *fixture[Tx]) noise() {
	u, o := f.unit(nil), fresh()
	first := f.result(u.do, o)
	o.Attempt = 7
	f.equal("the repeat's result", f.result(u.do, o), first)
	f.effects(1)
	seen := f.deliveries()
	f.equal("attempts", []int{seen[0].Attempt, seen[1].Attempt}, []int{1, 7})
}

// silent is a codec that writes nothing, as one for protobuf may for a zero message.
type silent struct{}

func (silent) Encode(any) ([]byte, error) { return nil, nil }
func (silent) Decode(data []byte, _ any) error {
	if len(data) > 0 {
		return errors.New("somebody has written something")
	}
	return nil
}

func (f *fixture[Tx]) emptyResult() {
	u, o := f.unit(nil, idem.WithCodec(silent{})), fresh()
	f.result(u.do, o)
	f.equal("the repeat's result", f.result(u.do, o), receipt{})
	f.effects(1)
}

// race has one delivery stop behind its effect, with n more that wait for it.
func (f *fixture[Tx]) race(n int, o order, opts ...idem.Option) (p *parked, first <-chan answered, others []<-chan answered) {
	f.Helper()
	p = newParked()
	d := f.placing(f.parking(p), opts...)
	first = f.deliver(f.ctx, d, o)
	f.await("the first delivery's effect", p.reached)
	for range n {
		others = append(others, f.deliver(f.ctx, d, o))
	}
	f.AwaitRivals(n)
	return p, first, others
}

func (f *fixture[Tx]) winnerRollsBack() {
	p, first, others := f.race(1, fresh(), f.long())
	p.letGo <- errBusiness
	if lost := <-first; lost.err != errBusiness { //nolint:errorlint // As it is.
		f.Fatalf("the handler's own error comes back as it is, and was %v", lost.err)
	}
	won := <-others[0]
	f.ok("the rival", won.err)
	f.equal("the rival's run", won.By, "run 2")
	f.effects(1)
	f.states("done")
	f.outcomes(map[idem.Outcome]int{idem.OutcomeError: 1, idem.OutcomeExecuted: 1})
}

func (f *fixture[Tx]) winnerCommits() {
	const rivals = 3
	p, first, others := f.race(rivals, fresh(), f.long())
	p.letGo <- nil
	won := <-first
	f.ok("the winner", won.err)
	for _, other := range others {
		repeat := <-other
		f.ok("a rival", repeat.err)
		f.equal("a rival's result", repeat.receipt, won.receipt)
	}
	f.effects(1)
	f.outcomes(map[idem.Outcome]int{idem.OutcomeExecuted: 1, idem.OutcomeDuplicate: rivals})
}

func (f *fixture[Tx]) firstOfThreeRollsBack() {
	p, first, others := f.race(2, fresh(), f.long())
	p.letGo <- errBusiness
	f.is((<-first).err, errBusiness)
	one, two := <-others[0], <-others[1]
	f.ok("a rival", one.err)
	f.ok("a rival", two.err)
	f.equal("the rivals' results", one.receipt, two.receipt)
	f.effects(1)
	f.states("done")
}

func (f *fixture[Tx]) waitIsBounded() {
	p, o := newParked(), fresh()
	d := f.placing(f.parking(p), idem.WithInFlightTimeout(100*time.Millisecond))
	first := f.deliver(f.ctx, d, o)
	f.await("the first delivery's effect", p.reached)
	const rivals = 3
	var others []<-chan answered
	for range rivals {
		others = append(others, f.deliver(f.ctx, d, o))
	}
	for _, other := range others {
		lost := <-other
		if busy := as[*idem.InProgressError](f, lost.err); busy.RetryAfter <= 0 {
			f.Errorf("retry after %s", busy.RetryAfter)
		}
		f.equal("the key", as[*idem.Error](f, lost.err).Key, "acme/"+o.ID)
	}
	f.eventually("only the winner has a connection", func() bool { return f.InUse() <= 1 })
	p.letGo <- nil
	won := <-first
	f.ok("the winner", won.err)
	f.equal("the repeat's result", f.result(d, o), won.receipt)
	f.effects(1)
}

func (f *fixture[Tx]) noWait() {
	p, o := newParked(), fresh()
	spec := specOf("Rush")
	spec.InFlight = idem.Fail
	d := idem.NewHandler(f.guard(idem.WithInFlightTimeout(10*f.patience)), spec, f.parking(p)).Do
	first := f.deliver(f.ctx, d, o)
	f.await("the first delivery's effect", p.reached)
	_, err := d(f.ctx, o)
	p.letGo <- nil
	as[*idem.InProgressError](f, err)
	won := <-first
	f.ok("the winner", won.err)
	f.equal("the repeat's result", f.result(d, o), won.receipt)
	f.effects(1)
}

func (f *fixture[Tx]) waitEndsWithContext() {
	p, o := newParked(), fresh()
	d := f.placing(f.parking(p), f.long())
	first := f.deliver(f.ctx, d, o)
	f.await("the first delivery's effect", p.reached)
	ctx, cancel := context.WithCancel(f.ctx)
	second := f.deliver(ctx, d, o)
	f.AwaitRivals(1)
	cancel()
	f.is((<-second).err, context.Canceled)
	p.letGo <- nil
	f.ok("the winner", (<-first).err)
	f.effects(1)
}

// A transaction that holds one key is in nobody's way who wants another.
func (f *fixture[Tx]) otherKeyGoesOn() {
	p := newParked()
	d := f.placing(f.parking(p), f.long())
	first := f.deliver(f.ctx, d, fresh())
	f.await("the first delivery's effect", p.reached)
	f.result(d, fresh())
	f.effects(1)
	p.letGo <- nil
	f.ok("the first", (<-first).err)
	f.effects(2)
}

func (f *fixture[Tx]) handlerFails() {
	o := fresh()
	var leave func() error
	d := f.both(f.then(func(context.Context, Tx, order) error {
		if leave == nil {
			return nil
		}
		return leave()
	}))
	for name, how := range map[string]func() error{
		"error":     func() error { return errBusiness },
		"panic":     func() error { panic(errDeath) },
		"nil panic": func() error { panic(nil) }, //nolint:govet // Go makes a *runtime.PanicNilError of it.
		"Goexit":    func() error { runtime.Goexit(); return nil },
	} {
		for _, d := range d {
			leave = how
			left, err := outside(func() error { _, err := d(f.ctx, o); return err })
			switch name {
			case "error":
				f.equal("the error", err, errBusiness)
			case "panic":
				f.equal("the panic", left, any(errDeath))
			case "nil panic":
				if _, is := left.(*runtime.PanicNilError); !is {
					f.Errorf("the panic was %v", left)
				}
			case "Goexit":
				f.equal("the exit", left, any(exited))
			}
			f.clean()
			f.eventually("the connection is back", func() bool { return f.InUse() == 0 })
		}
	}
	leave = nil
	for _, d := range d {
		f.result(d, o)
	}
	f.effects(2)
	f.outcomes(map[idem.Outcome]int{idem.OutcomeError: 8, idem.OutcomeExecuted: 2})
}

func (f *fixture[Tx]) contextOver() {
	o := fresh()
	ctx, cancel := context.WithCancel(f.ctx)
	cancelled := f.then(func(context.Context, Tx, order) error { cancel(); return nil })
	for _, d := range f.both(cancelled) {
		for range 2 { // in the handler, and then before the delivery
			_, err := d(ctx, o)
			f.is(err, context.Canceled)
			f.clean()
		}
	}
	f.equal("runs", f.runs.Load(), int64(1))
	f.result(f.placing(f.place), o)
	f.effects(1)
}

func (f *fixture[Tx]) retriesAreBounded() {
	for _, c := range []struct{ conflicts, runs int }{{2, 3}, {3, 3}} {
		o, ran := fresh(), 0
		keys := 0
		spec := specOf("Place")
		key := spec.Key
		spec.Key = func(o order) (string, error) { keys++; return key(o) }
		h := idem.NewHandler(f.guard(idem.WithRetries(2)), spec, f.then(func(ctx context.Context, tx Tx, _ order) error {
			if ran++; ran <= c.conflicts {
				return fmt.Errorf("wrapped: %w", f.Conflict(ctx, tx))
			}
			return nil
		}))
		before := f.Effects()
		_, err := h.Do(f.ctx, o)
		f.equal("runs", ran, c.runs)
		f.equal("the key is built once", keys, 1)
		if c.conflicts < c.runs {
			f.ok("the last retry", err)
			f.equal("effects", f.Effects(), before+1)
			continue
		}
		if err == nil {
			f.Fatal("the conflict that is not run again has to come back")
		}
		f.equal("effects", f.Effects(), before)
	}
	f.states("done")
	for _, d := range f.deliveries() {
		f.equal("retries", d.Retries, 2)
	}
}

// Twelve handlers write two rows, in either order: a deadlock, or a serialization failure.
func (f *fixture[Tx]) conflicts() {
	const n = 12
	d := f.placing(func(ctx context.Context, tx Tx, o order) (receipt, error) {
		names := []string{"a", "b"}
		if o.Total%2 == 1 {
			names = []string{"b", "a"}
		}
		for _, name := range names {
			if err := f.Update(ctx, tx, name); err != nil {
				return receipt{}, fmt.Errorf("update %s: %w", name, err)
			}
		}
		return f.place(ctx, tx, o)
	}, idem.WithRetries(200), f.long())
	var all []<-chan answered
	for i := range n {
		o := fresh()
		o.Total = int64(i)
		all = append(all, f.deliver(f.ctx, d, o))
	}
	for _, one := range all {
		f.ok("a delivery", (<-one).err)
	}
	f.effects(n)
	f.equal("the counters", []int{f.Counter("a"), f.Counter("b")}, []int{n, n})
	f.outcomes(map[idem.Outcome]int{idem.OutcomeExecuted: n})
}

func (f *fixture[Tx]) zeroKey() {
	u := f.unit(nil)
	for _, o := range []order{{}, {Tenant: "acme"}, {ID: "o"}} {
		f.wants(u.do, o, idem.ErrZeroKey)
		f.is(u.mark(f.ctx, o, receipt{}), idem.ErrZeroKey)
	}
	f.effects(0)
	f.states()
	f.outcomes(map[idem.Outcome]int{idem.OutcomeError: 3})
}

// Keys that a collation, a truncation or a separator would take for one.
func (f *fixture[Tx]) keysOfAnyBytes() {
	u := f.unit(nil)
	long := strings.Repeat("x", 300)
	all := []order{
		{Tenant: "a/b", ID: "c"}, {Tenant: "a", ID: "b/c"}, {Tenant: "a%2Fb", ID: "c"},
		{Tenant: "acme", ID: "1"}, {Tenant: "ACME", ID: "1"}, {Tenant: "acme ", ID: "1"}, {Tenant: "acme", ID: "1 "},
		{Tenant: "a\x00", ID: "1"}, {Tenant: "a\xff", ID: "1"}, {Tenant: "stra\u00dfe", ID: "1"}, {Tenant: "strasse", ID: "1"},
		{Tenant: "'; --", ID: `"\`}, {Tenant: long, ID: "1"}, {Tenant: long, ID: "2"}, {Tenant: long + "x", ID: "1"},
	}
	for _, o := range all {
		first := f.result(u.do, o)
		f.equal("the repeat's result", f.result(u.do, o), first)
	}
	f.effects(len(all))
	f.equal("rows", len(f.Rows()), len(all))
	for _, r := range f.Rows() {
		if len(r.Key) > 265 || strings.ContainsFunc(r.Key, func(c rune) bool { return c <= ' ' || c > '~' }) {
			f.Errorf("the key %q", r.Key)
		}
	}
}

func (f *fixture[Tx]) otherAmount() {
	u, o := f.unit(nil), fresh()
	f.result(u.do, o)
	changed := o
	changed.Total++
	f.wants(u.do, changed, idem.ErrPayloadMismatch)
	f.is(u.mark(f.ctx, changed, receipt{}), idem.ErrPayloadMismatch)
	f.result(u.do, o)
	f.effects(1)
	f.outcomes(map[idem.Outcome]int{idem.OutcomeExecuted: 1, idem.OutcomeMismatch: 1, idem.OutcomeDuplicate: 1})
}

func (f *fixture[Tx]) overTheLimit() {
	const limit = 10
	u, o := f.unit(nil, idem.WithResultLimit(limit), idem.WithCodec(sized(limit))), fresh()
	f.result(u.do, o)
	f.result(u.do, o)
	u, o = f.unit(nil, idem.WithResultLimit(limit), idem.WithCodec(sized(limit+1))), fresh()
	f.result(u.do, o)
	f.wants(u.do, o, idem.ErrResultOmitted)
	f.effects(2)
	f.outcomes(map[idem.Outcome]int{idem.OutcomeExecuted: 2, idem.OutcomeDuplicate: 2})
}

// sized is a codec whose results have so many bytes.
type sized int

func (n sized) Encode(any) ([]byte, error) { return make([]byte, n), nil }
func (n sized) Decode(data []byte, _ any) error {
	if len(data) != int(n) {
		return fmt.Errorf("%d bytes have become %d", int(n), len(data))
	}
	return nil
}

func (f *fixture[Tx]) noLongerDecodes() {
	u, o := f.unit(nil), fresh()
	f.result(u.do, o)
	f.Alter(Change{Result: []byte(`{"Number": "twelve"}`)})
	_, err := u.do(f.ctx, o)
	as[*idem.ResultError](f, err)
	f.equal("the key", as[*idem.Error](f, err).Key, "acme/"+o.ID)
	f.effects(1)
}

// broken is a codec that encodes nothing, as JSON does with NaN.
type broken struct{}

func (broken) Encode(any) ([]byte, error) { return nil, errBusiness }
func (broken) Decode([]byte, any) error   { return errBusiness }

func (f *fixture[Tx]) doesNotEncode() {
	f.wants(f.placing(f.place, idem.WithCodec(broken{})), fresh(), errBusiness)
	f.clean()
}

// atomicError is an error that handlers return as long as it is set.
type atomicError struct{ p atomic.Pointer[error] }

func (e *atomicError) set(err error) { e.p.Store(&err) }

func (e *atomicError) get(context.Context) error {
	if err := e.p.Load(); err != nil {
		return *err
	}
	return nil
}
