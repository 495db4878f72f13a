package e2e

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// manager keeps a transaction in the context, as programs do whose repositories take it from there.
type manager struct{}

// with is a context in which the transaction is found.
func (manager) with(ctx context.Context, tx Tx) context.Context {
	return context.WithValue(ctx, manager{}, tx)
}

// tx is the context's transaction.
func (manager) tx(ctx context.Context) (Tx, error) {
	tx, ok := ctx.Value(manager{}).(Tx)
	if !ok {
		return nil, errors.New("not in a transaction")
	}
	return tx, nil
}

// do runs fn in a transaction, which it commits if fn has no error.
func (m manager) do(t *testing.T, s *shop, fn func(context.Context, caller) error) error {
	t.Helper()
	c := s.Begin(t)
	ctx := context.WithoutCancel(t.Context())
	if err := fn(m.with(ctx, c.tx), c); err != nil {
		return errors.Join(err, c.rollback(ctx))
	}
	return c.commit(ctx)
}

// note is a repository's method: the transaction is the context's.
func (m manager) note(ctx context.Context, s *shop, what string) error {
	tx, err := m.tx(ctx)
	if err != nil {
		return err
	}
	return s.effect(ctx, tx, what)
}

// A program whose transactions are begun by a manager has the manager's transaction guarded by InTx: claim, effects and what
// else is done in it share its fate.
func TestTxManager_BeginsTheTransaction(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		var m manager
		s := d.open(t, setup{})
		s.placeOrder = func(ctx context.Context, _ Tx, e events.OrderPlaced) (events.Receipt, error) {
			return s.answer(e), m.note(ctx, s, e.OrderID.String())
		}
		e := order()
		deliver := func(after error) error {
			return m.do(t, s, func(ctx context.Context, c caller) error {
				if err := m.note(ctx, s, "before"); err != nil {
					return err
				}
				_, err := c.place(ctx, e)
				return errors.Join(err, after)
			})
		}
		require.ErrorIs(t, deliver(errBusiness), errBusiness)
		s.clean(t)
		require.NoError(t, deliver(nil))
		assert.Equal(t, 2, s.effects(t))
		require.NoError(t, deliver(nil))
		assert.Equal(t, 3, s.effects(t), "only what is not guarded is done again")
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeJoined: 2, idem.OutcomeDuplicate: 1}, s.outcomes())
		s.returned(t)
	})
}

// A handler puts its transaction into the context, and its repositories find it there.
func TestTxManager_FindsTheHandlersTransaction(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		var m manager
		s := d.open(t, setup{})
		var fails error
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			err := m.note(m.with(ctx, tx), s, e.OrderID.String())
			return s.answer(e), errors.Join(err, fails)
		}
		e := order()
		fails = errBusiness
		_, err := s.PlaceOrder(t.Context(), e)
		require.ErrorIs(t, err, errBusiness)
		s.clean(t)
		fails = nil
		first, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		again, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, first, again)
		assert.Equal(t, 1, s.effects(t))
	})
}
