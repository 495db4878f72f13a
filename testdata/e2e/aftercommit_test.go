package e2e

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// What was to be done after the commit sees the commit, and can have the connection. A repeat and a failed run do nothing.
func TestAfterCommit_SeesTheCommit(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{conn: inMode(pgx.QueryExecModeExec), proxied: d.postgres})
		honest := s.placeOrder
		var seen []int
		fail := error(nil)
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			r, err := s.receipt(ctx, tx, e)
			if err != nil {
				return r, err
			}
			err = idem.AfterCommit(ctx, func(context.Context) {
				s.returned(t)
				seen = append(seen, s.effects(t))
			})
			if err != nil {
				return r, err
			}
			return r, fail
		}
		e := order()
		for range 2 {
			_, err := s.PlaceOrder(t.Context(), e)
			require.NoError(t, err)
		}
		assert.Equal(t, []int{1}, seen)

		fail = errBusiness
		_, err := s.PlaceOrder(t.Context(), order())
		assert.Same(t, errBusiness, err)
		assert.Equal(t, []int{1}, seen)

		fail = nil
		s.loseCommit()
		_, err = s.PlaceOrder(t.Context(), order())
		require.NoError(t, err)
		assert.Equal(t, []int{1, 2}, seen, "a commit that was found out")

		s.placeOrder = honest
		require.ErrorIs(t, idem.AfterCommit(t.Context(), func(context.Context) {}), idem.ErrNoCommitHook)
		s.returned(t)
	})
}
