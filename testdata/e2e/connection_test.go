package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// commit is the message in which the client commits. "read committed" is none.
const commit = "commit\x00"

// A connection that dies in the handler takes the claim with it.
func TestConnectionLostInTheHandler(t *testing.T) {
	eachServer(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		honest := s.placeOrder
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			r, err := s.receipt(ctx, tx, e)
			if err != nil {
				return r, err
			}
			myself := `SELECT pg_backend_pid()`
			if d.mysql {
				myself = `SELECT CONNECTION_ID()`
			}
			id, err := tx.Int(ctx, myself)
			if err != nil {
				return r, err
			}
			if d.mysql {
				s.kill(t, id)
			} else {
				s.terminate(t, id)
			}
			_, err = tx.Exec(ctx, `SELECT 1`)
			assert.Error(t, err)
			return r, nil // swallowed
		}
		e := order()
		_, err := s.PlaceOrder(t.Context(), e)
		require.Error(t, err)
		s.clean(t)
		s.returned(t)

		s.placeOrder = honest
		_, err = s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, 1, s.effects(t))
	})
}

// terminate ends a connection on the server's side and waits until it is gone.
func (s *shop) terminate(t *testing.T, pid int64) {
	t.Helper()
	s.exec(t, `SELECT pg_terminate_backend($1)`, pid)
	eventually(t, func() bool { return s.count(t, `SELECT count(*) FROM pg_stat_activity WHERE pid = $1`, pid) == 0 })
}

// endAll ends all connections of the code under test that there are now, and returns when they are gone.
func (s *shop) endAll(t *testing.T) {
	t.Helper()
	if s.mysql {
		s.killAll(t)
	} else {
		s.terminateAll(t)
	}
}

// terminateAll ends all connections of the code under test that there are now.
func (s *shop) terminateAll(t *testing.T) {
	t.Helper()
	rows, err := s.look.QueryContext(t.Context(), `SELECT pid FROM pg_stat_activity WHERE application_name = $1`, s.place)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var pid int64
		require.NoError(t, rows.Scan(&pid))
		s.terminate(t, pid)
	}
	require.NoError(t, rows.Err())
}
