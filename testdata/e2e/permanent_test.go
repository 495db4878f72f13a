package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// A failed run leaves nothing and can run again; one that failed for good leaves its record, and does not.
func TestEffects33_PermanentFailure(t *testing.T) {
	for name, expired := range map[string]bool{"a new key": false, "an expired key": true} {
		t.Run(name, func(t *testing.T) {
			eachDriver(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{})
				honest, honestAudit := s.placeOrder, s.auditOrder
				e := order()
				before := 0
				if expired {
					for _, deliver := range s.both(e) {
						_, err := deliver(t.Context())
						require.NoError(t, err)
					}
					s.expire(t)
					before = 2
				}
				// PostgreSQL takes neither byte in a text.
				refused := errors.New("refused: \x00\xff" + strings.Repeat("long ", 10_000))
				s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
					r, err := s.receipt(ctx, tx, e)
					return r, errors.Join(err, idem.Permanent(refused))
				}
				s.auditOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) error {
					_, err := s.placeOrder(ctx, tx, e)
					return err
				}
				for _, deliver := range s.both(e) {
					_, err := deliver(t.Context())
					var failed *idem.FailedError
					require.ErrorAs(t, err, &failed)
					require.ErrorIs(t, err, refused)
					first := failed.Failure
					assert.Contains(t, first, "refused: \uFFFD\uFFFD")
					assert.LessOrEqual(t, len(first), 2<<10)

					s.placeOrder, s.auditOrder = honest, honestAudit
					_, err = deliver(t.Context())
					require.ErrorAs(t, err, &failed)
					assert.Equal(t, first, failed.Failure)
					assert.NotErrorIs(t, err, refused)
					s.auditOrder = func(context.Context, Tx, events.OrderPlaced) error { return idem.Permanent(refused) }
				}
				assert.Equal(t, before, s.effects(t))
				rows := s.rows(t)
				require.Len(t, rows, 2)
				assert.Equal(t, "failed", rows[0].state)
				assert.Equal(t, "failed", rows[1].state)
				assert.Equal(t, 2, s.count(t, `SELECT count(*) FROM idempotency_keys WHERE expires_at IS NOT NULL AND failure IS NOT NULL`))
				assert.Equal(t, 4, s.outcomes()[idem.OutcomeFailed])
				s.returned(t)

				s.expire(t)
				s.placeOrder, s.auditOrder = honest, honestAudit
				for _, deliver := range s.both(e) {
					_, err := deliver(t.Context())
					require.NoError(t, err, "after the window the event is a new one")
				}
				assert.Equal(t, before+2, s.effects(t))
				assert.Equal(t, 0, s.count(t, `SELECT count(*) FROM idempotency_keys WHERE failure IS NOT NULL`))
			})
		})
	}
}

// A delivery that waits for a run that fails for good gets its failure.
func TestEffects33_RivalOfAPermanentFailure(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{long}})
		first := s.park(t)
		e := order()
		one := s.deliver(t.Context(), e)
		<-first.reached
		s.placeOrder = func(context.Context, Tx, events.OrderPlaced) (events.Receipt, error) {
			// It may run between the other one's rollback and its record.
			return events.Receipt{}, idem.Permanent(errBusiness)
		}
		two := s.deliver(t.Context(), e)
		s.awaitRivals(t, 1)
		first.letGo <- idem.Permanent(errBusiness)
		for _, answer := range []<-chan answered{one, two} {
			err := (<-answer).err
			var failed *idem.FailedError
			require.ErrorAs(t, err, &failed)
		}
		assert.Zero(t, s.effects(t))
		assert.Len(t, s.rows(t), 1)
		s.returned(t)
	})
}
