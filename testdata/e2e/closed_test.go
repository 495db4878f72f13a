package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/idemgen/idemgen/runtime/idem"
)

// A program closes its pool while deliveries come and run: they are errors that say so, or successes, and what failed can be
// delivered to the next program. No goroutine is left behind.
//
// Not parallel, as a whole: nobody could tell whose the goroutines are that are left behind.
func TestPoolClosed(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Run("every driver", func(t *testing.T) {
		for _, d := range drivers() {
			for name, test := range map[string]func(*testing.T, *shop, *shop){
				"before": closedBefore, "while a transaction runs": closedInTransaction,
			} {
				t.Run(d.name+" "+name, func(t *testing.T) {
					t.Parallel()
					d.need(t)
					s, next := d.twoPrograms(t)
					test(t, s, next)
				})
			}
		}
		t.Run("while a lease is held", func(t *testing.T) {
			t.Parallel()
			// All at once, since each takes as long as the guard tries to record an end.
			var rest []func()
			for _, d := range drivers() {
				if d.leftOut() == "" {
					s, next := d.twoPrograms(t)
					rest = append(rest, closedUnderLease(t, s, next))
				}
			}
			for _, end := range rest {
				end()
			}
		})
	})
	require.NoError(t, goleak.Find(before))
}

// twoPrograms are a shop and another one that takes over from it.
func (d driver) twoPrograms(t *testing.T) (s, next *shop) {
	t.Helper()
	s = d.open(t, setup{})
	return s, d.open(t, setup{same: s, options: []idem.Option{long}})
}

// close closes the pool of the code under test, and returns when nobody gets a connection any more. pgx waits for those that are
// in use; ended is closed when it has.
func (s *shop) close(t *testing.T) (ended <-chan struct{}) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if s.pool != nil {
			s.pool.Close()
		} else {
			assert.NoError(t, s.db.Close())
		}
	}()
	eventually(t, func() bool {
		if s.pool == nil {
			return s.db.PingContext(t.Context()) != nil
		}
		return s.pool.Ping(t.Context()) != nil
	})
	return done
}

func closedBefore(t *testing.T, s, next *shop) {
	<-s.close(t)
	outside := &ledger{}
	s.cards.charge, next.cards.charge = s.charges(outside), next.charges(outside)
	e := order()
	_, err := s.PlaceOrder(t.Context(), e)
	s.saysClosed(t, err)
	_, err = s.Charge(t.Context(), e)
	s.saysClosed(t, err)
	assert.Zero(t, outside.calls)
	next.clean(t)

	for range 2 {
		_, err = next.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		_, err = next.Charge(t.Context(), e)
		require.NoError(t, err)
	}
	assert.Equal(t, 1, next.effects(t))
	assert.Equal(t, 1, outside.calls)
	next.returned(t)
}

// saysClosed wants an error of idemgen's that says what is closed.
func (s *shop) saysClosed(t *testing.T, err error) {
	t.Helper()
	var wrapped *idem.Error
	require.ErrorAs(t, err, &wrapped)
	assert.NotEmpty(t, wrapped.Handler)
	assert.NotEmpty(t, wrapped.Key)
	assert.Contains(t, err.Error(), "closed")
}

// What runs has its connection, and can commit.
func closedInTransaction(t *testing.T, s, next *shop) {
	p := s.park(t)
	e := order()
	running := s.deliver(t.Context(), e)
	<-p.reached
	ended := s.close(t)
	_, err := s.PlaceOrder(t.Context(), order())
	s.saysClosed(t, err)
	p.letGo <- nil
	got := <-running
	<-ended
	require.NoError(t, got.err)
	again, err := next.PlaceOrder(t.Context(), e)
	require.NoError(t, err)
	assert.Equal(t, got.Receipt, again)
	assert.Equal(t, 1, next.effects(t))
	assert.Len(t, next.rows(t), 1)
	next.returned(t)
}

// What has a lease has no connection, and cannot record its end: nobody can tell its outcome until the lease is over, and then the
// outside system recognises the event. The second half of it is returned.
func closedUnderLease(t *testing.T, s, next *shop) func() {
	outside := &ledger{}
	reached, letGo := make(chan struct{}), make(chan struct{})
	s.cards.charge, next.cards.charge = parkedCharge(s.charges(outside), reached, letGo), next.charges(outside)
	e := order()
	done := make(chan error, 1)
	go func() {
		_, err := s.Charge(t.Context(), e)
		done <- err
	}()
	<-reached
	ended := s.close(t)
	close(letGo)
	return func() {
		err := <-done
		<-ended
		require.ErrorIs(t, err, idem.ErrCommitUnknown, s.name)
		s.saysClosed(t, err)
		_, err = next.Charge(t.Context(), e)
		require.NoError(t, err, s.name)
		assert.Equal(t, 2, outside.calls, s.name)
		assert.Len(t, outside.effects, 1, s.name)
		states, fences := next.states(t)
		assert.Equal(t, []string{"done"}, states, s.name)
		assert.Equal(t, 2, fences, s.name)
		next.returned(t)
	}
}
