package e2e

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"
)

// In shadow mode a repeat is counted and runs; the first run's row stays as it was, and a guard answers from it later.
func TestShadow(t *testing.T) {
	eachLevel(t, func(t *testing.T, d driver, level sql.IsolationLevel) {
		s := d.open(t, setup{options: []idem.Option{idem.WithIsolation(level), idem.WithShadow()}})
		e := order()
		for n := 1; n <= 3; n++ {
			got, err := s.PlaceOrder(t.Context(), e)
			require.NoError(t, err)
			assert.EqualValues(t, 1<<53+n, got.Number)
			require.NoError(t, s.AuditOrder(t.Context(), e))
			assert.Equal(t, 2*n, s.effects(t))
		}
		other := e
		other.Total++
		_, err := s.PlaceOrder(t.Context(), other)
		require.NoError(t, err)
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeExecuted: 2, idem.OutcomeDuplicate: 4, idem.OutcomeMismatch: 1}, s.outcomes())
		assert.Len(t, s.rows(t), 2)
		s.returned(t)
	})
}

// A rival is not waited for.
func TestShadow_Rival(t *testing.T) {
	t.Parallel()
	for _, d := range onServers() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			d.need(t)
			s := d.open(t, setup{options: []idem.Option{long, idem.WithShadow()}})
			first := s.park(t)
			e := order()
			one := s.deliver(t.Context(), e)
			<-first.reached
			_, err := s.PlaceOrder(t.Context(), e)
			require.NoError(t, err)
			first.letGo <- nil
			require.NoError(t, (<-one).err)
			assert.Equal(t, map[idem.Outcome]int{idem.OutcomeExecuted: 1, idem.OutcomeInProgress: 1}, s.outcomes())
			assert.Equal(t, 2, s.effects(t))
			s.returned(t)
		})
	}
}

// Without its table, the handlers go on working.
func TestShadow_NoTable(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{idem.WithShadow()}})
		s.exec(t, `DROP TABLE idempotency_keys`)
		for _, deliver := range s.both(order()) {
			_, err := deliver(t.Context())
			require.NoError(t, err)
		}
		assert.Equal(t, 2, s.effects(t))
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeError: 2}, s.outcomes())
		for _, d := range s.deliveries() {
			assert.ErrorContains(t, d.Err, "idempotency_keys")
		}
		s.returned(t)
	})
}
