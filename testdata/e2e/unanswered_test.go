package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// The end of a lease that was recorded and not answered is found in the row. It must not look as if it had been lost, which it
// would where the statement was executed a second time in silence: lib/pq has database/sql do that.
func TestLease_FinishUnanswered(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		s := d.open(t, seen(setup{options: []idem.Option{long}}))
		a := s.charging(t)
		e := order()
		s.proxy.Lose("-- name: Finish")
		first, err := s.Charge(t.Context(), e)
		require.NoError(t, err)
		again, err := s.Charge(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, first, again)
		assert.Equal(t, 1, a.count(t, "call"))
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeSettled: 1, idem.OutcomeDuplicate: 1}, s.outcomes())
		states, fences := s.states(t)
		assert.Equal(t, []string{"done"}, states)
		assert.Equal(t, 1, fences)
		s.returned(t)
	})
}

// A renewal without an answer costs nothing: the next one is on another connection.
func TestLease_RenewalUnanswered(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		s := d.open(t, seen(setup{options: []idem.Option{long}}))
		a := s.charging(t)
		reached, letGo := make(chan struct{}), make(chan struct{})
		charge := s.cards.charge
		s.cards.charge = parkedCharge(charge, reached, letGo)
		e := order()
		done := make(chan answered, 1)
		go func() {
			r, err := s.Charge(t.Context(), e)
			done <- answered{r, err}
		}()
		<-reached
		s.proxy.Lose("-- name: Renew")
		first := s.count(t, s.leaseEnd())
		eventually(t, func() bool { return s.count(t, s.leaseEnd()) > first+1_000_000 })
		close(letGo)
		require.NoError(t, (<-done).err)
		assert.Equal(t, 1, a.count(t, "call"))
		states, fences := s.states(t)
		assert.Equal(t, []string{"done"}, states)
		assert.Equal(t, 1, fences)
		s.returned(t)
	})
}

// All idle connections are broken, as after a restart. Through database/sql that costs no delivery of a handler with a
// transaction: what is broken is found out by BEGIN, before anything was done. (On pgx the pool looks after a connection that
// was idle for a second, and one that was not may cost a delivery.)
func TestIdleConnectionsBroken(t *testing.T) {
	some := driversThat(func(d driver) bool { return d.code == "std" })
	each(t, some, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{long}})
		s.db.SetMaxIdleConns(poolSize)
		const n = 8
		entered, letGo := make(chan struct{}, n), make(chan struct{})
		honest := s.placeOrder
		s.placeOrder = parkedOrder(honest, entered, letGo)
		var all []<-chan answered
		for range n {
			all = append(all, s.deliver(t.Context(), order()))
		}
		for range n {
			<-entered
		}
		close(letGo)
		for _, one := range all {
			require.NoError(t, (<-one).err)
		}
		s.returned(t)
		require.GreaterOrEqual(t, s.activity(t, `state = 'idle'`), n)

		s.placeOrder = honest
		s.terminateAll(t)
		for range n {
			_, err := s.PlaceOrder(t.Context(), order())
			require.NoError(t, err)
		}
		assert.Equal(t, 2*n, s.effects(t))
		s.returned(t)
	})
}

// parkedCharge says when it is there, and goes on when it is let go.
func parkedCharge(then charge, reached chan<- struct{}, letGo <-chan struct{}) charge {
	return func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
		close(reached)
		<-letGo
		return then(ctx, e)
	}
}

type charge = func(context.Context, events.OrderPlaced) (events.Receipt, error)

// parkedOrder says each time that it is there, and goes on when it is let go.
func parkedOrder(then placeBody, reached chan<- struct{}, letGo <-chan struct{}) placeBody {
	return func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
		r, err := then(ctx, tx, e)
		reached <- struct{}{}
		<-letGo
		return r, err
	}
}

type placeBody = func(context.Context, Tx, events.OrderPlaced) (events.Receipt, error)

// The network is silent and the delivery's context ends. pgx goes by the context. lib/pq waits for an answer whatever the context
// says, and goes by it when the network is back.
func TestSilentNetwork(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{proxied: true, options: []idem.Option{long}})
		_, err := s.PlaceOrder(t.Context(), order())
		require.NoError(t, err)
		e := order()
		s.proxy.Stall()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		delivered := s.deliver(ctx, e)
		eventually(t, func() bool { return s.proxy.Stalled() > 0 })
		cancel()
		if d.name == "pq" {
			s.proxy.Resume()
		}
		require.ErrorIs(t, (<-delivered).err, context.Canceled)
		s.proxy.Resume()
		_, err = s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, 2, s.effects(t))
		s.returned(t)
	})
}
