package e2e

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/pgxshop"
	"github.com/idemgen/idemgen/testdata/e2e/pgxshop/idemdb"
	"github.com/idemgen/idemgen/testdata/e2e/pgxshop/shopdb"
)

// poolSize leaves room for all tests that run in parallel on a server of a hundred connections.
const poolSize = 16

// pgxTx is a pgx transaction as a test's handler sees it.
type pgxTx struct {
	tx interface {
		Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
		QueryRow(context.Context, string, ...any) pgx.Row
	}
}

func (x pgxTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := x.tx.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

func (x pgxTx) Int(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = x.tx.QueryRow(ctx, query, args...).Scan(&n)
	return n, err
}

func openPGX(t *testing.T, set setup) *shop {
	t.Helper()
	s := newShop("pgx")
	openPool(t, s, set, pgxshop.Tables, idemdb.Schema)

	service := pgxshop.NewIdempotentService(&pgxshop.Service{
		OnPlaceOrder: func(ctx context.Context, tx pgx.Tx, e events.OrderPlaced) (events.Receipt, error) {
			return s.placeOrder(ctx, pgxTx{tx}, e)
		},
		OnAuditOrder: func(ctx context.Context, tx pgx.Tx, e events.OrderPlaced) error {
			return s.auditOrder(ctx, pgxTx{tx}, e)
		},
		OnRushOrder: func(ctx context.Context, tx pgx.Tx, e *events.OrderPlaced) (*events.Receipt, error) {
			return s.rushOrder(ctx, pgxTx{tx}, e)
		},
		OnReserveStock: func(ctx context.Context, log *slog.Logger, q *shopdb.Queries, e events.StockReserved) error {
			return s.reserveStock(ctx, log, func(ctx context.Context, sku string, quantity int64) (int64, error) {
				return q.TakeStock(ctx, shopdb.TakeStockParams{Sku: sku, Quantity: quantity})
			}, e)
		},
		OnCloseDay: func(ctx context.Context, tx pgxshop.DBTX, e events.DayClosed) (int64, error) {
			return s.closeDay(ctx, pgxTx{tx}, e)
		},
		OnShip: func(ctx context.Context, tx pgx.Tx, e events.Shipped) error { return s.ship(ctx, pgxTx{tx}, e) },
	}, s.pool, s.options(set)...)
	s.PlaceOrder, s.AuditOrder, s.RushOrder = service.PlaceOrder, service.AuditOrder, service.RushOrder
	s.ReserveStock, s.CloseDay, s.Ship = service.ReserveStock, service.CloseDay, service.Ship
	s.Check = service.Guard().Check
	s.Begin = func(t *testing.T) caller {
		tx, err := s.pool.Begin(t.Context())
		require.NoError(t, err)
		return caller{
			tx: pgxTx{tx}, commit: tx.Commit, rollback: tx.Rollback,
			place: func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
				return service.PlaceOrderHandler().InTx(ctx, tx, e)
			},
			audit: func(ctx context.Context, e events.OrderPlaced) error {
				_, err := service.AuditOrderHandler().InTx(ctx, tx, e)
				return err
			},
		}
	}
	s.Janitor = func(opts ...idem.JanitorOption) *idem.Janitor { return idem.NewJanitor(service.Guard(), opts...) }
	s.MarkOrder = service.PlaceOrderHandler().Mark
	s.MarkAudit = func(ctx context.Context, e events.OrderPlaced) error {
		return service.AuditOrderHandler().Mark(ctx, e, struct{}{})
	}
	s.OldAudit = rename(service.AuditOrderHandler(), service.Guard(), func(ctx context.Context, tx pgx.Tx, e events.OrderPlaced) error {
		return s.auditOrder(ctx, pgxTx{tx}, e)
	})

	functions := pgxshop.NewIdempotent(s.pool, s.options(set)...)
	s.Settle = func(ctx context.Context, tenant string, batch uuid.UUID) (int64, error) {
		return functions.Settle(ctx, func(ctx context.Context, tx pgx.Tx) (int64, error) {
			return s.settle(ctx, pgxTx{tx})
		}, tenant, batch)
	}
	guarded := pgxshop.NewIdempotentCards(&s.cards, s.pool, s.options(set)...)
	s.Charge, s.Wire, s.MarkCharge = guarded.Charge, guarded.Wire, guarded.ChargeHandler().Mark
	refunds := pgxshop.NewIdempotentRefunds(pgxRefunds{s}, s.pool, s.options(set)...)
	s.Refund, s.RefundTotal = refunds.Refund, refunds.Total
	return s
}

// openPool opens the pool of the code under test. At the test's end no connection may be in anybody's hands.
func openPool(t *testing.T, s *shop, set setup, tables ...string) {
	t.Helper()
	own := newPlace(t, set, tables...)
	s.look, s.place = eyes(t, own), own.RuntimeParams["application_name"]
	config, err := pgxpool.ParseConfig(set.dsn())
	require.NoError(t, err)
	config.ConnConfig = own.Copy()
	config.MaxConns = poolSize
	s.reconnect(t, set, config.ConnConfig)
	if set.pool != nil {
		set.pool(config)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	s.pool = pool
	t.Cleanup(func() {
		s.returned(t)
		pool.Close()
	})
}

// reconnect changes how the code under test connects to PostgreSQL, as the setup says.
func (s *shop) reconnect(t *testing.T, set setup, config *pgx.ConnConfig) {
	if set.pooler != nil {
		config.Host, config.Port, config.Fallbacks = set.pooler.Host, set.pooler.Port, nil
		delete(config.RuntimeParams, "search_path")
	}
	if set.proxied {
		s.proxy = through(t, config)
	}
	if set.conn != nil {
		set.conn(config)
	}
}

// rename is a handler of the same name and key, of another function.
func rename[Tx any](h *idem.Handler[Tx, events.OrderPlaced, struct{}], g *idem.Guard[Tx], run func(context.Context, Tx, events.OrderPlaced) error) func(context.Context, events.OrderPlaced) error {
	before := idem.NewHandler(g, idem.Spec[events.OrderPlaced]{Name: h.Name(), Window: idem.Forever, Key: h.Key}, idem.NoResult(run))
	return func(ctx context.Context, e events.OrderPlaced) error {
		_, err := before.Do(ctx, e)
		return err
	}
}

// pgxRefunds is the interface's implementation that the decorator wraps.
type pgxRefunds struct{ *shop }

func (r pgxRefunds) Refund(ctx context.Context, tx pgx.Tx, e events.RefundAsked) error {
	return r.refund(ctx, pgxTx{tx}, e)
}

func (r pgxRefunds) Total(context.Context) (int64, error) { return 77, errForwarded }

// errForwarded shows that a call went through a decorator as it is.
var errForwarded = errors.New("from the interface's own method")
