package e2e

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// decoded is an order as a consumer gets it.
func decoded(t *testing.T, text string) (e events.OrderPlaced) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &e))
	return e
}

func TestEffects01_ZeroKey(t *testing.T) {
	id, line := uuid.New(), int32(1)
	for name, deliver := range map[string]func(*testing.T, *shop) error{
		"no tenant": func(t *testing.T, s *shop) error {
			_, err := s.PlaceOrder(t.Context(), events.OrderPlaced{OrderID: id})
			return err
		},
		"zero uuid": func(t *testing.T, s *shop) error {
			_, err := s.PlaceOrder(t.Context(), events.OrderPlaced{TenantID: "acme"})
			return err
		},
		"both": func(t *testing.T, s *shop) error {
			return s.AuditOrder(t.Context(), events.OrderPlaced{})
		},
		"mistyped field": func(t *testing.T, s *shop) error {
			_, err := s.PlaceOrder(t.Context(), decoded(t, `{"tenant_id": "acme", "order": "8f14e45f-ceea-467f-a8f9-3c1d2b7a9e10"}`))
			return err
		},
		"null": func(t *testing.T, s *shop) error {
			_, err := s.PlaceOrder(t.Context(), decoded(t, `{"tenant_id": null, "order_id": "8f14e45f-ceea-467f-a8f9-3c1d2b7a9e10"}`))
			return err
		},
		"nil payload": func(t *testing.T, s *shop) error {
			_, err := s.RushOrder(t.Context(), nil)
			return err
		},
		"nil pointer": func(t *testing.T, s *shop) error {
			return s.Refund(t.Context(), events.RefundAsked{Payment: "p1"})
		},
		"empty named string": func(t *testing.T, s *shop) error {
			return s.Refund(t.Context(), events.RefundAsked{Line: &line})
		},
		"zero time": func(t *testing.T, s *shop) error {
			_, err := s.CloseDay(t.Context(), events.DayClosed{Shop: "main"})
			return err
		},
		"zero parameter": func(t *testing.T, s *shop) error {
			_, err := s.Settle(t.Context(), "acme", uuid.Nil)
			return err
		},
		"every part absent, each allowed to be": func(t *testing.T, s *shop) error {
			return s.Ship(t.Context(), events.Shipped{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachDriver(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{})
				err := deliver(t, s)
				require.ErrorIs(t, err, idem.ErrZeroKey)
				var wrapped *idem.Error
				require.ErrorAs(t, err, &wrapped)
				assert.NotEmpty(t, wrapped.Handler)
				s.clean(t)
				assert.Equal(t, map[idem.Outcome]int{idem.OutcomeError: 1}, s.outcomes())
			})
		})
	}
}

func TestEffects02_AttributeOrder(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		first, err := s.PlaceOrder(t.Context(), decoded(t,
			`{"tenant_id": "acme", "order_id": "8f14e45f-ceea-467f-a8f9-3c1d2b7a9e10", "total": 7, "labels": {"a": "1", "b": "2"}}`))
		require.NoError(t, err)
		again, err := s.PlaceOrder(t.Context(), decoded(t,
			`{"labels": {"b": "2", "a": "1"}, "total": 7, "order_id": "8f14e45f-ceea-467f-a8f9-3c1d2b7a9e10", "tenant_id": "acme"}`))
		require.NoError(t, err)
		assert.Equal(t, first, again)
		assert.Len(t, s.rows(t), 1)
		assert.Equal(t, 1, s.effects(t))
	})
}

func TestEffects03_TextForms(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		for _, spelling := range []string{"8f14e45f-ceea-467f-a8f9-3c1d2b7a9e10", "8F14E45F-CEEA-467F-A8F9-3C1D2B7A9E10"} {
			_, err := s.PlaceOrder(t.Context(), decoded(t, `{"tenant_id": "acme", "order_id": "`+spelling+`"}`))
			require.NoError(t, err)
		}
		// One instant, told by clocks in Berlin and in UTC, and by one with a monotonic part.
		day := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC)
		now := time.Now()
		for _, at := range []time.Time{day, day.In(time.FixedZone("CEST", 2*60*60)), now, now.Round(0)} {
			_, err := s.CloseDay(t.Context(), events.DayClosed{Shop: "a/b", Day: at})
			require.NoError(t, err)
		}
		rows := s.rows(t)
		require.Len(t, rows, 3)
		keys := []string{rows[0].key, rows[1].key, rows[2].key}
		assert.Contains(t, keys, "acme/8f14e45f-ceea-467f-a8f9-3c1d2b7a9e10")
		assert.Contains(t, keys, "a%2Fb/2026-10-25T00%3A30%3A00Z")
		assert.Equal(t, 3, s.effects(t))
	})
}

func TestEffects04_TwoHandlersOfOneEvent(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		e := order()
		for range 2 {
			_, err := s.PlaceOrder(t.Context(), e)
			require.NoError(t, err)
			require.NoError(t, s.AuditOrder(t.Context(), e))
		}
		key := "acme/" + e.OrderID.String()
		assert.ElementsMatch(t, []row{
			{d.code + ".audit", key, "done"},
			{d.code + "shop.Service.PlaceOrder", key, "done"},
		}, s.rows(t))
		assert.Equal(t, 2, s.effects(t))
	})
}

func TestEffects04_RenamedHandlerKeepsItsRow(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		e := order()
		require.NoError(t, s.OldAudit(t.Context(), e))
		require.NoError(t, s.AuditOrder(t.Context(), e))
		assert.Equal(t, 1, s.effects(t))
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeExecuted: 1, idem.OutcomeDuplicate: 1}, s.outcomes())
	})
}

func TestEffects05_NoiseHasNoInfluence(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		e := order()
		e.TraceID, e.SentAt = "trace-1", time.Now()
		first, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		e.TraceID, e.SentAt, e.Attempt, e.Labels = "trace-2", time.Now(), 7, map[string]string{"retry": "yes"}
		again, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, first, again)
		assert.Equal(t, 1, s.effects(t))

		seen := s.deliveries()
		require.Len(t, seen, 2)
		assert.Equal(t, 1, seen[0].Attempt)
		assert.Equal(t, 7, seen[1].Attempt, "the attempt is for the observer")
	})
}

func TestEffects06_TwoTenantsOneNumber(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		a, b := order(), order()
		b.OrderID, b.TenantID = a.OrderID, "globex"
		forA, err := s.PlaceOrder(t.Context(), a)
		require.NoError(t, err)
		forB, err := s.PlaceOrder(t.Context(), b)
		require.NoError(t, err)
		assert.NotEqual(t, forA, forB)
		assert.Len(t, s.rows(t), 2)
		assert.Equal(t, 2, s.effects(t))
	})
}

func TestEffects07_OtherAmount(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		e := order()
		first, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)

		changed := e
		changed.Total++
		got, err := s.PlaceOrder(t.Context(), changed)
		require.ErrorIs(t, err, idem.ErrPayloadMismatch)
		assert.Zero(t, got, "not the stored result")
		var wrapped *idem.Error
		require.ErrorAs(t, err, &wrapped)
		assert.Equal(t, d.code+"shop.Service.PlaceOrder", wrapped.Handler)
		assert.Equal(t, "acme/"+e.OrderID.String(), wrapped.Key)

		again, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, first, again, "the mismatch has changed nothing")
		assert.Equal(t, 1, s.effects(t))
		assert.Equal(t, map[idem.Outcome]int{
			idem.OutcomeExecuted: 1, idem.OutcomeMismatch: 1, idem.OutcomeDuplicate: 1,
		}, s.outcomes())

		line := int32(3)
		require.NoError(t, s.Refund(t.Context(), events.RefundAsked{Payment: "p", Line: &line, Amount: 5}))
		require.NoError(t, s.Refund(t.Context(), events.RefundAsked{Payment: "p", Line: &line, Amount: 5}))
		require.ErrorIs(t, s.Refund(t.Context(), events.RefundAsked{Payment: "p", Line: &line, Amount: 6}), idem.ErrPayloadMismatch,
			"a handler without a result")
		assert.Equal(t, 2, s.effects(t))
	})
}

// The forms of handlers: each runs once and answers its repeat.
func TestForms(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		ctx := t.Context()

		e := order()
		first, err := s.RushOrder(ctx, &e)
		require.NoError(t, err)
		again, err := s.RushOrder(ctx, &e)
		require.NoError(t, err)
		assert.Equal(t, first, again, "pointers")

		s.exec(t, `INSERT INTO stock (sku, on_hand) VALUES ('tea', 10)`)
		log := slog.New(slog.DiscardHandler)
		var logs []*slog.Logger
		reserve := s.reserveStock
		s.reserveStock = func(ctx context.Context, l *slog.Logger, take takeStock, e events.StockReserved) error {
			logs = append(logs, l)
			return reserve(ctx, l, take, e)
		}
		reserved := events.StockReserved{OrderID: e.OrderID, SKU: "tea", Quantity: 3}
		for range 2 {
			require.NoError(t, s.ReserveStock(ctx, log, reserved))
		}
		assert.Equal(t, []*slog.Logger{log}, logs, "a further parameter")
		assert.Equal(t, 7, s.count(t, `SELECT on_hand FROM stock`), "sqlc's queries")

		batch := uuid.New()
		settled, err := s.Settle(ctx, "acme", batch)
		require.NoError(t, err)
		resettled, err := s.Settle(ctx, "acme", batch)
		require.NoError(t, err)
		assert.Equal(t, settled, resettled, "a function keyed by parameters")

		line := int32(-1)
		for range 2 {
			require.NoError(t, s.Refund(ctx, events.RefundAsked{Payment: "p-1", Line: &line}))
		}
		total, err := s.RefundTotal(ctx)
		assert.EqualValues(t, 77, total)
		require.ErrorIs(t, err, errForwarded, "a method that the decorator forwards")

		carrier := "post"
		for range 2 {
			require.NoError(t, s.Ship(ctx, events.Shipped{Carrier: &carrier}))
		}
		assert.Equal(t, 4, s.effects(t))
		assert.ElementsMatch(t, []row{
			{d.code + "shop.Service.RushOrder", "acme/" + e.OrderID.String(), "done"},
			{d.code + "shop.Service.ReserveStock", e.OrderID.String() + "/tea", "done"},
			{d.code + "shop.Settle", "acme/" + batch.String(), "done"},
			{d.code + "shop.Refunds.Refund", "p-1/-1", "done"},
			{d.code + "shop.Service.Ship", "post/~", "done"},
		}, s.rows(t))
	})
}
