package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// The beginnings of the statements that ask for a key and end a run.
const (
	asksForKey = `INSERT INTO "idempotency_keys"`
	changesKey = `UPDATE "idempotency_keys"`
)

// lose has the answer to the next statement with this text in it get lost: it has been executed by then.
func (s *shop) lose(statement string) {
	if s.postgres {
		s.proxy.Lose(statement)
	} else {
		s.hook.Lose(statement)
	}
}

// eachLosing runs a test for each driver that can lose an answer.
func eachLosing(t *testing.T, test func(*testing.T, *shop)) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, seen(setup{}))
		if s.proxy == nil && s.hook == nil {
			// Its own tests do this.
			return
		}
		test(t, s)
	})
}

// A claim, or a take-over, whose answer is lost is asked for again, and known by its owner. Where the caller has gone meanwhile
// nothing runs and nothing is left held: the next delivery runs at once, although the lease is a minute.
func TestLease_ClaimWithoutAnswer(t *testing.T) {
	for name, statement := range map[string]string{"claim": asksForKey, "take-over": changesKey} {
		for _, gone := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, caller gone %t", name, gone), func(t *testing.T) {
				eachLosing(t, func(t *testing.T, s *shop) {
					a := s.charging(t)
					l := s.leased(t, time.Minute, setup{})
					e := order()
					fences := s.released(t, l, e, statement)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if gone {
						s.before(statement, cancel)
					}
					s.lose(statement)
					_, err := l.Do(ctx, e)
					states, fence := s.states(t)
					assert.Equal(t, fences, fence)
					if gone {
						require.ErrorIs(t, err, context.Canceled)
						assert.Equal(t, []string{"released"}, states)
						assert.Zero(t, a.count(t, "call"))
						_, err = l.Do(t.Context(), e)
					} else {
						assert.Equal(t, []string{"done"}, states)
					}
					require.NoError(t, err)
					assert.Equal(t, 1, a.count(t, "call"))
					s.returned(t)
				})
			})
		}
	}
}

// released leaves a row that has been given back, where the statement is a take-over's. It returns what the sum of the fences is
// to be after the next one.
func (s *shop) released(t *testing.T, l *charging, e events.OrderPlaced, statement string) int {
	if statement == asksForKey {
		return 1
	}
	charge := s.cards.charge
	s.cards.charge = func(context.Context, events.OrderPlaced) (events.Receipt, error) {
		return events.Receipt{}, errBusiness
	}
	_, err := l.Do(t.Context(), e)
	require.ErrorIs(t, err, errBusiness)
	s.cards.charge = charge
	return 2
}

// The end of a run whose answer is lost was recorded: the row says so, and the delivery is a success with its own result.
func TestLease_EndWithoutAnswer(t *testing.T) {
	eachLosing(t, func(t *testing.T, s *shop) {
		s.charging(t)
		l := s.leased(t, time.Minute, setup{})
		e := order()
		s.lose(changesKey)
		got, err := l.Do(t.Context(), e)
		require.NoError(t, err)
		again, err := l.Do(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, got, again)
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeSettled: 1, idem.OutcomeDuplicate: 1}, s.outcomes())
		s.returned(t)
	})
}

// A mark is one statement. If its answer is lost it is recorded all the same, with its result, and nobody has to know; and it
// may be given again.
func TestLease_MarkWithoutAnswer(t *testing.T) {
	eachLosing(t, func(t *testing.T, s *shop) {
		a := s.charging(t)
		e := order()
		before := events.Receipt{PlacedBy: "before"}
		s.lose(asksForKey)
		require.NoError(t, s.MarkCharge(t.Context(), e, before))
		states, _ := s.states(t)
		assert.Equal(t, []string{"done"}, states)
		require.NoError(t, s.MarkCharge(t.Context(), e, events.Receipt{PlacedBy: "again"}))
		got, err := s.Charge(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, before, got)
		assert.Zero(t, a.count(t, "call"))
		assert.Equal(t, 1, s.count(t, `SELECT count(*) FROM idempotency_keys WHERE expires_at IS NOT NULL AND lease_until IS NULL`))
		s.returned(t)
	})
}

// A claim, or a take-over, that is still on its way to the server when its caller has gone arrives after the delivery has ended,
// and cannot take the key any more. With lib/pq a delivery does not end before the server has answered.
func TestLease_ClaimArrivesLate(t *testing.T) {
	drivers := driversThat(func(d driver) bool { return d.postgres && d.name != "pq" })
	for name, statement := range map[string]string{"claim": asksForKey, "take-over": changesKey} {
		t.Run(name, func(t *testing.T) {
			each(t, drivers, func(t *testing.T, d driver) {
				s := d.open(t, seen(setup{}))
				a := s.charging(t)
				l := s.leased(t, time.Minute, setup{})
				e := order()
				s.released(t, l, e, statement)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				arrive := make(chan struct{})
				s.proxy.Before(statement, func() {
					cancel()
					<-arrive
				})
				_, err := l.Do(ctx, e)
				require.ErrorIs(t, err, context.Canceled)
				all := s.activity(t, `true`)
				close(arrive)
				// The server ends the connection that nobody listens to any more when it has done what came on it.
				eventually(t, func() bool { return s.activity(t, `true`) == all-1 })
				states, _ := s.states(t)
				assert.Equal(t, []string{"released"}, states)
				assert.Zero(t, a.count(t, "call"))
				_, err = l.Do(t.Context(), e)
				require.NoError(t, err)
				assert.Equal(t, 1, a.count(t, "call"))
				s.returned(t)
			})
		})
	}
}
