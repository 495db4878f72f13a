package idem

import (
	"context"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/fault"
)

// WithFaults has deliveries go wrong. It is for package idemtest, whose harness has them go wrong on purpose: nobody else can
// name its argument's type, or make one.
func WithFaults(p fault.Plan) Option {
	return option(func(s *settings) error {
		s.faults = &p
		return nil
	})
}

// faulty is d with the faults that the options ask for; d itself where they ask for none.
func faulty[Tx any](d driver.Driver[Tx], s *settings) driver.Driver[Tx] {
	if s.faults == nil {
		return d
	}
	return fault.Driver(d, *s.faults)
}

// disturbed is a handler's function with the faults of its guard around it; run itself where there are none.
func disturbed[Tx, E, R any](g *Guard[Tx], run func(context.Context, Tx, E) (R, error)) func(context.Context, Tx, E) (R, error) {
	if g.settings.faults == nil || g.settings.faults.Run == nil {
		return run
	}
	around := g.settings.faults.Run
	return func(ctx context.Context, tx Tx, e E) (R, error) {
		result, err := around(ctx, false, func(ctx context.Context) (any, error) { return run(ctx, tx, e) })
		r, _ := result.(R) // nil comes with an error
		return r, err
	}
}

// disturbedLease is disturbed for a handler with a lease.
func disturbedLease[Tx, E, R any](g *Guard[Tx], run func(context.Context, E) (R, error)) func(context.Context, E) (R, error) {
	if g.settings.faults == nil || g.settings.faults.Run == nil {
		return run
	}
	around := g.settings.faults.Run
	return func(ctx context.Context, e E) (R, error) {
		result, err := around(ctx, true, func(ctx context.Context) (any, error) { return run(ctx, e) })
		r, _ := result.(R) // nil comes with an error
		return r, err
	}
}
