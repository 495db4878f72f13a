package e2e

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// Somebody has begun a transaction by SQL text on the pool's connection. What is written there may be rolled back: neither a lease
// nor a transition is told to have taken place, nothing runs, and the table of keys is not to blame.
func TestLite_TransactionLeftOnTheConnection(t *testing.T) {
	eachSQLite(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		s.db.SetMaxOpenConns(1)
		a := s.charging(t)
		o := openOrders(t, d, setup{})
		o.db.SetMaxOpenConns(1)
		ctx, id, e := t.Context(), o.order(t, "pending"), order()
		deliveries := map[string]func() error{
			"a lease":             func() error { _, err := s.Charge(ctx, e); return err },
			"a transaction":       func() error { _, err := s.PlaceOrder(ctx, e); return err },
			"a bare transition":   func() error { return o.JustConfirm(ctx, moved(id)) },
			"one that runs code":  func() error { return o.Confirm(ctx, moved(id)) },
			"one with a key, too": func() error { return o.PayNow(ctx, events.Paid{PaymentID: "p", OrderID: id}) },
		}
		both := func(text string) {
			for _, db := range []*sql.DB{s.db, o.db} {
				_, err := db.ExecContext(ctx, text)
				require.NoError(t, err)
			}
		}
		both("BEGIN")
		for name, deliver := range deliveries {
			err := deliver()
			require.ErrorContains(t, err, "left a transaction open", name)
			var table *idem.TableError
			require.NotErrorAs(t, err, &table, name)
		}
		both("ROLLBACK")
		assert.Zero(t, a.count(t, "call"))
		assert.Zero(t, s.runs.Load())
		s.clean(t)
		assert.Equal(t, "pending 1", o.found(t, id))
		require.NoError(t, deliveries["a lease"]())
		require.NoError(t, deliveries["a transaction"]())
		require.NoError(t, deliveries["a bare transition"]())
		s.returned(t)
	})
}
