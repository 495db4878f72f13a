package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// All idle connections are broken, as after a restart, before a claim or under a run: through database/sql that costs no delivery
// of a lease, and no lease, however many they are. (pgx's pool looks after a connection that was idle for a second.)
func TestLease_IdleConnectionsBroken(t *testing.T) {
	each(t, driversThat(func(d driver) bool { return d.code == "std" || d.mysql }), func(t *testing.T, d driver) {
		const idle = 20 // more than there are renewals in a lease, should each meet one of them
		s := d.open(t, setup{options: []idem.Option{long}})
		s.db.SetMaxOpenConns(idle)
		s.db.SetMaxIdleConns(idle)
		breakAll := func() {
			var giveBack [idle]func()
			for i := range giveBack {
				giveBack[i] = s.take(t)
			}
			for _, give := range giveBack {
				give()
			}
			s.endAll(t)
		}
		a := s.charging(t)
		honest := s.cards.charge
		s.cards.charge = func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
			breakAll()
			first := s.count(t, s.leaseEnd())
			eventually(t, func() bool { return ctx.Err() != nil || s.count(t, s.leaseEnd()) > first })
			assert.NoError(t, ctx.Err())
			return honest(ctx, e)
		}
		l := s.leased(t, 3*time.Second, setup{})
		breakAll()
		_, err := l.Do(t.Context(), order())
		require.NoError(t, err)
		assert.Equal(t, 1, a.count(t, "call"))
		s.returned(t)
	})
}
