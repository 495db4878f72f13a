package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// The database is away for longer than the lease: the handler's context ends with ErrLeaseLost by the worker's own clock, and
// the key is free when the database is back.
func TestLease_DatabaseAwayForLonger(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{proxied: true, options: []idem.Option{long}})
		a := s.charging(t)
		e := order()
		charge := s.cards.charge
		s.cards.charge = func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
			r, err := charge(ctx, e)
			s.proxy.Stall()
			<-ctx.Done()
			assert.Equal(t, idem.ErrLeaseLost, context.Cause(ctx))
			s.proxy.Resume()
			return r, errors.Join(err, ctx.Err())
		}
		_, err := s.Charge(t.Context(), e)
		require.ErrorIs(t, err, idem.ErrLeaseLost)
		require.ErrorIs(t, err, context.Canceled)

		s.cards.charge = charge
		got, err := s.Charge(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, "run 2", got.PlacedBy)
		states, fences := s.states(t)
		assert.Equal(t, []string{"done"}, states)
		assert.Equal(t, 2, fences)
		assert.Equal(t, 1, a.count(t, "charge"))
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeLeaseLost: 1, idem.OutcomeExecuted: 1}, s.outcomes())
		s.returned(t)
	})
}

// It is away for less than the lease, until a renewal has been given up: another one arrives in time, and the handler goes on
// and completes.
func TestLease_DatabaseAwayForLess(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{proxied: true})
		reached := make(chan struct{})
		s.cards.charge = func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
			before := s.count(t, s.leaseEnd())
			s.proxy.Stall()
			// The renewal, and what comes after it has been given up.
			eventually(t, func() bool { return s.proxy.Stalled() > 1 })
			s.proxy.Resume()
			eventually(t, func() bool { return s.count(t, s.leaseEnd()) > before })
			close(reached)
			return s.answer(e), ctx.Err()
		}
		// The first renewal is due after 4 s and is given up after 8, and the lease is lost after 10.8.
		l := s.leased(t, 12*time.Second, setup{})
		e := order()
		got, err := l.Do(t.Context(), e)
		require.NoError(t, err)
		<-reached
		again, err := l.Do(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, got, again)
		states, fences := s.states(t)
		assert.Equal(t, []string{"done"}, states)
		assert.Equal(t, 1, fences)
		s.returned(t)
	})
}

// It is away when the handler has ended, and comes back in time: the end is recorded.
func TestLease_DatabaseAwayAtTheEnd(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{proxied: true})
		s.cards.charge = func(_ context.Context, e events.OrderPlaced) (events.Receipt, error) {
			s.proxy.Stall()
			return s.answer(e), nil
		}
		l := s.leased(t, time.Minute, setup{})
		e := order()
		first := charged(t.Context(), l.Do, e)
		eventually(t, func() bool { return s.proxy.Stalled() > 0 })
		s.proxy.Resume()
		got := <-first
		require.NoError(t, got.err)
		again, err := l.Do(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, got.Receipt, again)
		assert.EqualValues(t, 1, s.runs.Load())
		s.returned(t)
	})
}

// Handlers that hold all connections of the pool keep it away from the renewals. The lease is lost and the handler is told,
// rather than another run beginning beside it; a run that has ended well meanwhile is recorded, since nobody has taken over.
func TestLease_PoolExhausted(t *testing.T) {
	for _, well := range []bool{false, true} {
		t.Run(fmt.Sprintf("ends well %t", well), func(t *testing.T) {
			eachDriver(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{pool: oneConnection, options: []idem.Option{long}})
				if s.db != nil {
					s.db.SetMaxOpenConns(1)
				}
				s.cards.charge = func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
					giveBack := s.take(t)
					defer giveBack()
					<-ctx.Done()
					assert.Equal(t, idem.ErrLeaseLost, context.Cause(ctx))
					if well {
						return s.answer(e), nil
					}
					return events.Receipt{}, ctx.Err()
				}
				e := order()
				_, err := s.Charge(t.Context(), e)
				states, _ := s.states(t)
				if well {
					require.NoError(t, err)
					assert.Equal(t, []string{"done"}, states)
				} else {
					require.ErrorIs(t, err, idem.ErrLeaseLost)
					assert.Equal(t, []string{"released"}, states)
				}
				s.charging(t)
				_, err = s.Charge(t.Context(), e)
				require.NoError(t, err)
				assert.EqualValues(t, 1, s.runs.Load())
				s.returned(t)
			})
		})
	}
}

// take takes one connection out of the code's pool.
func (s *shop) take(t *testing.T) (giveBack func()) {
	if s.pool != nil {
		conn, err := s.pool.Acquire(t.Context())
		require.NoError(t, err)
		return conn.Release
	}
	conn, err := s.db.Conn(t.Context())
	require.NoError(t, err)
	return func() { assert.NoError(t, conn.Close()) }
}

// The primary that a run's end reaches takes no writes any more, as after a failover. It is asked again until it does, or
// another one answers: the effect has taken place.
func TestLease_EndMeetsAReadOnlyServer(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		set := seen(setup{database: []string{"SET statement_timeout = 0"}}) // one of its own
		s := d.open(t, set)
		const end = `UPDATE "idempotency_keys"`
		refused := make(chan struct{})
		writable := func(yes bool) {
			s.exec(t, fmt.Sprintf(`ALTER DATABASE %s SET default_transaction_read_only = %t`, s.place, !yes))
			s.terminateAll(t)
		}
		s.proxy.Before(end, func() {
			writable(false)
			s.proxy.Before(end, func() { // on a new connection: it arrives, and is refused
				s.proxy.Before(end, func() {
					close(refused)
					writable(true)
				})
			})
		})
		s.cards.charge = func(_ context.Context, e events.OrderPlaced) (events.Receipt, error) { return s.answer(e), nil }
		l := s.leased(t, time.Minute, setup{})
		e := order()
		got, err := l.Do(t.Context(), e)
		require.NoError(t, err)
		<-refused
		again, err := l.Do(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, got, again)
		assert.EqualValues(t, 1, s.runs.Load())
		s.returned(t)
	})
}
