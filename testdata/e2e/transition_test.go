package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// eachOrders runs a test once for each driver.
func eachOrders(t *testing.T, test func(*testing.T, *orders)) {
	eachDriver(t, func(t *testing.T, d driver) { test(t, openOrders(t, d, setup{})) })
}

// order makes a row in a state and returns its identity.
func (o *orders) order(t *testing.T, state string) string {
	t.Helper()
	id := uuid.NewString()
	o.exec(t, fmt.Sprintf(`INSERT INTO orders (id, customer, status) VALUES ($1, 'acme', '%s')`, state), id)
	return id
}

// found is a row as it is now: its state and its version.
func (o *orders) found(t *testing.T, id string) string {
	t.Helper()
	var state string
	var version int64
	require.NoError(t, o.look.QueryRowContext(t.Context(), o.spell(`SELECT status, version FROM orders WHERE id = $1`), id).Scan(&state, &version))
	return fmt.Sprint(state, " ", version)
}

// moves is how often the bodies of a kind have run for an order, and committed.
func (o *orders) moves(t *testing.T, id, what string) int {
	t.Helper()
	return o.count(t, `SELECT count(*) FROM moves WHERE order_id = $1 AND what = $2`, id, what)
}

// last is the outcome of the last delivery.
func (o *orders) last(t *testing.T) idem.Outcome {
	t.Helper()
	all := o.deliveries()
	require.NotEmpty(t, all)
	return all[len(all)-1].Outcome
}

func moved(id string) events.Moved { return events.Moved{OrderID: id, Event: uuid.NewString()} }

// A transition with code moves its row and runs once; what comes again finds the row there, or further on, and does nothing.
func TestTransition_MovesOnce(t *testing.T) {
	eachOrders(t, func(t *testing.T, o *orders) {
		ctx, id := t.Context(), o.order(t, "pending")
		note := "by hand"
		e := events.Moved{OrderID: id, Note: &note}
		require.NoError(t, o.Confirm(ctx, e))
		assert.Equal(t, idem.OutcomeExecuted, o.last(t))
		assert.Equal(t, "confirmed 2", o.found(t, id))
		assert.Equal(t, 1, o.count(t, `SELECT count(*) FROM orders WHERE id = $1 AND note = 'by hand'`, id))

		require.NoError(t, o.Confirm(ctx, e))
		assert.Equal(t, idem.OutcomeDuplicate, o.last(t))
		require.NoError(t, o.Ship(ctx, moved(id)))
		require.NoError(t, o.Confirm(ctx, e), "a late repeat, of what has been shipped since")
		assert.Equal(t, idem.OutcomeDuplicate, o.last(t))
		assert.Equal(t, "shipped 3", o.found(t, id))
		assert.Equal(t, 1, o.moves(t, id, "confirm"))
		assert.Equal(t, 1, o.moves(t, id, "ship"))
		assert.Empty(t, o.rows(t), "no key is stored")
	})
}

// The same without any code of the user's.
func TestTransition_WithoutCode(t *testing.T) {
	eachOrders(t, func(t *testing.T, o *orders) {
		ctx, id := t.Context(), o.order(t, "pending")
		require.NoError(t, o.JustConfirm(ctx, moved(id)))
		assert.Equal(t, idem.OutcomeExecuted, o.last(t))
		require.NoError(t, o.JustConfirm(ctx, moved(id)))
		assert.Equal(t, idem.OutcomeDuplicate, o.last(t))
		assert.Equal(t, "confirmed 2", o.found(t, id))
		require.NoError(t, o.Ship(ctx, moved(id)))
		require.NoError(t, o.JustConfirm(ctx, moved(id)))
		assert.Equal(t, "shipped 3", o.found(t, id))
	})
}

// What the row's state forbids is a typed error, and nothing is written.
func TestTransition_Refused(t *testing.T) {
	eachOrders(t, func(t *testing.T, o *orders) {
		ctx := t.Context()
		for _, c := range []struct {
			have, want string
			deliver    func(context.Context, events.Moved) error
		}{
			{"cancelled", "confirmed", o.Confirm},
			{"cancelled", "confirmed", o.JustConfirm},
			{"pending", "shipped", o.Ship},
			{"shipped", "cancelled", o.Cancel},
		} {
			id := o.order(t, c.have)
			err := c.deliver(ctx, moved(id))
			var conflict *idem.ConflictError
			require.ErrorAs(t, err, &conflict)
			assert.Equal(t, idem.ConflictError{Column: "orders.status", Have: c.have, Want: c.want}, *conflict)
			assert.Contains(t, err.Error(), id)
			assert.Equal(t, idem.OutcomeConflict, o.last(t))
			assert.Equal(t, c.have+" 1", o.found(t, id))
		}
		for _, deliver := range []func(context.Context, events.Moved) error{o.Confirm, o.JustConfirm} {
			require.ErrorIs(t, deliver(ctx, moved(uuid.NewString())), idem.ErrRowNotFound)
			require.ErrorIs(t, deliver(ctx, events.Moved{}), idem.ErrZeroKey)
			assert.Equal(t, idem.OutcomeError, o.last(t))
		}
		assert.Zero(t, o.count(t, `SELECT count(*) FROM moves`))
		assert.Empty(t, o.rows(t))
	})
}

// An event that knows a version moves the row of that version only, and its repeat is one.
func TestTransition_StaleVersion(t *testing.T) {
	eachOrders(t, func(t *testing.T, o *orders) {
		ctx, id := t.Context(), o.order(t, "pending")
		err := o.ConfirmKnown(ctx, events.Known{OrderID: id, Version: 4})
		require.ErrorIs(t, err, idem.ErrStaleVersion)
		var stale *idem.StaleVersionError
		require.ErrorAs(t, err, &stale)
		assert.Equal(t, idem.StaleVersionError{Column: "orders.status", Have: 1, Want: 4}, *stale)
		assert.Equal(t, idem.OutcomeConflict, o.last(t))
		assert.Equal(t, "pending 1", o.found(t, id))

		require.NoError(t, o.ConfirmKnown(ctx, events.Known{OrderID: id, Version: 1}))
		assert.Equal(t, "confirmed 2", o.found(t, id))
		require.NoError(t, o.ConfirmKnown(ctx, events.Known{OrderID: id, Version: 1}), "a repeat")
		assert.Equal(t, idem.OutcomeDuplicate, o.last(t))
	})
}

// Where row= is more than one row, what changed is rolled back; with one it works.
func TestTransition_ManyRows(t *testing.T) {
	eachOrders(t, func(t *testing.T, o *orders) {
		ctx := t.Context()
		a, b := o.order(t, "pending"), o.order(t, "pending")
		require.ErrorIs(t, o.CancelAll(ctx, events.Vague{Customer: "acme"}), idem.ErrManyRows)
		o.exec(t, `UPDATE orders SET status = 'confirmed'`)
		require.ErrorIs(t, o.ShipAll(ctx, events.Vague{Customer: "acme"}), idem.ErrManyRows)
		require.ErrorIs(t, o.CancelAll(ctx, events.Vague{Customer: "acme"}), idem.ErrManyRows, "none of which can be moved")
		assert.Equal(t, "confirmed 1", o.found(t, a))
		assert.Equal(t, "confirmed 1", o.found(t, b))
		require.ErrorIs(t, o.ShipAll(ctx, events.Vague{Customer: "nobody"}), idem.ErrRowNotFound)
		o.exec(t, `UPDATE orders SET status = 'pending' WHERE id = $1`, b)
		require.ErrorIs(t, o.ShipAll(ctx, events.Vague{Customer: "acme"}), idem.ErrManyRows, "one of which can be moved")
		require.ErrorIs(t, o.CancelAll(ctx, events.Vague{Customer: "acme"}), idem.ErrManyRows, "one of which can be moved")
		assert.Equal(t, "confirmed 1", o.found(t, a))
		assert.Equal(t, "pending 1", o.found(t, b))
		assert.Zero(t, o.count(t, `SELECT count(*) FROM moves`))

		o.exec(t, `DELETE FROM orders WHERE id = $1`, b)
		require.NoError(t, o.ShipAll(ctx, events.Vague{Customer: "acme"}))
		assert.Equal(t, "shipped 1", o.found(t, a))
		require.NoError(t, o.ShipAll(ctx, events.Vague{Customer: "acme"}))
		assert.Equal(t, idem.OutcomeDuplicate, o.last(t))
	})
}

// With a key, two payments for one order are told apart: the second one is a conflict, and its claim is gone; a repeat of the
// first gets the stored result, whatever became of the order since.
func TestTransition_WithKey(t *testing.T) {
	eachOrders(t, func(t *testing.T, o *orders) {
		ctx, id := t.Context(), o.order(t, "pending")
		first := events.Paid{PaymentID: uuid.NewString(), OrderID: id}
		receipt, err := o.Pay(ctx, first)
		require.NoError(t, err)
		assert.Equal(t, "confirmed 2", o.found(t, id))
		again, err := o.Pay(ctx, first)
		require.NoError(t, err)
		assert.Equal(t, receipt, again)
		assert.Equal(t, idem.OutcomeDuplicate, o.last(t))

		_, err = o.Pay(ctx, events.Paid{PaymentID: uuid.NewString(), OrderID: id})
		var conflict *idem.ConflictError
		require.ErrorAs(t, err, &conflict)
		assert.Equal(t, "confirmed", conflict.Have)
		assert.Equal(t, idem.OutcomeConflict, o.last(t))
		assert.Len(t, o.rows(t), 1, "the claim went with the conflict")
		assert.Equal(t, 1, o.moves(t, id, "pay"))

		require.NoError(t, o.Ship(ctx, moved(id)))
		again, err = o.Pay(ctx, first)
		require.NoError(t, err)
		assert.Equal(t, receipt, again)

		// An order that was cancelled before its payment came is for a person, each time.
		cancelled := o.order(t, "pending")
		require.NoError(t, o.Cancel(ctx, moved(cancelled)))
		late := events.Paid{PaymentID: uuid.NewString(), OrderID: cancelled}
		for range 2 {
			require.ErrorAs(t, o.PayNow(ctx, late), &conflict)
			assert.Equal(t, "cancelled", conflict.Have)
		}
		require.ErrorIs(t, o.PayNow(ctx, events.Paid{PaymentID: "p", OrderID: uuid.NewString()}), idem.ErrRowNotFound)
		assert.Len(t, o.rows(t), 1)
		open := o.order(t, "pending")
		require.NoError(t, o.PayNow(ctx, events.Paid{PaymentID: "p", OrderID: open}), "what was refused left no key")
		assert.Equal(t, "confirmed 1", o.found(t, open), "without version= none is counted")
	})
}

// A body that fails leaves nothing, and the event can come again.
func TestTransition_BodyFails(t *testing.T) {
	eachOrders(t, func(t *testing.T, o *orders) {
		ctx, id, works := t.Context(), o.order(t, "pending"), o.body
		o.body = func(ctx context.Context, tx Tx, what, order, event string) error {
			return errors.Join(works(ctx, tx, what, order, event), errBusiness)
		}
		require.ErrorIs(t, o.Confirm(ctx, moved(id)), errBusiness)
		assert.Equal(t, idem.OutcomeError, o.last(t))
		o.body = func(ctx context.Context, tx Tx, what, order, event string) error {
			if err := works(ctx, tx, what, order, event); err != nil {
				return err
			}
			panic("no")
		}
		assert.PanicsWithValue(t, "no", func() { _ = o.Confirm(ctx, moved(id)) })
		assert.Equal(t, "pending 1", o.found(t, id))
		assert.Zero(t, o.moves(t, id, "confirm"))
		o.returned(t)
		o.body = works
		require.NoError(t, o.Confirm(ctx, moved(id)))
		assert.Equal(t, 1, o.moves(t, id, "confirm"))
	})
}

// Of many deliveries at once, one moves the row and runs, and all others see that it did.
func TestTransition_AllAtOnce(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		o := openOrders(t, d, setup{options: []idem.Option{long}})
		id := o.order(t, "pending")
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() { assert.NoError(t, o.Confirm(t.Context(), moved(id))) })
		}
		all.Wait()
		assert.Equal(t, "confirmed 2", o.found(t, id))
		assert.Equal(t, 1, o.moves(t, id, "confirm"))
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeExecuted: 1, idem.OutcomeDuplicate: 11}, o.outcomes())
	})
}

// In a transaction of the caller's a transition shares its fate, and one that is refused leaves it as it was.
func TestTransition_InTx(t *testing.T) {
	eachOrders(t, func(t *testing.T, o *orders) {
		ctx, id, other := t.Context(), o.order(t, "pending"), o.order(t, "cancelled")
		c := o.BeginOrders(t)
		require.NoError(t, c.confirm(ctx, moved(id)))
		assert.Equal(t, idem.OutcomeJoined, o.last(t))
		require.NoError(t, c.justConfirm(ctx, moved(id)))
		assert.Equal(t, idem.OutcomeDuplicate, o.last(t))
		var conflict *idem.ConflictError
		require.ErrorAs(t, c.confirm(ctx, moved(other)), &conflict)
		require.ErrorAs(t, c.pay(ctx, events.Paid{PaymentID: "p", OrderID: other}), &conflict)
		require.NoError(t, c.rollback(ctx))
		assert.Equal(t, "pending 1", o.found(t, id))

		c = o.BeginOrders(t)
		works := o.body
		o.body = func(ctx context.Context, tx Tx, what, order, event string) error {
			return errors.Join(works(ctx, tx, what, order, event), errBusiness)
		}
		require.ErrorIs(t, c.confirm(ctx, moved(id)), errBusiness)
		o.body = works
		require.NoError(t, c.confirm(ctx, moved(id)), "the transaction goes on")
		require.NoError(t, c.commit(ctx))
		assert.Equal(t, "confirmed 2", o.found(t, id))
		assert.Equal(t, 1, o.moves(t, id, "confirm"))
	})
}

// The UPDATE travels with BEGIN: a transition with code costs what the bare transaction costs, and one without one round trip.
func TestTransition_RoundTrips(t *testing.T) {
	t.Parallel()
	d := drivers()[0]
	d.need(t)
	o := openOrders(t, d, setup{proxied: true, pool: oneConnection})
	ctx := t.Context()
	trips := func(deliver func() error) int {
		o.proxy.Count()
		require.NoError(t, deliver())
		return o.proxy.RoundTrips()
	}
	fresh := func(deliver func(context.Context, events.Moved) error) func() error {
		id := o.order(t, "pending")
		return func() error { return deliver(ctx, moved(id)) }
	}
	done := moved(o.order(t, "confirmed"))
	for range 2 {
		require.NoError(t, fresh(o.Confirm)())
		require.NoError(t, fresh(o.JustConfirm)())
		require.NoError(t, o.Confirm(ctx, done))
		require.NoError(t, o.JustConfirm(ctx, done))
	}
	assert.Equal(t, 3, trips(fresh(o.Confirm)), "with code")
	assert.Equal(t, 1, trips(fresh(o.JustConfirm)), "without")
	assert.Equal(t, 2, trips(func() error { return o.Confirm(ctx, done) }), "a repeat with code")
	assert.Equal(t, 2, trips(func() error { return o.JustConfirm(ctx, done) }), "a repeat without")

	// With a key there is one more: the UPDATE comes after the claim's answer.
	pay := func(payment string) func() error {
		paid := events.Paid{PaymentID: payment, OrderID: o.order(t, "pending")}
		return func() error {
			_, err := o.Pay(ctx, paid)
			return err
		}
	}
	for _, warm := range []string{"a", "b"} {
		require.NoError(t, pay(warm)())
		require.NoError(t, pay(warm)())
	}
	assert.Equal(t, 4, trips(pay("c")), "with a key and code")
	assert.Equal(t, 2, trips(pay("c")), "a repeat with a key")
}
