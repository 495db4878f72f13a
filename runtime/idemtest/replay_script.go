package idemtest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/fault"
	"github.com/idemgen/idemgen/runtime/store"
)

// script is what goes wrong with the deliveries of one handler. A nil function leaves things as they are.
type script struct {
	run    func(ctx context.Context, keys *leases, run func(context.Context) (any, error)) (any, error)
	commit func(commit func() error) error
	finish func(keys *leases, h store.Holder, finish func() (bool, error)) (bool, error)
}

// death is what a worker's goroutine panics with where the worker dies: nothing of the delivery comes after it. It is a
// panic, and not runtime.Goexit, for a Do that hands the event to another goroutine and waits for it.
type death struct{ when string }

func (d death) Error() string { return "idemtest: the worker dies " + d.when }

// errLost is an answer that does not come.
var errLost = errors.New("idemtest: the connection broke")

// open makes a handler with a script, as a worker process of its own.
func (p *player[E, R]) open(s script) Handler[E, R] {
	keys := &leases{script: s}
	plan := fault.Plan{
		Commit: s.commit,
		Keys: func(k driver.Keys) driver.Keys {
			keys.Keys = k
			return keys
		},
	}
	plan.Run = func(ctx context.Context, leased bool, run func(context.Context) (any, error)) (any, error) {
		p.leased.Store(leased)
		p.runs.Add(1)
		if s.run == nil {
			return run(ctx)
		}
		return s.run(ctx, keys, run)
	}
	h := p.c.Handler(idem.WithFaults(plan))
	if h == nil {
		p.t.Fatal("idemtest: Case.Handler returned nil")
	}
	return h
}

// leases are the statements of leases, which a script may disturb.
type leases struct {
	driver.Keys
	script script
	cut    atomic.Bool // renewals do not arrive any more
}

func (l *leases) Finish(ctx context.Context, e store.End) (bool, error) {
	finish := func() (bool, error) { return l.Keys.Finish(ctx, e) }
	if l.script.finish == nil {
		return finish()
	}
	return l.script.finish(l, e.Holder, finish)
}

func (l *leases) Renew(ctx context.Context, h store.Holder, d time.Duration) (bool, error) {
	if l.cut.Load() {
		return false, errLost
	}
	return l.Keys.Renew(ctx, h, d)
}

// lapse has a lease pass, as if its worker had been gone for so long: by the statement that renews it, for no time.
func (l *leases) lapse(ctx context.Context, h store.Holder) error {
	l.cut.Store(true)
	renewed, err := l.Keys.Renew(ctx, h, 0)
	if err == nil && !renewed {
		err = errors.New("it is another worker's already")
	}
	if err != nil {
		return fmt.Errorf("idemtest: the lease does not end: %w", err)
	}
	return nil
}

// holder is who holds the lease of the run that ctx belongs to.
func (l *leases) holder(ctx context.Context) (store.Holder, error) {
	run, ok := idem.FromContext(ctx)
	if !ok {
		return store.Holder{}, errors.New("idemtest: not in a run")
	}
	row, err := l.Lookup(ctx, run.Handler, run.Key)
	if err != nil {
		return store.Holder{}, fmt.Errorf("idemtest: look-up: %w", err)
	}
	return store.Holder{Handler: run.Handler, Key: run.Key, Owner: row.Owner, Fence: row.Fence}, nil
}
