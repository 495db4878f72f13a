package e2e

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/idemtest"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/liteshop"
	"github.com/idemgen/idemgen/testdata/e2e/myshop"
	"github.com/idemgen/idemgen/testdata/e2e/pgxshop"
	"github.com/idemgen/idemgen/testdata/e2e/stdshop"
)

// inMemory are the generated constructors of each engine, without a database.
var inMemory = map[string]func(*cards, ...idem.Option) charger{
	"pgx":   func(c *cards, o ...idem.Option) charger { return pgxshop.NewIdempotentCards(c, nil, o...) },
	"std":   func(c *cards, o ...idem.Option) charger { return stdshop.NewIdempotentCards(c, nil, o...) },
	"maria": func(c *cards, o ...idem.Option) charger { return myshop.NewIdempotentCards(c, nil, o...) },
	"lite":  func(c *cards, o ...idem.Option) charger { return liteshop.NewIdempotentCards(c, nil, o...) },
}

// Generated code is tested without a database, and without waiting for its leases.
func TestInMemory_GeneratedLeases(t *testing.T) {
	t.Parallel()
	for name, open := range inMemory {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				keys, e := idemtest.InMemory(), order()
				calls, fail := 0, error(nil)
				c := &cards{
					charge: func(context.Context, events.OrderPlaced) (events.Receipt, error) {
						calls++
						return events.Receipt{Number: int64(calls)}, fail
					},
					wire: func(ctx context.Context, _ events.OrderPlaced) error {
						time.Sleep(time.Hour) // of a lease of a second, by synctest's clock
						return ctx.Err()
					},
				}
				service := open(c, keys)
				fail = errBusiness
				_, err := service.Charge(t.Context(), e)
				require.Same(t, errBusiness, err)
				fail = nil
				first, err := service.Charge(t.Context(), e)
				require.NoError(t, err)
				again, err := open(c, keys).Charge(t.Context(), e)
				require.NoError(t, err)
				assert.Equal(t, first, again)
				assert.Equal(t, 2, calls)
				other := e
				other.Total++
				_, err = service.Charge(t.Context(), other)
				require.ErrorIs(t, err, idem.ErrPayloadMismatch)

				long := make(chan error, 1)
				go func() { long <- service.Wire(t.Context(), e) }()
				time.Sleep(30 * time.Minute)
				require.ErrorAs(t, service.Wire(t.Context(), e), new(*idem.InProgressError))
				require.NoError(t, <-long)
				require.NoError(t, service.Wire(t.Context(), e))
			})
		})
	}
}

// Generated handlers with a transaction say what to do instead.
func TestInMemory_GeneratedTransactions(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]placer{
		"pgx":   pgxshop.NewIdempotentService(&pgxshop.Service{}, nil, idemtest.InMemory()),
		"std":   stdshop.NewIdempotentService(&stdshop.Service{}, nil, idemtest.InMemory()),
		"maria": myshop.NewIdempotentService(&myshop.Service{}, nil, idemtest.InMemory()),
		"lite":  liteshop.NewIdempotentService(&liteshop.Service{}, nil, idemtest.InMemory()),
	} {
		_, err := place.PlaceOrder(t.Context(), order())
		var wrapped *idem.Error
		require.True(t, errors.As(err, &wrapped), name)
		assert.Contains(t, err.Error(), "test a handler with a transaction against its database", name)
	}
}
