package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/mywire"
)

// The network falls silent at any moment of a delivery that has an end of its own: the delivery ends all the same, and says what
// became of the event. Between the answer to COMMIT, or to ROLLBACK, and the next statement only the driver waits, which knows no
// bound.
func TestMaria_SilentNetwork(t *testing.T) {
	for name, c := range map[string]struct {
		after   string
		fails   bool // the handler
		repeat  bool // the delivery meets the key's row
		effects int  // after a second delivery, and before it
		first   int
	}{
		"after the insert":          {after: "INSERT INTO effects", effects: 1},
		"after COMMIT":              {after: myCommit, effects: 1, first: 1},
		"after a failed handler":    {after: "\x03ROLLBACK", fails: true, effects: 1},
		"after a repeat's ROLLBACK": {after: "\x03ROLLBACK", repeat: true, effects: 1, first: 1},
	} {
		t.Run(name, func(t *testing.T) {
			eachMaria(t, func(t *testing.T, d driver) {
				network := &mywire.Silence{}
				s := d.open(t, setup{mysql: func(c *mysql.Config) { c.DialFunc, c.InterpolateParams = network.Dial, true }})
				honest := s.placeOrder
				if c.fails {
					s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
						_, err := s.receipt(ctx, tx, e)
						require.NoError(t, err)
						return events.Receipt{}, errForwarded
					}
				}
				e := order()
				if c.repeat {
					_, err := s.PlaceOrder(t.Context(), e)
					require.NoError(t, err)
				}
				network.After(c.after)
				delivered := s.deliver(t.Context(), e)
				select {
				case got := <-delivered:
					switch {
					case c.fails:
						require.ErrorIs(t, got.err, errForwarded)
					case c.repeat, c.first == 0:
						require.Error(t, got.err)
					default:
						require.NoError(t, got.err)
					}
				case <-time.After(patience):
					assert.Fail(t, "the delivery does not end")
					network.End()
					<-delivered
				}
				assert.Equal(t, c.first, s.effects(t))
				assert.Equal(t, 1, network.End())
				s.returned(t)

				s.placeOrder = honest
				eventually(t, func() bool {
					_, err := s.PlaceOrder(t.Context(), e)
					return err == nil
				})
				assert.Equal(t, c.effects, s.effects(t))
				s.returned(t)
			})
		})
	}
}
