// Package fault has the deliveries of a guard go wrong, for package idemtest: a worker dies at COMMIT, an answer is lost, a
// handler panics.
//
// It sits between the engine (package idem) and a driver, and around a handler's function, so that neither the handler nor
// the driver is changed for it. A guard without a [Plan] has nothing of it in its way: the plan is put in when the guard and
// its handlers are made, or not at all. The package is internal, and only idemtest makes plans: no program can be started
// with one by mistake.
package fault

import (
	"context"

	"github.com/idemgen/idemgen/runtime/internal/driver"
)

// Plan is what goes wrong. A nil function leaves things as they are. The functions are called by many goroutines at once.
type Plan struct {
	// Run is around a handler's function, which it calls by run or not at all. What it returns in the function's place has
	// to be the function's result, or nil with an error. Leased says that the handler has a lease and no transaction.
	Run func(ctx context.Context, leased bool, run func(context.Context) (any, error)) (any, error)
	// Commit is around the completion of the claim and COMMIT.
	Commit func(commit func() error) error
	// Keys is put before the statements of leases.
	Keys func(driver.Keys) driver.Keys

	// An unexported field makes this a type that nobody else can write down, not even without its name.
	_ struct{}
}

// Driver puts a plan before a driver.
func Driver[Tx any](d driver.Driver[Tx], p Plan) driver.Driver[Tx] { return faulty[Tx]{d, p} }

type faulty[Tx any] struct {
	driver.Driver[Tx]
	plan Plan
}

// Acquire takes a connection whose COMMIT is the plan's. That of a transaction of the caller's (Join) is the caller's.
func (f faulty[Tx]) Acquire(ctx context.Context) (driver.Session[Tx], error) {
	s, err := f.Driver.Acquire(ctx)
	if err != nil || f.plan.Commit == nil {
		return s, err
	}
	return session[Tx]{s, f.plan}, nil
}

// Keys are the statements of leases as the plan has them.
func (f faulty[Tx]) Keys() driver.Keys {
	k := f.Driver.Keys()
	if f.plan.Keys == nil {
		return k
	}
	return f.plan.Keys(k)
}

// Unwrap is the driver as it was. Transitions without a key run on it, undisturbed.
func (f faulty[Tx]) Unwrap() driver.Driver[Tx] { return f.Driver }
