package e2e

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// oneConnection makes a pool that never pings, so that every round trip is the delivery's own.
func oneConnection(config *pgxpool.Config) {
	config.MaxConns = 1
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
}

// The cost of a guard on pgx, counted at the wire on a warm connection: a delivery whose handler sends one statement
// makes as many round trips as the bare transaction, and a repeat makes two.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	driverOf("pgx").need(t)
	s := openPGX(t, setup{proxied: true, pool: oneConnection})
	ctx := t.Context()
	e := order()
	// Warm: each statement has been prepared once.
	for range 2 {
		_, err := s.PlaceOrder(ctx, e)
		require.NoError(t, err)
		require.NoError(t, s.AuditOrder(ctx, e))
	}
	trips := func(deliver func() error) int {
		s.proxy.Count()
		require.NoError(t, deliver())
		return s.proxy.RoundTrips()
	}
	placed := func(e events.OrderPlaced) func() error {
		return func() error {
			_, err := s.PlaceOrder(ctx, e)
			return err
		}
	}

	bare := trips(func() error {
		tx, err := s.pool.Begin(ctx)
		if err != nil {
			return err
		}
		if err := s.effect(ctx, pgxTx{tx}, "bare"); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
	require.Equal(t, 3, bare, "BEGIN, statement, COMMIT: if not, the proxy counts wrong")

	assert.Equal(t, 3, trips(placed(order())), "with a result")
	assert.Equal(t, 2, trips(placed(e)), "a repeat with a result")
	assert.Equal(t, 3, trips(func() error { return s.AuditOrder(ctx, order()) }), "without a result")
	assert.Equal(t, 2, trips(func() error { return s.AuditOrder(ctx, e) }), "a repeat without a result")

	// A lease costs its claim and its end, and a repeat the claim and a look.
	s.cards = cards{charge: func(context.Context, events.OrderPlaced) (events.Receipt, error) { return events.Receipt{}, nil }}
	charged := func(e events.OrderPlaced) func() error {
		return func() error {
			_, err := s.Charge(ctx, e)
			return err
		}
	}
	for range 2 {
		require.NoError(t, charged(e)())
	}
	assert.Equal(t, 2, trips(charged(order())), "with a lease")
	assert.Equal(t, 2, trips(charged(e)), "a repeat with a lease")

	// A handler's error costs the claim, its statement and a ROLLBACK.
	s.auditOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) error {
		if err := s.effect(ctx, tx, "in vain"); err != nil {
			return err
		}
		return errBusiness
	}
	s.proxy.Count()
	assert.Same(t, errBusiness, s.AuditOrder(ctx, order()))
	assert.Equal(t, 3, s.proxy.RoundTrips(), "a handler that fails")
}
