package e2e

import (
	"context"
	"errors"
	"sync"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// bank is an outside system that knows a charge by the key that it is given.
type bank struct {
	mu      sync.Mutex
	calls   int
	charges map[string]string // order by key
	keyOf   func(idem.Run, int) string
}

func (b *bank) charge(ctx context.Context, e events.OrderPlaced) error {
	run, ok := idem.FromContext(ctx)
	if !ok {
		return errors.New("there is no run")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	key := run.ExternalKey()
	if b.keyOf != nil {
		key = b.keyOf(run, b.calls)
	}
	b.charges[key] = e.OrderID.String()
	return nil
}

// count is how many charges an order has.
func (b *bank) count(_ context.Context, e events.OrderPlaced) (n int, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, order := range b.charges {
		if order == e.OrderID.String() {
			n++
		}
	}
	return n, nil
}
