package e2e

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"
)

// A pool without a free connection is no rival: the delivery is an error that says so, nobody is told that the key is in progress,
// and no row is left of a claim that was not sent. The same if the caller does not wait for that long.
func TestLease_NoConnection(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{pool: oneConnection})
		if s.db != nil {
			s.db.SetMaxOpenConns(1)
		}
		a := s.charging(t)
		giveBack := s.take(t)
		e := order()
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { gone <- s.Wire(ctx, e) }()
		eventually(t, s.wantConnection)
		cancel()
		require.ErrorIs(t, <-gone, context.Canceled)

		err := s.Wire(t.Context(), e)
		giveBack()
		var told *idem.Error
		require.ErrorAs(t, err, &told)
		assert.False(t, errors.As(err, new(*idem.InProgressError)), "%v", err)
		assert.ErrorContains(t, err, "no connection")
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeError: 2}, s.outcomes())
		assert.Empty(t, s.rows(t))

		require.NoError(t, s.Wire(t.Context(), e))
		assert.Equal(t, 1, a.count(t, "call"))
		s.returned(t)
	})
}

// wantConnection reports whether somebody has had to wait for a connection, where the pool says so.
func (s *shop) wantConnection() bool { return s.db == nil || s.db.Stats().WaitCount > 0 }
