package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// An event that is marked as handled is a repeat when it comes.
func TestMark(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		e := order()
		want := events.Receipt{Number: 1<<53 + 1, PlacedBy: "somebody else"}
		for range 2 {
			require.NoError(t, s.MarkOrder(t.Context(), e, want))
			require.NoError(t, s.MarkAudit(t.Context(), e))
		}
		got, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		require.NoError(t, s.AuditOrder(t.Context(), e))
		assert.Zero(t, s.effects(t))
		assert.Equal(t, 2, s.count(t, `SELECT count(*) FROM idempotency_keys WHERE state = 'done' AND expires_at IS NOT NULL`))

		s.expire(t)
		require.NoError(t, s.MarkOrder(t.Context(), e, want), "an expired row counts as absent")
		got, err = s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		s.returned(t)
	})
}
