package e2e

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// On a way that leads back, a state that the change begins in may lie behind the one that it leads to. A row there that the UPDATE
// does not move, since a trigger suppresses that, is no repeat.
func TestTransition_WayBackSuppressed(t *testing.T) {
	each(t, driversThat(func(d driver) bool { return !d.mysql }), func(t *testing.T, d driver) {
		o := openOrders(t, d, setup{}, suppressing(d))
		id := o.order(t, "shipped")
		require.ErrorIs(t, o.confirmAgain(t, nil).do(t.Context(), id), idem.ErrUnmoved)
		assert.Equal(t, idem.OutcomeError, o.last(t))
		assert.Equal(t, "shipped 1", o.found(t, id))
	})
}

// suppressing makes a trigger that suppresses each UPDATE of an order.
func suppressing(d driver) string {
	if d.postgres {
		return `CREATE FUNCTION suppressing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
			CREATE TRIGGER suppressing BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION suppressing()`
	}
	return `CREATE TRIGGER suppressing BEFORE UPDATE ON orders BEGIN SELECT RAISE(IGNORE); END`
}

// Nor is one of another version than the event knows, older or newer; and a row that has not come to the event's version cannot
// have been moved by it, wherever it is.
func TestTransition_WayBackStale(t *testing.T) {
	eachOrders(t, func(t *testing.T, o *orders) {
		id, known := o.order(t, "shipped"), int64(0)
		o.exec(t, `UPDATE orders SET version = 3 WHERE id = $1`, id)
		again := o.confirmAgain(t, func(s *step) {
			s.update += ` AND version = $2`
			s.args = func() ([]any, error) { return []any{known}, nil }
			s.expect = func() int64 { return known }
		})
		for _, known = range []int64{2, 7} {
			var stale *idem.StaleVersionError
			require.ErrorAs(t, again.do(t.Context(), id), &stale)
			assert.Equal(t, idem.StaleVersionError{Column: "orders.status", Have: 3, Want: known}, *stale)
			assert.Equal(t, idem.OutcomeConflict, o.last(t))
			require.ErrorIs(t, again.keyed(t.Context(), "k", id), idem.ErrStaleVersion)
		}
		known = 3
		require.NoError(t, again.do(t.Context(), id))
		assert.Equal(t, "confirmed 4", o.found(t, id))
		require.NoError(t, again.do(t.Context(), id))
		assert.Equal(t, idem.OutcomeDuplicate, o.last(t))

		require.ErrorIs(t, o.ConfirmKnown(t.Context(), events.Known{OrderID: id, Version: 9}), idem.ErrStaleVersion)
		assert.Equal(t, "confirmed 4", o.found(t, id))
	})
}

// What a payload has and the statement cannot take is an error of the event, at once and with nothing written: it is not taken for
// a statement without an answer.
func TestTransition_NotSent(t *testing.T) {
	eachOrders(t, func(t *testing.T, o *orders) {
		id, unfit := o.order(t, "pending"), errors.New("does not fit the column")
		for _, bad := range []func() ([]any, error){
			func() ([]any, error) { return nil, unfit },
			func() ([]any, error) { return []any{make(chan int)}, nil },
		} {
			for _, noBody := range []bool{true, false} {
				c := o.confirmAgain(t, func(s *step) { s.args, s.noBody = bad, noBody })
				for _, err := range []error{c.do(t.Context(), id), c.keyed(t.Context(), "k", id)} {
					require.ErrorContains(t, err, "update: ")
					require.NotErrorIs(t, err, idem.ErrCommitUnknown)
					assert.Equal(t, idem.OutcomeError, o.last(t))
				}
			}
		}
		assert.Equal(t, "pending 1", o.found(t, id))
		assert.Empty(t, o.rows(t))
		o.returned(t)
	})
}
