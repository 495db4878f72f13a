package fault

import (
	"context"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// session is a connection whose COMMIT may not arrive, or not be answered. A plan that panics in it is a worker that dies:
// the engine closes the session on the way, and for the database that is what a broken connection is, a rollback.
type session[Tx any] struct {
	driver.Session[Tx]
	plan Plan
}

func (s session[Tx]) Commit(ctx context.Context, c *store.Completion) error {
	return s.plan.Commit(func() error { return s.Session.Commit(ctx, c) })
}

// Unwrap is the session as it was.
func (s session[Tx]) Unwrap() driver.Session[Tx] { return s.Session }
