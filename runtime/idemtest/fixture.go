package idemtest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"
)

// order and receipt are the suite's event and result.
type order struct {
	Tenant, ID string
	Total      int64
	Attempt    int
}

// receipt holds what a careless codec would round.
type receipt struct {
	Number int64
	Total  int64
	At     time.Time
	By     string
}

var orders atomic.Int64

// fresh is an order that nobody has sent before.
func fresh() order {
	return order{Tenant: "acme", ID: fmt.Sprintf("o-%d", orders.Add(1)), Total: 4200, Attempt: 1}
}

func specOf(name string) idem.Spec[order] {
	return idem.Spec[order]{
		Name:   "suite." + name,
		Window: 24 * time.Hour,
		Key: func(o order) (string, error) {
			var k idem.KeyBuilder
			k.String("Tenant", o.Tenant)
			k.String("ID", o.ID)
			return k.Key()
		},
		Fingerprint: func(o order) string {
			var f idem.FingerprintBuilder
			f.Int("Total", o.Total)
			return f.Sum()
		},
		Attempt: func(o order) int { return o.Attempt },
	}
}

// leased is a spec with a lease.
func leased(name string, d time.Duration) idem.Spec[order] {
	s := specOf(name)
	s.Lease = d
	return s
}

// fixture is what a scenario works with.
type fixture[Tx any] struct {
	*testing.T
	Place[Tx]
	ctx      context.Context
	patience time.Duration
	level    sql.IsolationLevel
	mode     mode

	runs    atomic.Int64
	outside atomic.Int64 // effects outside of the database
	lock    sync.Mutex
	seen    []idem.Delivery
	charges map[string]int // by external key
}

// guard makes a guard whose deliveries are seen.
func (f *fixture[Tx]) guard(opts ...idem.Option) *idem.Guard[Tx] {
	opts = append([]idem.Option{
		idem.WithObserver(idem.ObserverFunc(func(_ context.Context, d idem.Delivery) {
			f.lock.Lock()
			defer f.lock.Unlock()
			f.seen = append(f.seen, d)
		})),
		idem.WithIsolation(f.level),
	}, opts...)
	return f.Guard(opts...)
}

// long is for deliveries that are to wait until they are let go, however slow the machine.
func (f *fixture[Tx]) long() idem.Option { return idem.WithInFlightTimeout(f.patience) }

// delivering is a handler's Do.
type delivering func(context.Context, order) (receipt, error)

// body is what a handler does.
type body[Tx any] func(context.Context, Tx, order) (receipt, error)

// handler is a handler with a result.
func (f *fixture[Tx]) handler(g *idem.Guard[Tx], run body[Tx]) *idem.Handler[Tx, order, receipt] {
	return idem.NewHandler(g, specOf("Place"), run)
}

// placing is the delivery of one.
func (f *fixture[Tx]) placing(run body[Tx], opts ...idem.Option) delivering {
	return f.handler(f.guard(opts...), run).Do
}

// auditing is the delivery of a handler without a result.
func (f *fixture[Tx]) auditing(run body[Tx], opts ...idem.Option) delivering {
	h := idem.NewHandler(f.guard(opts...), specOf("Audit"), idem.NoResult(func(ctx context.Context, tx Tx, o order) error {
		_, err := run(ctx, tx, o)
		return err
	}))
	return func(ctx context.Context, o order) (receipt, error) {
		_, err := h.Do(ctx, o)
		return receipt{}, err
	}
}

// both are a handler with a result and one without.
func (f *fixture[Tx]) both(run body[Tx], opts ...idem.Option) []delivering {
	return []delivering{f.placing(run, opts...), f.auditing(run, opts...)}
}

// place is an honest body: one effect, and an answer that no other run gives.
func (f *fixture[Tx]) place(ctx context.Context, tx Tx, o order) (receipt, error) {
	what := sha256.Sum256([]byte(o.Tenant + "\x00" + o.ID)) // the key may have bytes that a text cannot
	if err := f.Effect(ctx, tx, hex.EncodeToString(what[:])); err != nil {
		return receipt{}, err
	}
	return f.answer(o), nil
}

func (f *fixture[Tx]) answer(o order) receipt {
	n := f.runs.Add(1)
	return receipt{Number: 1<<53 + n, Total: o.Total, At: time.Now().Round(0).UTC(), By: fmt.Sprintf("run %d", n)}
}

// then is an honest body with something after it.
func (f *fixture[Tx]) then(after func(context.Context, Tx, order) error) body[Tx] {
	return func(ctx context.Context, tx Tx, o order) (receipt, error) {
		r, err := f.place(ctx, tx, o)
		if err != nil {
			return receipt{}, err
		}
		if err := after(ctx, tx, o); err != nil {
			return receipt{}, err
		}
		return r, nil
	}
}

// charge is the body of a lease: one call of an outside system that knows a charge by its key.
func (f *fixture[Tx]) charge(ctx context.Context, o order) (receipt, error) {
	run, ok := idem.FromContext(ctx)
	if !ok || run.Key == "" || len(run.ExternalKey()) != 64 {
		return receipt{}, errors.New("the context has no run")
	}
	f.lock.Lock()
	if f.charges == nil {
		f.charges = map[string]int{}
	}
	f.charges[run.ExternalKey()]++
	f.lock.Unlock()
	f.outside.Add(1)
	return f.answer(o), nil
}

// charging is the delivery of a handler with a lease.
func (f *fixture[Tx]) charging(spec idem.Spec[order], run func(context.Context, order) (receipt, error), opts ...idem.Option) delivering {
	return idem.NewLease(f.guard(opts...), spec, run).Do
}

// unit is a handler of the scenario's mode.
type unit struct {
	do   delivering
	mark func(context.Context, order, receipt) error
}

// unit makes a handler of the scenario's mode, whose effect is followed by what after does, where that is not nil.
func (f *fixture[Tx]) unit(after func(context.Context) error, opts ...idem.Option) unit {
	return f.unitOf(specOf("Unit"), after, opts...)
}

func (f *fixture[Tx]) unitOf(spec idem.Spec[order], after func(context.Context) error, opts ...idem.Option) unit {
	if after == nil {
		after = func(context.Context) error { return nil }
	}
	g := f.guard(opts...)
	if f.mode == withLease {
		spec.Lease = 30 * time.Second
		l := idem.NewLease(g, spec, func(ctx context.Context, o order) (receipt, error) {
			r, err := f.charge(ctx, o)
			if err != nil {
				return r, err
			}
			return r, after(ctx)
		})
		return unit{l.Do, l.Mark}
	}
	h := idem.NewHandler(g, spec, f.then(func(ctx context.Context, _ Tx, _ order) error { return after(ctx) }))
	return unit{h.Do, h.Mark}
}

// left is how many effects there are, of the scenario's mode.
func (f *fixture[Tx]) left() int {
	if f.mode == withLease {
		return int(f.outside.Load())
	}
	return f.Effects()
}

// parked is a run that stops in its middle until it is let go; later runs go through.
type parked struct {
	reached chan struct{}
	letGo   chan error
	first   atomic.Bool
}

func newParked() *parked { return &parked{reached: make(chan struct{}), letGo: make(chan error, 1)} }

func (p *parked) stop(ctx context.Context) error {
	if !p.first.CompareAndSwap(false, true) {
		return nil
	}
	close(p.reached)
	select {
	case err := <-p.letGo:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// parking is an honest body that stops behind its effect.
func (f *fixture[Tx]) parking(p *parked) body[Tx] {
	return f.then(func(context.Context, Tx, order) error { return p.stop(f.ctx) })
}

// await waits for a channel to be closed.
func (f *fixture[Tx]) await(what string, c <-chan struct{}) {
	f.Helper()
	select {
	case <-c:
	case <-time.After(f.patience):
		f.Fatalf("%s: it never came", what)
	}
}

// answered is what a delivery in another goroutine has returned.
type answered struct {
	receipt
	err error
}

// deliver delivers in another goroutine.
func (f *fixture[Tx]) deliver(ctx context.Context, d delivering, o order) <-chan answered {
	done := make(chan answered, 1)
	go func() {
		r, err := d(ctx, o)
		done <- answered{r, err}
	}()
	return done
}

// result is what a delivery returns that has to succeed.
func (f *fixture[Tx]) result(d delivering, o order) receipt {
	f.Helper()
	r, err := d(f.ctx, o)
	f.ok("the delivery", err)
	return r
}

// wants delivers, and wants an error of a kind.
func (f *fixture[Tx]) wants(d delivering, o order, target error) {
	f.Helper()
	r, err := d(f.ctx, o)
	f.is(err, target)
	f.equal("the result beside an error", r, receipt{})
}

func (f *fixture[Tx]) ok(what string, err error) {
	f.Helper()
	if err != nil {
		f.Fatalf("%s: %v", what, err)
	}
}

func (f *fixture[Tx]) is(err, target error) {
	f.Helper()
	if !errors.Is(err, target) {
		f.Fatalf("got the error %v, want %v", err, target)
	}
}

// as looks for an error of a type.
func as[E error](t testing.TB, err error) (e E) {
	t.Helper()
	if !errors.As(err, &e) {
		t.Fatalf("got the error %v (%T), want a %T", err, err, e)
	}
	return e
}

func (f *fixture[Tx]) equal(what string, got, want any) {
	f.Helper()
	if !reflect.DeepEqual(got, want) {
		f.Fatalf("%s: got %+v, want %+v", what, got, want)
	}
}

// effects says how many effects there have to be.
func (f *fixture[Tx]) effects(want int) {
	f.Helper()
	f.equal("effects", f.left(), want)
}

// outcomes says how the deliveries have to have ended.
func (f *fixture[Tx]) outcomes(want map[idem.Outcome]int) {
	f.Helper()
	f.lock.Lock()
	defer f.lock.Unlock()
	got := map[idem.Outcome]int{}
	for _, d := range f.seen {
		got[d.Outcome]++
	}
	f.equal("outcomes", got, want)
}

// deliveries are what the observer has been told.
func (f *fixture[Tx]) deliveries() []idem.Delivery {
	f.lock.Lock()
	defer f.lock.Unlock()
	return slices.Clone(f.seen)
}

// states says which states the rows have to be in.
func (f *fixture[Tx]) states(want ...string) {
	f.Helper()
	var got []string
	for _, r := range f.Rows() {
		got = append(got, r.State)
	}
	slices.Sort(got)
	f.equal("states", strings.Join(got, " "), strings.Join(want, " "))
}

// only is the only row.
func (f *fixture[Tx]) only() Row {
	f.Helper()
	rows := f.Rows()
	if len(rows) != 1 {
		f.Fatalf("got the rows %+v, want one", rows)
	}
	return rows[0]
}

// clean says that nothing is left of a delivery.
func (f *fixture[Tx]) clean() {
	f.Helper()
	f.states()
	f.effects(0)
}

// expire lets all rows be past their window.
func (f *fixture[Tx]) expire() { f.Alter(Change{ExpiresIn: span(-time.Second)}) }

func span(d time.Duration) *time.Duration { return &d }

// eventually polls until the condition holds.
func (f *fixture[Tx]) eventually(what string, condition func() bool) {
	f.Helper()
	end := time.After(f.patience)
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for !condition() {
		select {
		case <-poll.C:
		case <-end:
			f.Fatalf("it never came: %s", what)
		}
	}
}

// exited is what outside returns for a goroutine that ended without a panic.
const exited = "runtime.Goexit"

// outside calls do in a goroutine of its own and says how it was left: by nothing (nil), by Goexit, or by a panic, as
// recovered.
func outside(do func() error) (left any, err error) {
	done := make(chan struct{})
	go func() {
		left = exited
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				left = r
			}
		}()
		err = do()
		left = nil
	}()
	<-done
	return left, err
}

// errBusiness is a handler's own error.
var errBusiness = errors.New("out of stock")
