package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// A result that the server's packets have no room for does not undo the effect: the row says done, and the outside is not called
// again.
func TestLease_ResultOverThePacket(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		for _, inText := range []bool{false, true} {
			s := d.open(t, setup{options: []idem.Option{idem.WithResultLimit(1 << 30)}, mysql: func(c *mysql.Config) {
				c.InterpolateParams = inText
			}})
			a := s.charging(t)
			honest := s.cards.charge
			s.cards.charge = func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
				r, err := honest(ctx, e)
				r.PlacedBy = strings.Repeat("x", 17<<20) // max_allowed_packet is 16 MiB
				return r, err
			}
			e := order()
			first, err := s.Charge(t.Context(), e)
			require.NoError(t, err)
			assert.Len(t, first.PlacedBy, 17<<20)
			states, _ := s.states(t)
			assert.Equal(t, []string{"done"}, states)
			_, err = s.Charge(t.Context(), e)
			require.ErrorIs(t, err, idem.ErrResultOmitted)
			assert.Equal(t, 1, a.count(t, "call"))
			s.returned(t)
		}
	})
}

// Effects 33: a permanent failure is recorded also where the database's encoding does not have the letters of its text, by a
// lease, by a transaction and within the caller's.
func TestEffects33_AnyEncoding(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{encoding: "EUC_JP", database: []string{"SET statement_timeout = 0"}})
		cause := idem.Permanent(errors.New("declined: € 5"))
		runs := 0
		s.cards.charge = func(context.Context, events.OrderPlaced) (events.Receipt, error) {
			runs++
			return events.Receipt{}, cause
		}
		s.placeOrder = func(context.Context, Tx, events.OrderPlaced) (events.Receipt, error) {
			runs++
			return events.Receipt{}, cause
		}
		joined := func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
			c := s.Begin(t)
			r, err := c.place(ctx, e)
			require.NoError(t, c.commit(ctx))
			return r, err
		}
		for n, deliver := range []func(context.Context, events.OrderPlaced) (events.Receipt, error){s.Charge, s.PlaceOrder, joined} {
			e := order()
			var failed *idem.FailedError
			_, err := deliver(t.Context(), e)
			require.ErrorAs(t, err, &failed)
			require.ErrorIs(t, err, cause)
			_, err = deliver(t.Context(), e)
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, `declined: \u20ac 5`, failed.Failure)
			assert.Equal(t, n+1, runs)
		}
		s.returned(t)
	})
}
