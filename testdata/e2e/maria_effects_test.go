package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// eachMaria runs a test once for each driver of MariaDB and MySQL.
func eachMaria(t *testing.T, test func(*testing.T, driver)) {
	each(t, driversThat(func(d driver) bool { return d.mysql }), test)
}

// snapshots has the sessions fail where a row is newer than their snapshot, which is how newer versions of MariaDB begin.
func snapshots(c *mysql.Config) {
	c.Params = map[string]string{"innodb_snapshot_isolation": "ON"}
}

// sessionLevel has the sessions begin transactions at a level, where nobody says another.
func sessionLevel(name string) func(*mysql.Config) {
	return func(c *mysql.Config) { c.Params = map[string]string{"tx_isolation": "'" + name + "'"} }
}

// A loser whose snapshot is older than the winner's row sees the row all the same. The session's own level is not what the
// guard's transactions and look-ups have: one that shows what is not committed does not show an open row.
func TestEffects11_OldSnapshot(t *testing.T) {
	for name, set := range map[string]func(*mysql.Config){
		"repeatable read": sessionLevel("REPEATABLE-READ"), "serializable": sessionLevel("SERIALIZABLE"),
		"read uncommitted": sessionLevel("READ-UNCOMMITTED"), "snapshot isolation": snapshots,
	} {
		t.Run(name, func(t *testing.T) {
			eachMaria(t, func(t *testing.T, d driver) {
				for _, level := range d.levels() {
					s := d.open(t, setup{mysql: set, options: []idem.Option{idem.WithIsolation(level), long}})
					e := order()
					first := s.park(t)
					one := s.deliver(t.Context(), e)
					<-first.reached
					two := s.deliver(t.Context(), e)
					s.awaitRivals(t, 1)
					first.letGo <- nil
					won, repeat := <-one, <-two
					require.NoError(t, won.err, level)
					require.NoError(t, repeat.err, level)
					assert.Equal(t, won.Receipt, repeat.Receipt, level)

					// A row that is taken over and not yet committed is not to be seen either.
					s.expire(t)
					third := s.park(t)
					one = s.deliver(t.Context(), e)
					<-third.reached
					two = s.deliver(t.Context(), e)
					s.awaitRivals(t, 1)
					third.letGo <- nil
					won, repeat = <-one, <-two
					require.NoError(t, won.err, level)
					require.NoError(t, repeat.err, level)
					assert.Equal(t, won.Receipt, repeat.Receipt, level)
					assert.Equal(t, 2, s.effects(t))
					s.returned(t)
				}
			})
		})
	}
}

// A rival takes an expired row over between the claim and the look-up, and has not committed. A look-up that saw that would take its
// open row for a lost one's.
func TestEffects11_NotCommitted(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		for _, session := range []string{"READ-UNCOMMITTED", "SERIALIZABLE"} {
			s := d.open(t, setup{mysql: sessionLevel(session), options: []idem.Option{long}})
			e := order()
			_, err := s.PlaceOrder(t.Context(), e)
			require.NoError(t, err)
			s.expire(t)
			rival := s.park(t)
			var first <-chan answered
			s.beforeLookup(func() {
				first = s.deliver(t.Context(), e)
				<-rival.reached
			})
			second := s.deliver(t.Context(), e)
			s.awaitRivals(t, 1)
			rival.letGo <- nil
			repeat := <-second
			won := <-first
			require.NoError(t, won.err)
			require.NoError(t, repeat.err, session)
			assert.Equal(t, won.Receipt, repeat.Receipt)
			assert.Equal(t, 2, s.effects(t))
		}
	})
}

// The caller's transaction has a snapshot from before the winner's commit: a plain SELECT in it would not find the row ever.
func TestEffects11_OldSnapshotOfTheCaller(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		for _, level := range []string{"REPEATABLE-READ", "SERIALIZABLE", "READ-COMMITTED"} {
			s := d.open(t, setup{mysql: sessionLevel(level), options: []idem.Option{long}})
			c := s.Begin(t)
			_, err := c.tx.Int(t.Context(), `SELECT count(*) FROM stock`)
			require.NoError(t, err)
			e := order()
			won, err := s.PlaceOrder(t.Context(), e)
			require.NoError(t, err)
			repeat, err := c.place(t.Context(), e)
			require.NoError(t, err, level)
			assert.Equal(t, won, repeat)
			require.NoError(t, c.commit(t.Context()))
			assert.Equal(t, 1, s.effects(t))
			s.returned(t)
		}
	})
}

// Three rivals, of whom the first rolls back: of the two that waited for it, the database kills one by a deadlock.
func TestEffects12_ThreeRivals(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		for _, level := range d.levels() {
			s := d.open(t, setup{options: []idem.Option{idem.WithIsolation(level), long}})
			e := order()
			winner := s.park(t)
			first := s.deliver(t.Context(), e)
			<-winner.reached
			others := []<-chan answered{s.deliver(t.Context(), e), s.deliver(t.Context(), e)}
			s.awaitRivals(t, 2)
			winner.letGo <- errBusiness
			assert.Same(t, errBusiness, (<-first).err)
			one, two := <-others[0], <-others[1]
			require.NoError(t, one.err, level)
			require.NoError(t, two.err, level)
			assert.Equal(t, one.Receipt, two.Receipt)
			assert.Equal(t, 1, s.effects(t))
			assert.Equal(t, map[idem.Outcome]int{idem.OutcomeError: 1, idem.OutcomeExecuted: 1, idem.OutcomeDuplicate: 1}, s.outcomes())
			s.returned(t)
		}
	})
}

// Many rivals, of whom the first five roll back: however many deadlocks their claims meet, each gets the one result.
func TestEffects12_ManyRivals(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		const rivals, failures = 24, 5
		s := d.open(t, setup{options: []idem.Option{long}, mysql: func(c *mysql.Config) { c.MaxAllowedPacket = 1 << 20 }})
		s.db.SetMaxOpenConns(rivals)
		var runs atomic.Int64
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			r, err := s.receipt(ctx, tx, e)
			if err == nil && runs.Add(1) <= failures {
				err = errBusiness
			}
			return r, err
		}
		e := order()
		var all sync.WaitGroup
		var lock sync.Mutex
		failed, answers := 0, map[events.Receipt]int{}
		start := make(chan struct{})
		for range rivals {
			all.Go(func() {
				<-start
				r, err := s.PlaceOrder(t.Context(), e)
				lock.Lock()
				defer lock.Unlock()
				if errors.Is(err, errBusiness) {
					failed++
				} else if assert.NoError(t, err) {
					answers[r]++
				}
			})
		}
		close(start)
		all.Wait()
		assert.Equal(t, failures, failed)
		assert.Len(t, answers, 1)
		assert.Equal(t, 1, s.effects(t))
		assert.Equal(t, map[idem.Outcome]int{
			idem.OutcomeError: failures, idem.OutcomeExecuted: 1, idem.OutcomeDuplicate: rivals - failures - 1,
		}, s.outcomes())
		s.returned(t)
	})
}

// deadlocked runs two handlers into a deadlock, one of which the database rolls back. What the loser does about it is swallow's.
func (s *shop) deadlocked(t *testing.T, swallow func(context.Context, Tx, error) error) (lost int, _ []answered) {
	t.Helper()
	s.exec(t, `INSERT INTO stock (sku, on_hand) VALUES ('tea', 0), ('coffee', 0)`)
	var both sync.WaitGroup
	both.Add(2)
	var met atomic.Int64
	s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
		r, err := s.receipt(ctx, tx, e)
		if err != nil {
			return r, err
		}
		skus := []string{"tea", "coffee"}
		if e.Total == 1 {
			skus[0], skus[1] = skus[1], skus[0]
		}
		const take = `UPDATE stock SET on_hand = on_hand + 1 WHERE sku = $1`
		if _, err := tx.Exec(ctx, take, skus[0]); err != nil {
			return r, err
		}
		if met.Add(1) <= 2 {
			both.Done()
			both.Wait()
		}
		if _, err := tx.Exec(ctx, take, skus[1]); err != nil {
			return r, swallow(ctx, tx, err)
		}
		return r, nil
	}
	var waiting []<-chan answered
	for total := range int64(2) {
		e := order()
		e.Total = total
		waiting = append(waiting, s.deliver(t.Context(), e))
	}
	var all []answered
	for _, one := range waiting {
		got := <-one
		if got.err != nil {
			lost++
		}
		all = append(all, got)
	}
	return lost, all
}

// A deadlock rolls all of the transaction back, the claim included. A handler that goes on as if nothing had happened must not
// have committed what came after it.
func TestEffects12_SwallowedDeadlock(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{long}})
		lost, all := s.deadlocked(t, func(ctx context.Context, tx Tx, err error) error {
			assert.EqualValues(t, 1213, myNumber(err))
			return s.effect(ctx, tx, "after the deadlock")
		})
		assert.Equal(t, 1, lost)
		for _, one := range all {
			if one.err != nil {
				require.ErrorIs(t, one.err, idem.ErrTransactionLost)
			}
		}
		assert.Equal(t, 1, s.effects(t))
		assert.Zero(t, s.count(t, `SELECT count(*) FROM effects WHERE what = 'after the deadlock'`))
		assert.Len(t, s.rows(t), 1)
		assert.Equal(t, 2, s.count(t, `SELECT sum(on_hand) FROM stock`))
		s.returned(t)
	})
}

// A wait for a lock that is over undoes its statement and no more. What a handler returns of it is run again.
func TestEffects12_LockWaitOver(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		for _, returned := range []bool{true, false} {
			s := d.open(t, setup{mysql: func(c *mysql.Config) { c.Params = map[string]string{"innodb_lock_wait_timeout": "1"} }})
			s.exec(t, `INSERT INTO stock (sku, on_hand) VALUES ('tea', 0)`)
			blocker, err := s.look.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			_, err = blocker.ExecContext(t.Context(), `UPDATE stock SET on_hand = 10`)
			require.NoError(t, err)
			runs := 0
			s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				runs++
				r, err := s.receipt(ctx, tx, e)
				if err != nil {
					return r, err
				}
				_, err = tx.Exec(ctx, `UPDATE stock SET on_hand = on_hand + 1`)
				if runs == 1 {
					assert.EqualValues(t, 1205, myNumber(err))
					assert.NoError(t, blocker.Rollback())
				}
				if returned {
					return r, err
				}
				return r, nil
			}
			_, err = s.PlaceOrder(t.Context(), order())
			require.NoError(t, err)
			assert.Equal(t, 1, s.effects(t), "the statement before it is kept, or done again")
			assert.Len(t, s.rows(t), 1)
			if returned {
				assert.Equal(t, 2, runs)
			} else {
				assert.Equal(t, 1, runs)
			}
			s.returned(t)
		}
	})
}

// Nothing of a claim is cut off, made NULL or made up, whatever the session's SQL mode would let pass: what does not fit is an
// error, and not another key. INSERT IGNORE would have hidden it.
func TestEffects13_NothingIsTruncated(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{mysql: func(c *mysql.Config) { c.Params = map[string]string{"sql_mode": "''"} }})
		s.exec(t, `ALTER TABLE idempotency_keys MODIFY handler VARCHAR(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL`)
		_, err := s.PlaceOrder(t.Context(), order())
		var table *idem.TableError
		require.ErrorAs(t, err, &table)
		assert.EqualValues(t, 1406, myNumber(err))
		s.clean(t)
		require.NoError(t, s.AuditOrder(t.Context(), order()), "my.audit fits")
		var mode string
		require.NoError(t, s.db.QueryRowContext(t.Context(), `SELECT @@SESSION.sql_mode`).Scan(&mode))
		assert.Empty(t, mode)
	})
}

// Zones of the server's session and of the client, some on either side of a change of the clock, have no say.
func TestEffects25_TimeZonesOfSessions(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		for _, zone := range []string{"+13:00", "-11:30", "+05:45"} {
			for _, parse := range []bool{true, false} {
				t.Run(fmt.Sprint(zone, parse), func(t *testing.T) {
					t.Parallel()
					s := d.open(t, setup{mysql: func(c *mysql.Config) {
						c.ParseTime, c.Loc = parse, time.FixedZone("Lord Howe", 10*60*60+30*60)
						c.Params = map[string]string{"time_zone": "'" + zone + "'"}
					}})
					e := order()
					s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
						if _, err := tx.Exec(ctx, `SET SESSION time_zone = '-05:00'`); err != nil {
							return events.Receipt{}, err
						}
						return s.receipt(ctx, tx, e)
					}
					first, err := s.PlaceOrder(t.Context(), e)
					require.NoError(t, err)
					got, _ := s.left(t, d.code+"shop.Service.PlaceOrder")
					assert.InDelta(t, 24*time.Hour, got, float64(15*time.Minute), "no zone is as near to another")
					again, err := s.PlaceOrder(t.Context(), e)
					require.NoError(t, err)
					assert.Equal(t, first, again)
					s.expire(t)
					later, err := s.PlaceOrder(t.Context(), e)
					require.NoError(t, err)
					assert.Equal(t, "run 2", later.PlacedBy)
					assert.Equal(t, 2, s.effects(t))
				})
			}
		}
	})
}
