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

// commit is the message in which the client commits. "read committed" is none.
const commit = "commit\x00"

// A connection that dies in the handler takes the claim with it.
func TestConnectionLostInTheHandler(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		honest := s.placeOrder
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			r, err := s.receipt(ctx, tx, e)
			if err != nil {
				return r, err
			}
			pid, err := tx.Int(ctx, `SELECT pg_backend_pid()`)
			if err != nil {
				return r, err
			}
			s.terminate(t, pid)
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

// A COMMIT whose answer is lost may or may not have taken place. The error says so, and a redelivery is right in both
// cases: it meets the row, or it runs.
func TestCommitWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, d := range drivers()[:2] {
		for _, committed := range []bool{true, false} {
			name := d.name + " not committed"
			if committed {
				name = d.name + " committed"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				d.need(t)
				// In this mode a statement's text goes with its execution, where the proxy can see it.
				s := d.open(t, setup{proxied: true, conn: inMode(pgx.QueryExecModeExec)})
				e := order()
				for _, deliver := range []func() error{
					func() error { _, err := s.PlaceOrder(t.Context(), e); return err },
					func() error { return s.AuditOrder(t.Context(), e) },
				} {
					before := s.effects(t)
					done := make(chan struct{})
					if committed {
						s.proxy.Lose(commit)
						close(done)
					} else {
						s.proxy.Before(commit, func() {
							defer close(done)
							s.terminateAll(t)
						})
					}
					err := deliver()
					<-done
					require.ErrorIs(t, err, idem.ErrCommitUnknown)
					s.returned(t)
					require.NoError(t, deliver())
					assert.Equal(t, before+1, s.effects(t))
				}
				want := map[idem.Outcome]int{idem.OutcomeError: 2, idem.OutcomeExecuted: 2}
				if committed {
					want = map[idem.Outcome]int{idem.OutcomeError: 2, idem.OutcomeDuplicate: 2}
				}
				assert.Equal(t, want, s.outcomes())
			})
		}
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
