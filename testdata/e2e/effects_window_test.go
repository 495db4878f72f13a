package e2e

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// left is how long the handler's only row is still recognised, by the database's clock; false for ever.
func (s *shop) left(t *testing.T, handler string) (time.Duration, bool) {
	t.Helper()
	expires := `expires_at`
	if s.postgres {
		expires = `(extract(epoch FROM expires_at) * 1000000)::bigint`
	}
	query := `SELECT ` + expires + ` - ` + s.now() + ` FROM idempotency_keys WHERE handler = $1`
	var us *int64
	require.NoError(t, s.look.QueryRowContext(t.Context(), s.spell(query), handler).Scan(&us))
	if us == nil {
		return 0, false
	}
	return time.Duration(*us) * time.Microsecond, true
}

func TestEffects24_Windows(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		ctx := t.Context()
		e := order()
		_, err := s.PlaceOrder(ctx, e)
		require.NoError(t, err)
		_, err = s.RushOrder(ctx, &e)
		require.NoError(t, err)
		carrier := "post"
		require.NoError(t, s.Ship(ctx, events.Shipped{Carrier: &carrier}))
		day := events.DayClosed{Shop: "main", Day: time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC)}
		number, err := s.CloseDay(ctx, day)
		require.NoError(t, err)

		const slack = time.Hour // of a machine that is slow: no window here is near another by that
		for handler, want := range map[string]time.Duration{
			"shop.Service.PlaceOrder": 24 * time.Hour,
			"shop.Service.RushOrder":  time.Minute,
			"shop.Service.Ship":       36525 * 24 * time.Hour,
		} {
			got, ends := s.left(t, d.code+handler)
			assert.True(t, ends, handler)
			assert.LessOrEqual(t, got, want, handler)
			assert.Greater(t, got, want-slack, handler)
		}
		_, ends := s.left(t, d.code+"shop.Service.CloseDay")
		assert.False(t, ends, "for ever")

		require.NoError(t, s.Ship(ctx, events.Shipped{Carrier: &carrier}))
		again, err := s.CloseDay(ctx, day)
		require.NoError(t, err)
		assert.Equal(t, number, again)
		assert.Equal(t, 4, s.effects(t))
	})
}

// A row past its window counts as absent, also where nobody has swept it, and with another amount.
func TestEffects24_Expired(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		e := order()
		first, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		require.NoError(t, s.AuditOrder(t.Context(), e))
		s.expire(t)

		e.Total++
		second, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.NotEqual(t, first, second)
		require.NoError(t, s.AuditOrder(t.Context(), e))
		assert.Equal(t, 4, s.effects(t))

		again, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, second, again)
		require.NoError(t, s.AuditOrder(t.Context(), e))
		assert.Equal(t, 4, s.effects(t))
		assert.Len(t, s.rows(t), 2)
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeExecuted: 4, idem.OutcomeDuplicate: 2}, s.outcomes())
	})
}

// Rivals for one expired row: one takes it over, the others get its result. One that rolls back leaves it as it was.
func TestEffects24_RivalsForAnExpiredRow(t *testing.T) {
	eachLevel(t, func(t *testing.T, d driver, level sql.IsolationLevel) {
		s := d.open(t, setup{options: []idem.Option{idem.WithIsolation(level), long}})
		e := order()
		_, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		s.expire(t)

		winner := s.park(t)
		failing := s.deliver(t.Context(), e)
		<-winner.reached
		const rivals = 3
		var others []<-chan answered
		for range rivals {
			others = append(others, s.deliver(t.Context(), e))
		}
		s.awaitRivals(t, rivals)
		winner.letGo <- errBusiness
		assert.Same(t, errBusiness, (<-failing).err)
		var got []events.Receipt
		for _, other := range others {
			one := <-other
			require.NoError(t, one.err)
			got = append(got, one.Receipt)
		}
		assert.Equal(t, []events.Receipt{got[0], got[0], got[0]}, got)
		assert.Equal(t, "run 3", got[0].PlacedBy)
		assert.Equal(t, 2, s.effects(t))
		assert.Len(t, s.rows(t), 1)
	})
}

// The claims, look-ups and take-overs of one row by connections and databases of odd time zones, some on either side of
// a change of the clock. Only the database's absolute time may count.
func TestEffects25_TimeZones(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		for _, zone := range []string{"Pacific/Kiritimati", "Pacific/Pago_Pago", "Australia/Lord_Howe", "<+13:45>-13:45"} {
			t.Run(zone, func(t *testing.T) {
				t.Parallel()
				for name, set := range map[string]setup{
					"session":  {conn: func(c *pgx.ConnConfig) { c.RuntimeParams["timezone"] = zone }},
					"database": {database: []string{"SET timezone = '" + zone + "'"}},
				} {
					t.Run(name, func(t *testing.T) {
						s := d.open(t, set)
						e := order()
						s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
							_, err := tx.Exec(ctx, `SET LOCAL timezone = 'America/New_York'`)
							if err != nil {
								return events.Receipt{}, err
							}
							return s.receipt(ctx, tx, e)
						}
						first, err := s.PlaceOrder(t.Context(), e)
						require.NoError(t, err)
						got, _ := s.left(t, d.code+"shop.Service.PlaceOrder")
						assert.InDelta(t, 24*time.Hour, got, float64(15*time.Minute), "no zone is as near to another")
						again, err := s.PlaceOrder(t.Context(), e)
						require.NoError(t, err)
						assert.Equal(t, first, again)
						s.expire(t)
						later, err := s.PlaceOrder(t.Context(), e)
						require.NoError(t, err)
						assert.Equal(t, "run 2", later.PlacedBy)
						assert.Equal(t, 2, s.effects(t))

						// A day that begins at another instant in each zone is keyed by that instant.
						day := events.DayClosed{Shop: "main", Day: time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC)}
						for _, offset := range []int{-11, 0, 14} {
							local := day
							local.Day = day.Day.In(time.FixedZone(zone, offset*60*60))
							_, err := s.CloseDay(t.Context(), local)
							require.NoError(t, err)
						}
						assert.Equal(t, 3, s.effects(t))
					})
				}
			})
		}
	})
}

// What a result has to survive, and what happens where it does not.
func TestResults(t *testing.T) {
	t.Run("over the limit", func(t *testing.T) {
		eachDriver(t, func(t *testing.T, d driver) {
			s := d.open(t, setup{options: []idem.Option{idem.WithResultLimit(10)}})
			e := order()
			_, err := s.PlaceOrder(t.Context(), e)
			require.NoError(t, err, "the run counts")
			_, err = s.PlaceOrder(t.Context(), e)
			require.ErrorIs(t, err, idem.ErrResultOmitted)
			assert.Equal(t, 1, s.effects(t))
			assert.Equal(t, map[idem.Outcome]int{idem.OutcomeExecuted: 1, idem.OutcomeDuplicate: 1}, s.outcomes())
		})
	})
	t.Run("no longer decodes", func(t *testing.T) {
		eachDriver(t, func(t *testing.T, d driver) {
			s := d.open(t, setup{})
			e := order()
			_, err := s.PlaceOrder(t.Context(), e)
			require.NoError(t, err)
			s.exec(t, `UPDATE idempotency_keys SET result = $1`, []byte(`{"number": "twelve"}`))
			_, err = s.PlaceOrder(t.Context(), e)
			var result *idem.ResultError
			require.ErrorAs(t, err, &result)
			var wrapped *idem.Error
			require.ErrorAs(t, err, &wrapped)
			assert.Equal(t, "acme/"+e.OrderID.String(), wrapped.Key)
			assert.Equal(t, 1, s.effects(t))
		})
	})
	t.Run("does not encode", func(t *testing.T) {
		eachDriver(t, func(t *testing.T, d driver) {
			s := d.open(t, setup{options: []idem.Option{idem.WithCodec(brokenCodec{})}})
			_, err := s.Settle(t.Context(), "acme", uuid.New())
			require.ErrorIs(t, err, errBusiness)
			s.clean(t)
		})
	})
}

type brokenCodec struct{}

func (brokenCodec) Encode(any) ([]byte, error) { return nil, errBusiness }
func (brokenCodec) Decode([]byte, any) error   { return errBusiness }
