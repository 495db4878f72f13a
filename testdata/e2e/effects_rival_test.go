package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// errBusiness is a handler's own error.
var errBusiness = errors.New("out of stock")

// levels are the isolation levels that a driver has; the zero value is its default.
func (d driver) levels() []sql.IsolationLevel {
	if d.code == "lite" {
		return []sql.IsolationLevel{sql.LevelDefault, sql.LevelSerializable}
	}
	return []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}
}

// eachLevel runs a test once for each driver and isolation level.
func eachLevel(t *testing.T, test func(*testing.T, driver, sql.IsolationLevel)) {
	eachDriver(t, func(t *testing.T, d driver) {
		for _, level := range d.levels() {
			t.Run(level.String(), func(t *testing.T) {
				t.Parallel()
				test(t, d, level)
			})
		}
	})
}

// long is for deliveries that are to wait until they are let go, however slow the machine.
var long = idem.WithInFlightTimeout(patience)

func TestEffects08_WinnerRollsBack(t *testing.T) {
	eachLevel(t, func(t *testing.T, d driver, level sql.IsolationLevel) {
		s := d.open(t, setup{options: []idem.Option{idem.WithIsolation(level), long}})
		winner := s.park(t)
		e := order()
		first := s.deliver(t.Context(), e)
		<-winner.reached
		second := s.deliver(t.Context(), e)
		s.awaitRivals(t, 1)
		winner.letGo <- errBusiness

		lost := <-first
		assert.Same(t, errBusiness, lost.err, "the handler's error comes back as it is")
		won := <-second
		require.NoError(t, won.err)
		assert.Equal(t, "run 2", won.PlacedBy)
		assert.Equal(t, 1, s.effects(t))
		assert.Len(t, s.rows(t), 1)
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeError: 1, idem.OutcomeExecuted: 1}, s.outcomes())
	})
}

// A rival that waited has to see the winner's row, in a snapshot from before the winner's end or not, and to be run
// again where the level makes it fail. A 25P02 would come back as an error.
func TestEffects09And10_WinnerCommits(t *testing.T) {
	eachLevel(t, func(t *testing.T, d driver, level sql.IsolationLevel) {
		s := d.open(t, setup{options: []idem.Option{idem.WithIsolation(level), long}})
		winner := s.park(t)
		e := order()
		first := s.deliver(t.Context(), e)
		<-winner.reached
		const rivals = 3
		var others []<-chan answered
		for range rivals {
			others = append(others, s.deliver(t.Context(), e))
		}
		s.awaitRivals(t, rivals)
		winner.letGo <- nil

		won := <-first
		require.NoError(t, won.err)
		for _, other := range others {
			repeat := <-other
			require.NoError(t, repeat.err)
			assert.Equal(t, won.Receipt, repeat.Receipt)
		}
		assert.Equal(t, 1, s.effects(t))
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeExecuted: 1, idem.OutcomeDuplicate: rivals}, s.outcomes())
	})
}

// Two handlers of different keys that write the same business rows: 40001 or a deadlock in the handler's statements, a
// conflict after the claim. Both must come through, each with one effect.
func TestEffects10_ConflictInTheHandler(t *testing.T) {
	eachLevel(t, func(t *testing.T, d driver, level sql.IsolationLevel) {
		s := d.open(t, setup{options: []idem.Option{idem.WithIsolation(level), idem.WithRetries(50), long}})
		s.exec(t, `INSERT INTO stock (sku, on_hand) VALUES ('tea', 0), ('coffee', 0)`)
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			skus := []string{"tea", "coffee"}
			if e.Total%2 == 1 { // the other way around: a deadlock
				skus[0], skus[1] = skus[1], skus[0]
			}
			for _, sku := range skus {
				have, err := tx.Int(ctx, `SELECT on_hand FROM stock WHERE sku = $1`, sku)
				if err != nil {
					return events.Receipt{}, err
				}
				if _, err := tx.Exec(ctx, `UPDATE stock SET on_hand = on_hand + 1 WHERE sku = $1`, sku); err != nil {
					return events.Receipt{}, fmt.Errorf("take %s, of which there are %d: %w", sku, have, err)
				}
			}
			return s.receipt(ctx, tx, e)
		}
		const n = 12
		var all []<-chan answered
		for i := range n {
			e := order()
			e.Total = int64(i)
			all = append(all, s.deliver(t.Context(), e))
		}
		for _, one := range all {
			require.NoError(t, (<-one).err)
		}
		assert.Equal(t, n, s.effects(t))
		assert.Equal(t, 2*n, s.count(t, `SELECT sum(on_hand) FROM stock`))
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeExecuted: n}, s.outcomes())
	})
}

// With no retries the first conflict comes back, and the claim is gone with the rest.
func TestEffects10_RetriesAreBounded(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{idem.WithIsolation(sql.LevelSerializable), idem.WithRetries(2)}})
		s.exec(t, `INSERT INTO stock (sku, on_hand) VALUES ('tea', 0)`)
		ran := 0
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			ran++
			if _, err := tx.Int(ctx, `SELECT on_hand FROM stock`); err != nil {
				return events.Receipt{}, err
			}
			s.exec(t, `UPDATE stock SET on_hand = on_hand + 1`)
			_, err := tx.Exec(ctx, `UPDATE stock SET on_hand = on_hand + 1`)
			return s.answer(e), err
		}
		_, err := s.PlaceOrder(t.Context(), order())
		var state interface{ SQLState() string }
		require.ErrorAs(t, err, &state)
		assert.Equal(t, "40001", state.SQLState())
		assert.Equal(t, 3, ran, "once, and two retries")
		s.clean(t)
		seen := s.deliveries()
		require.Len(t, seen, 1)
		assert.Equal(t, 2, seen[0].Retries)
	})
}

func TestEffects18_WaitIsBounded(t *testing.T) {
	eachLevel(t, func(t *testing.T, d driver, level sql.IsolationLevel) {
		s := d.open(t, setup{options: []idem.Option{idem.WithIsolation(level), idem.WithInFlightTimeout(100 * time.Millisecond)}})
		winner := s.park(t)
		e := order()
		first := s.deliver(t.Context(), e)
		<-winner.reached
		const rivals = 4
		var others []<-chan answered
		for range rivals {
			others = append(others, s.deliver(t.Context(), e))
		}
		for _, other := range others {
			lost := <-other
			var busy *idem.InProgressError
			require.ErrorAs(t, lost.err, &busy)
			assert.Positive(t, busy.RetryAfter)
			var wrapped *idem.Error
			require.ErrorAs(t, lost.err, &wrapped)
			assert.Equal(t, "acme/"+e.OrderID.String(), wrapped.Key)
			assert.Zero(t, lost.Receipt)
		}
		assert.LessOrEqual(t, s.inUse(), 1, "only the winner has a connection")
		winner.letGo <- nil
		require.NoError(t, (<-first).err)
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeExecuted: 1, idem.OutcomeInProgress: rivals}, s.outcomes())

		repeat, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, "run 1", repeat.PlacedBy)
		assert.Equal(t, 1, s.effects(t))
	})
}

// inflight=fail does not wait at all: the delivery ends although the winner does not, and the timeout is far away.
func TestEffects18_NoWait(t *testing.T) {
	eachLevel(t, func(t *testing.T, d driver, level sql.IsolationLevel) {
		s := d.open(t, setup{options: []idem.Option{idem.WithIsolation(level), idem.WithInFlightTimeout(10 * patience)}})
		reached, letGo := make(chan struct{}), make(chan struct{})
		s.rushOrder = func(ctx context.Context, tx Tx, e *events.OrderPlaced) (*events.Receipt, error) {
			r, err := s.receipt(ctx, tx, *e)
			close(reached)
			<-letGo
			return &r, err
		}
		e := order()
		first := make(chan error, 1)
		go func() {
			_, err := s.RushOrder(t.Context(), &e)
			first <- err
		}()
		<-reached
		_, err := s.RushOrder(t.Context(), &e)
		close(letGo)
		var busy *idem.InProgressError
		require.ErrorAs(t, err, &busy)
		require.NoError(t, <-first)
		_, err = s.RushOrder(t.Context(), &e)
		require.NoError(t, err)
		assert.Equal(t, 1, s.effects(t))
	})
}

// A rival whose own context ends stops waiting; its connection goes back.
func TestEffects18_WaitEndsWithTheContext(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{long}})
		winner := s.park(t)
		e := order()
		first := s.deliver(t.Context(), e)
		<-winner.reached
		ctx, cancel := context.WithCancel(t.Context())
		second := s.deliver(ctx, e)
		s.awaitRivals(t, 1)
		cancel()
		lost := <-second
		require.ErrorIs(t, lost.err, context.Canceled)
		winner.letGo <- nil
		require.NoError(t, (<-first).err)
		assert.Equal(t, 1, s.effects(t))
		s.returned(t)
	})
}

// The row is there at the claim, and swept before the look-up.
func TestEffects27_SweptBetweenClaimAndLookup(t *testing.T) {
	eachLevel(t, func(t *testing.T, d driver, level sql.IsolationLevel) {
		s := d.open(t, setup{proxied: true, options: []idem.Option{idem.WithIsolation(level)}})
		e := order()
		_, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)

		swept := 0
		sweep := func() {
			swept++
			s.exec(t, `DELETE FROM idempotency_keys`)
		}
		s.beforeLookup(sweep)
		again, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, 1, swept)
		assert.Equal(t, "run 2", again.PlacedBy, "without its row the event is a new one")
		assert.Len(t, s.rows(t), 1)
	})
}

// beforeLookup has do run once, before the shop's first look-up of a row.
func (s *shop) beforeLookup(do func()) { s.before("-- name: Lookup ", do) }

// before has do run once, before the shop's first statement with this text.
func (s *shop) before(text string, do func()) {
	switch {
	case s.postgres:
		s.proxy.Before(text, do)
	case s.mysql:
		s.wire.Before(text, do)
	default:
		s.hook.Before(text, do)
	}
}
