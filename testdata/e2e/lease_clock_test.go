package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// Effects 22: the worker's wall clock does not matter, however far it is from the database's; and so do not two workers'. The
// statements here find a clock_timestamp that is years ahead of the worker's clock, or behind it.
func TestLease_Effects22_ClockSkew(t *testing.T) {
	for _, skew := range []string{"-1000 days", "-1 hour", "1 hour", "1000 days"} {
		t.Run(skew, func(t *testing.T) {
			eachPostgres(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{options: []idem.Option{long}, conn: func(c *pgx.ConnConfig) {
					c.RuntimeParams["search_path"] += ", pg_catalog"
				}})
				s.exec(t, `CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
					$$ SELECT pg_catalog.clock_timestamp() + interval '`+skew+`' $$`)
				a := s.charging(t)
				honest := s.cards.charge
				e := order()

				// Whoever is rival to a lease is told what is left of it, and does not take it over while it is renewed.
				reached, letGo := make(chan struct{}), make(chan struct{})
				s.cards.wire = func(ctx context.Context, _ events.OrderPlaced) error {
					close(reached)
					<-letGo
					return ctx.Err()
				}
				wired := make(chan error, 1)
				go func() { wired <- s.Wire(t.Context(), e) }()
				<-reached
				assert.Equal(t, 1, s.count(t, `SELECT count(*) FROM idempotency_keys WHERE lease_until - clock_timestamp() - interval '`+skew+`'
					BETWEEN interval '-15 minutes' AND interval '15 minutes'`), "the statements have found the other clock")
				first := s.count(t, s.leaseEnd())
				eventually(t, func() bool { return s.count(t, s.leaseEnd()) > first+1_000_000 })
				var busy *idem.InProgressError
				require.ErrorAs(t, s.Wire(t.Context(), e), &busy)
				assert.Positive(t, busy.RetryAfter)
				assert.LessOrEqual(t, busy.RetryAfter, time.Second)
				close(letGo)
				require.NoError(t, <-wired)
				require.NoError(t, s.Wire(t.Context(), e), "within the window")

				// A worker that dies is followed after its lease.
				killWorker(t, d, job{Driver: d.name, Place: strings.Join([]string{s.place, "pg_catalog"}, ", "), Stage: beforeCharge, Event: e, Outside: string(a)})
				got, err := s.Charge(t.Context(), e)
				require.NoError(t, err)
				assert.Equal(t, "run 1", got.PlacedBy)
				again, err := s.Charge(t.Context(), e)
				require.NoError(t, err)
				assert.Equal(t, got, again)
				assert.Equal(t, 1, s.count(t, `SELECT count(*) FROM idempotency_keys WHERE fence = 2`))

				// The window ends by the database's clock too.
				s.exec(t, `UPDATE idempotency_keys SET expires_at = clock_timestamp() + interval '`+skew+`' - interval '1 second'`)
				s.cards.charge = honest
				later, err := s.Charge(t.Context(), e)
				require.NoError(t, err)
				assert.Equal(t, "run 2", later.PlacedBy)
				s.returned(t)
			})
		})
	}
}
