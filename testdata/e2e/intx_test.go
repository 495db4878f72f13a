package e2e

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// caller is a transaction that the test has begun, and what it can have done in it.
type caller struct {
	tx               Tx
	place            func(context.Context, events.OrderPlaced) (events.Receipt, error)
	audit            func(context.Context, events.OrderPlaced) error
	commit, rollback func(context.Context) error
}

func (s *shop) beginSQL(t *testing.T) (*sql.Tx, caller) {
	t.Helper()
	tx, err := s.db.BeginTx(context.WithoutCancel(t.Context()), nil)
	require.NoError(t, err)
	return tx, caller{
		tx:       sqlTx{s.driver, tx},
		commit:   func(context.Context) error { return tx.Commit() },
		rollback: func(context.Context) error { return tx.Rollback() },
	}
}

// Claim, effects and result are in the caller's transaction and share its fate.
func TestInTx_SharesTheCallersFate(t *testing.T) {
	for name, commits := range map[string]bool{"commits": true, "rolls back": false} {
		t.Run(name, func(t *testing.T) {
			eachDriver(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{})
				e := order()
				c := s.Begin(t)
				require.NoError(t, s.effect(t.Context(), c.tx, "the caller's own"))
				first, err := c.place(t.Context(), e)
				require.NoError(t, err)
				require.NoError(t, c.audit(t.Context(), e))
				s.clean(t)
				if !commits {
					require.NoError(t, c.rollback(t.Context()))
					s.clean(t)
					_, err = s.PlaceOrder(t.Context(), e)
					require.NoError(t, err)
					assert.Equal(t, 1, s.effects(t))
					return
				}
				require.NoError(t, c.commit(t.Context()))
				assert.Equal(t, 3, s.effects(t))

				again, err := s.PlaceOrder(t.Context(), e)
				require.NoError(t, err)
				assert.Equal(t, first, again)
				c = s.Begin(t)
				again, err = c.place(t.Context(), e)
				require.NoError(t, err)
				assert.Equal(t, first, again)
				require.NoError(t, c.audit(t.Context(), e))
				require.NoError(t, c.commit(t.Context()))
				assert.Equal(t, map[idem.Outcome]int{idem.OutcomeJoined: 2, idem.OutcomeDuplicate: 3}, s.outcomes())
				s.returned(t)
			})
		})
	}
}

// A handler that fails, or panics, is undone, and the caller's transaction goes on.
func TestInTx_HandlerFails(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		honest := s.placeOrder
		c := s.Begin(t)
		require.NoError(t, s.effect(t.Context(), c.tx, "before"))
		e := order()
		for name, leave := range map[string]func(Tx) error{
			"error": func(Tx) error { return errBusiness },
			"a SQL error": func(tx Tx) error {
				_, err := tx.Exec(t.Context(), `INSERT INTO effects (what) VALUES (NULL)`)
				return err
			},
			"panic": func(Tx) error { panic("the handler's own") },
		} {
			s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				r, err := s.receipt(ctx, tx, e)
				if err != nil {
					return r, err
				}
				return r, leave(tx)
			}
			left, err := outside(func() error { _, err := c.place(t.Context(), e); return err })
			assert.True(t, left != nil || err != nil, name)
		}
		s.placeOrder = honest
		_, err := c.place(t.Context(), e)
		require.NoError(t, err)
		require.NoError(t, c.commit(t.Context()))
		assert.Equal(t, 2, s.effects(t))
		assert.Len(t, s.rows(t), 1)
		s.returned(t)
	})
}

// A swallowed SQL error does not look joined, and does not take the caller's transaction with it.
func TestInTx_SwallowedError(t *testing.T) {
	t.Parallel()
	for _, d := range onPostgres() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			d.need(t)
			s := d.open(t, setup{})
			s.swallow(t)
			c := s.Begin(t)
			e := order()
			_, err := c.place(t.Context(), e)
			require.ErrorIs(t, err, idem.ErrTransactionAborted)
			require.ErrorIs(t, c.audit(t.Context(), e), idem.ErrTransactionAborted)
			require.NoError(t, s.effect(t.Context(), c.tx, "after"))
			require.NoError(t, c.commit(t.Context()))
			assert.Equal(t, 1, s.effects(t))
			assert.Empty(t, s.rows(t))
		})
	}
}

// An expired row is taken over in the caller's transaction.
func TestInTx_TakesOver(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		e := order()
		first, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		s.expire(t)
		c := s.Begin(t)
		second, err := c.place(t.Context(), e)
		require.NoError(t, err)
		assert.NotEqual(t, first, second)
		_, err = c.place(t.Context(), e)
		require.ErrorIs(t, err, idem.ErrReentrant)
		require.NoError(t, c.commit(t.Context()))
		again, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, second, again)
		assert.Len(t, s.rows(t), 1)
	})
}

// A key twice in one transaction is an error, whichever way it comes about; in the next one it is a repeat.
func TestInTx_Reentrant(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		e, other := order(), order()
		c := s.Begin(t)
		_, err := c.place(t.Context(), other)
		require.NoError(t, err)
		_, err = c.place(t.Context(), e)
		require.NoError(t, err)
		for range 2 {
			_, err = c.place(t.Context(), e)
			require.ErrorIs(t, err, idem.ErrReentrant)
		}
		require.NoError(t, c.audit(t.Context(), e), "another handler")
		require.ErrorIs(t, c.audit(t.Context(), e), idem.ErrReentrant)

		// Without the context, too.
		nested := order()
		honest := s.placeOrder
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			s.placeOrder = honest
			_, err := c.place(t.Context(), nested)
			return events.Receipt{}, err
		}
		_, err = c.place(t.Context(), nested)
		require.ErrorIs(t, err, idem.ErrReentrant)
		require.NoError(t, c.commit(t.Context()))
		assert.Equal(t, 3, s.effects(t))

		c = s.Begin(t)
		_, err = c.place(t.Context(), e)
		require.NoError(t, err)
		require.NoError(t, c.rollback(t.Context()))
		s.returned(t)
	})
}

// A claim that went back with the caller's own savepoint can be made again.
func TestInTx_CallersSavepoint(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		e := order()
		c := s.Begin(t)
		for _, statement := range []string{`SAVEPOINT mine`, `ROLLBACK TO SAVEPOINT mine`, `RELEASE SAVEPOINT mine`} {
			_, err := c.tx.Exec(t.Context(), statement)
			require.NoError(t, err)
			if statement == `SAVEPOINT mine` {
				_, err = c.place(t.Context(), e)
				require.NoError(t, err)
			}
		}
		_, err := c.place(t.Context(), e)
		require.NoError(t, err)
		require.NoError(t, c.commit(t.Context()))
		assert.Equal(t, 1, s.effects(t))
	})
}

// A permanent failure is marked in the caller's transaction.
func TestInTx_PermanentFailure(t *testing.T) {
	for name, commits := range map[string]bool{"commits": true, "rolls back": false} {
		t.Run(name, func(t *testing.T) {
			eachDriver(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{})
				honest := s.placeOrder
				s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
					r, err := s.receipt(ctx, tx, e)
					if err != nil {
						return r, err
					}
					return r, idem.Permanent(errBusiness)
				}
				e := order()
				c := s.Begin(t)
				var failed *idem.FailedError
				_, err := c.place(t.Context(), e)
				require.ErrorAs(t, err, &failed)
				require.ErrorIs(t, err, errBusiness)
				s.placeOrder = honest
				if !commits {
					require.NoError(t, c.rollback(t.Context()))
					_, err := s.PlaceOrder(t.Context(), e)
					require.NoError(t, err)
					return
				}
				require.NoError(t, c.commit(t.Context()))
				assert.Zero(t, s.effects(t))
				_, err = s.PlaceOrder(t.Context(), e)
				require.ErrorAs(t, err, &failed)
				s.returned(t)
			})
		})
	}
}

// A rival is waited for, for a time; the caller's transaction survives the wait.
func TestInTx_Rival(t *testing.T) {
	t.Parallel()
	for _, d := range onServers() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			d.need(t)
			s := d.open(t, setup{options: []idem.Option{idem.WithInFlightTimeout(50 * time.Millisecond)}})
			first := s.park(t)
			e := order()
			one := s.deliver(t.Context(), e)
			<-first.reached
			c := s.Begin(t)
			set, see := `SET LOCAL lock_timeout = '47s'`, `SELECT count(*) FROM pg_settings WHERE name = 'lock_timeout' AND setting = '47000'`
			if d.mysql {
				set, see = `SET SESSION innodb_lock_wait_timeout = 47`, `SELECT @@SESSION.innodb_lock_wait_timeout = 47`
			}
			_, err := c.tx.Exec(t.Context(), set)
			require.NoError(t, err)
			_, err = c.place(t.Context(), e)
			var busy *idem.InProgressError
			require.ErrorAs(t, err, &busy)
			first.letGo <- nil
			won := <-one
			require.NoError(t, won.err)
			repeat, err := c.place(t.Context(), e)
			require.NoError(t, err)
			assert.Equal(t, won.Receipt, repeat)
			same, err := c.tx.Int(t.Context(), see)
			require.NoError(t, err)
			assert.EqualValues(t, 1, same, "the caller's own patience")
			require.NoError(t, c.commit(t.Context()))
			assert.Equal(t, 1, s.effects(t))
			s.returned(t)
		})
	}
}

// In shadow mode everything runs, in the caller's transaction.
func TestInTx_Shadow(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{idem.WithShadow()}})
		e := order()
		c := s.Begin(t)
		for range 2 {
			_, err := c.place(t.Context(), e)
			require.NoError(t, err)
		}
		require.NoError(t, c.commit(t.Context()))
		assert.Equal(t, 2, s.effects(t))
		s.exec(t, `DROP TABLE idempotency_keys`)
		c = s.Begin(t)
		_, err := c.place(t.Context(), e)
		require.NoError(t, err)
		require.NoError(t, c.commit(t.Context()))
		assert.Equal(t, 3, s.effects(t))
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeJoined: 1, idem.OutcomeDuplicate: 1, idem.OutcomeError: 1}, s.outcomes())
	})
}
