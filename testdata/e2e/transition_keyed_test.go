package e2e

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// A transition with a key waits for a row that another transaction holds no longer than one without: within the in-flight time. The
// claim goes with it.
func TestTransition_RivalHoldsTheRowOfAKey(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		o := openOrders(t, d, setup{options: []idem.Option{idem.WithInFlightTimeout(time.Second)}})
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		id := o.order(t, "pending")
		rival, err := o.look.BeginTx(ctx, nil)
		require.NoError(t, err)
		_, err = rival.ExecContext(ctx, o.spell(`UPDATE orders SET note = 'rival' WHERE id = $1`), id)
		require.NoError(t, err)
		paid := events.Paid{PaymentID: "p", OrderID: id}
		var busy *idem.InProgressError
		require.ErrorAs(t, o.PayNow(ctx, paid), &busy)
		assert.Equal(t, idem.OutcomeInProgress, o.last(t))
		_, err = o.Pay(ctx, paid)
		require.ErrorAs(t, err, &busy)
		if o.code != "lite" { // where the caller could not even have begun to write
			c := o.BeginOrders(t)
			require.ErrorAs(t, c.pay(ctx, paid), &busy)
			require.NoError(t, c.rollback(ctx))
		}
		require.NoError(t, rival.Rollback())
		o.returned(t)
		assert.Empty(t, o.rows(t))
		require.NoError(t, o.PayNow(ctx, paid))
		assert.Equal(t, "confirmed 1", o.found(t, id))
	})
}

// A state that the column does not hold is an error and not the empty one, in a SQL mode that is not strict, too.
func TestMaria_TransitionOutOfTheEnum(t *testing.T) {
	each(t, driversThat(func(d driver) bool { return d.mysql }), func(t *testing.T, d driver) {
		o := openOrders(t, d, setup{mysql: func(c *mysql.Config) { c.Params = map[string]string{"sql_mode": "''"} }},
			`ALTER TABLE orders MODIFY status ENUM('pending', 'shipped', 'cancelled') NOT NULL`)
		id, ctx := o.order(t, "pending"), t.Context()
		require.Error(t, o.JustConfirm(ctx, moved(id)))
		require.Error(t, o.Confirm(ctx, moved(id)))
		require.Error(t, o.PayNow(ctx, events.Paid{PaymentID: "p", OrderID: id}))
		c := o.BeginOrders(t)
		require.Error(t, c.confirm(ctx, moved(id)))
		require.Error(t, c.pay(ctx, events.Paid{PaymentID: "p", OrderID: id}))
		require.NoError(t, c.commit(ctx))
		assert.Equal(t, "pending 1", o.found(t, id))
		assert.Empty(t, o.rows(t))
	})
}

// In a caller's transaction whose snapshot is older than the row, what is said about the row is true of the row.
func TestMaria_TransitionInAnOldSnapshot(t *testing.T) {
	each(t, driversThat(func(d driver) bool { return d.mysql }), func(t *testing.T, d driver) {
		o := openOrders(t, d, setup{})
		ctx, id := t.Context(), o.order(t, "pending")
		c := o.BeginOrders(t) // at REPEATABLE READ, the server's default
		n, err := c.tx.Int(ctx, `SELECT count(*) FROM orders WHERE status = 'pending'`)
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		require.NoError(t, o.Confirm(ctx, moved(id)))
		var conflict *idem.ConflictError
		require.ErrorAs(t, c.pay(ctx, events.Paid{PaymentID: "p", OrderID: id}), &conflict)
		assert.Equal(t, "confirmed", conflict.Have)
		require.NoError(t, c.confirm(ctx, moved(id)))
		assert.Equal(t, idem.OutcomeDuplicate, o.last(t))
		require.NoError(t, c.commit(ctx))
		assert.Equal(t, 1, o.moves(t, id, "confirm"))
	})
}

// In a caller's transaction nothing waits for longer than the in-flight time either: neither the UPDATE, with a key and without, nor
// the question why it has moved nothing, which locks the row.
func TestMaria_TransitionLooksInTime(t *testing.T) {
	each(t, driversThat(func(d driver) bool { return d.mysql }), func(t *testing.T, d driver) {
		o := openOrders(t, d, setup{
			options: []idem.Option{idem.WithInFlightTimeout(time.Second)},
			mysql:   func(c *mysql.Config) { c.Params = map[string]string{"tx_isolation": "'READ-COMMITTED'"} },
		})
		ctx, id := t.Context(), o.order(t, "cancelled")
		rival, err := o.look.BeginTx(ctx, nil)
		require.NoError(t, err)
		_, err = rival.ExecContext(ctx, o.spell(`UPDATE orders SET note = 'rival' WHERE id = $1`), id)
		require.NoError(t, err)
		c := o.BeginOrders(t)
		var busy *idem.InProgressError
		require.ErrorAs(t, c.confirm(ctx, moved(id)), &busy)
		require.ErrorAs(t, c.pay(ctx, events.Paid{PaymentID: "p", OrderID: id}), &busy)
		require.NoError(t, rival.Rollback())
		var conflict *idem.ConflictError
		require.ErrorAs(t, c.confirm(ctx, moved(id)), &conflict)
		require.NoError(t, c.rollback(ctx))
	})
}

// A conflict of the change of state with another transaction comes before the handler, so it is no run: it is tried again within the
// in-flight time, and not as often only as a handler may be run again.
func TestTransition_ConflictsBeforeTheHandler(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		o := openOrders(t, d, setup{})
		id, n := o.order(t, "pending"), 0
		c := o.confirmAgain(t, func(s *step) {
			s.update = `UPDATE orders SET status = 'confirmed', version = version + $2 WHERE id = $1 AND status IN ('pending', 'shipped')`
			s.args = func() ([]any, error) {
				if n++; n < 8 {
					o.exec(t, `UPDATE orders SET note = 'newer than the snapshot' WHERE id = $1`, id)
				}
				return []any{1}, nil
			}
		}, long, idem.WithIsolation(sql.LevelRepeatableRead))
		for _, deliver := range []func() error{
			func() error { return c.do(t.Context(), id) },
			func() error { return c.keyed(t.Context(), "k", id) },
		} {
			n = 0
			o.exec(t, `UPDATE orders SET status = 'pending', version = 1`)
			require.NoError(t, deliver())
			assert.Equal(t, "confirmed 2", o.found(t, id))
			assert.Equal(t, idem.OutcomeExecuted, o.last(t))
		}
		o.returned(t)
	})
}
