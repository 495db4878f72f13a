package e2e

import (
	"context"
	"database/sql"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// crowd delivers a few keys many times at once, and wants one effect of each and one result for all of its deliveries.
func (s *shop) crowd(t *testing.T) {
	t.Helper()
	const keys, deliveries = 8, 8
	orders := make([]events.OrderPlaced, keys)
	for i := range orders {
		orders[i] = order()
	}
	var got [keys][deliveries]answered
	var all sync.WaitGroup
	for d := range deliveries {
		for k := range keys {
			all.Go(func() { got[k][d].Receipt, got[k][d].err = s.PlaceOrder(t.Context(), orders[k]) })
		}
	}
	all.Wait()
	for _, answers := range got {
		for _, one := range answers {
			require.NoError(t, one.err)
			assert.Equal(t, answers[0].Receipt, one.Receipt)
		}
	}
	assert.Equal(t, keys, s.effects(t))
	assert.Len(t, s.rows(t), keys)
	assert.Equal(t, map[idem.Outcome]int{idem.OutcomeExecuted: keys, idem.OutcomeDuplicate: keys * (deliveries - 1)}, s.outcomes())
	s.returned(t)
}

// A transaction that takes the lock when it begins meets its rival there, before the claim.
func TestLite_BeginImmediate(t *testing.T) {
	for _, begin := range []string{"immediate", "exclusive"} {
		t.Run(begin, func(t *testing.T) {
			eachSQLite(t, func(t *testing.T, d driver) {
				for _, journal := range journals {
					t.Run(journal, func(t *testing.T) {
						t.Parallel()
						s := d.open(t, setup{journal: journal, begin: begin, options: []idem.Option{long}})
						s.crowd(t)
						assert.EqualValues(t, 8, s.runs.Load(), "a handler ran in vain")

						// A rival that is told so at BEGIN waits, and may not.
						p := s.park(t)
						first := s.deliver(t.Context(), order())
						<-p.reached
						e := order()
						_, err := s.RushOrder(t.Context(), &e)
						require.ErrorAs(t, err, new(*idem.InProgressError))
						second := s.deliver(t.Context(), order())
						s.awaitRivals(t, 1)
						p.letGo <- nil
						require.NoError(t, (<-first).err)
						require.NoError(t, (<-second).err)
						s.returned(t)
					})
				}
			})
		})
	}
}

// In a shared cache connections meet locks of single tables, of readers too, and no patience of SQLite's helps
// (SQLITE_LOCKED, SQLITE_LOCKED_SHAREDCACHE).
func TestLite_SharedCache(t *testing.T) {
	eachSQLite(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{shared: true, options: []idem.Option{long}})
		s.crowd(t)
		a := s.charging(t)
		e := order()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				_, err := s.Charge(t.Context(), e)
				assert.NoError(t, err)
			})
		}
		all.Wait()
		assert.Equal(t, 1, a.count(t, "call"))
		s.returned(t)
	})
}

// Nor is a lock that a new connection meets, in a statement of its DSN's, the end of a transition.
func TestLite_TransitionMeetsALockAtConnect(t *testing.T) {
	eachSQLite(t, func(t *testing.T, d driver) {
		for _, journal := range journals {
			t.Run(journal, func(t *testing.T) {
				t.Parallel()
				o := openOrders(t, d, setup{journal: journal, options: []idem.Option{long}})
				o.db.SetMaxIdleConns(-1)
				ctx := t.Context()
				for _, deliver := range []func(context.Context, events.Moved) error{o.Confirm, o.JustConfirm} {
					id := o.order(t, "pending")
					lock, err := o.look.Conn(ctx)
					require.NoError(t, err)
					_, err = lock.ExecContext(ctx, "BEGIN EXCLUSIVE")
					require.NoError(t, err)
					got := make(chan error, 1)
					go func() { got <- deliver(ctx, moved(id)) }()
					o.awaitRivals(t, 1)
					_, err = lock.ExecContext(ctx, "COMMIT")
					require.NoError(t, err)
					require.NoError(t, lock.Close())
					require.NoError(t, <-got)
					assert.Equal(t, "confirmed 2", o.found(t, id))
				}
			})
		}
	})
}

// A caller's transaction that has read before another one wrote can no longer write (SQLITE_BUSY_SNAPSHOT). The delivery in it is
// in progress for all that one can tell, and the caller has to begin anew.
func TestLite_StaleSnapshot(t *testing.T) {
	eachSQLite(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		e := order()
		c := s.Begin(t)
		_, err := c.tx.Int(t.Context(), `SELECT count(*) FROM effects`)
		require.NoError(t, err)
		s.exec(t, `INSERT INTO once (what) VALUES ('written meanwhile')`)
		_, err = c.tx.Exec(t.Context(), `INSERT INTO once (what) VALUES ('too late')`)
		require.Error(t, err)
		require.Equal(t, 517, s.hook.Code(err))

		_, err = c.place(t.Context(), e)
		require.ErrorAs(t, err, new(*idem.InProgressError))
		require.NoError(t, c.rollback(t.Context()))
		s.clean(t)

		c = s.Begin(t)
		_, err = c.place(t.Context(), e)
		require.NoError(t, err)
		require.NoError(t, c.commit(t.Context()))
		assert.Equal(t, 1, s.effects(t))
	})
}

// The same in a handler, which the guard runs again: its own transaction has the lock since the claim, but a second connection's
// does not, and a handler that returns that error is told by its code.
func TestLite_StaleSnapshotOfTheHandlers(t *testing.T) {
	eachSQLite(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		runs := 0
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			if runs++; runs == 1 {
				return events.Receipt{}, s.hook.Error(517)
			}
			return s.receipt(ctx, tx, e)
		}
		_, err := s.PlaceOrder(t.Context(), order())
		require.NoError(t, err)
		assert.Equal(t, 2, runs)
		assert.Equal(t, 1, s.effects(t))
	})
}

// With a patience of SQLite's own, as drivers have it by default or by advice, rivals wait in SQLite, and nothing else changes.
func TestLite_Patience(t *testing.T) {
	eachSQLite(t, func(t *testing.T, d driver) {
		for _, begin := range []string{"", "immediate"} {
			t.Run("begin "+begin, func(t *testing.T) {
				t.Parallel()
				s := d.open(t, setup{begin: begin, patient: true, options: []idem.Option{long}})
				s.crowd(t)
				var before, after int
				require.NoError(t, s.db.QueryRowContext(t.Context(), `PRAGMA busy_timeout`).Scan(&before))
				_, err := s.PlaceOrder(t.Context(), order())
				require.NoError(t, err)
				require.NoError(t, s.db.QueryRowContext(t.Context(), `PRAGMA busy_timeout`).Scan(&after))
				assert.Equal(t, before, after)
				assert.Positive(t, before)
			})
		}
	})
}

// A context that ends while SQLite waits for another writer is heard when that wait is over; nothing is left of the delivery.
func TestLite_ContextOverInTheWait(t *testing.T) {
	eachSQLite(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{begin: "immediate"})
		writer, err := s.look.BeginTx(t.Context(), &sql.TxOptions{})
		require.NoError(t, err)
		_, err = writer.ExecContext(t.Context(), `INSERT INTO once (what) VALUES ('written')`)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		met := s.hook.Busy()
		waiting := s.deliver(ctx, order())
		eventually(t, func() bool { return s.hook.Busy() > met })
		cancel()
		require.ErrorIs(t, (<-waiting).err, context.Canceled)
		require.NoError(t, writer.Rollback())
		s.clean(t)
		s.returned(t)
	})
}
