package e2e

import (
	"cmp"
	"context"
	"database/sql"
	"log/slog"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/lib/pq"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/litehook"
	"github.com/idemgen/idemgen/testdata/e2e/liteshop"
	litedb "github.com/idemgen/idemgen/testdata/e2e/liteshop/idemdb"
	liteshopdb "github.com/idemgen/idemgen/testdata/e2e/liteshop/shopdb"
	"github.com/idemgen/idemgen/testdata/e2e/stdshop"
	stddb "github.com/idemgen/idemgen/testdata/e2e/stdshop/idemdb"
	stdshopdb "github.com/idemgen/idemgen/testdata/e2e/stdshop/shopdb"
)

// sqlTx is a transaction of database/sql as a test's handler sees it.
type sqlTx struct {
	driver
	tx interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
		QueryRowContext(context.Context, string, ...any) *sql.Row
	}
}

func (x sqlTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := x.tx.ExecContext(ctx, x.spell(query), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (x sqlTx) Int(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = x.tx.QueryRowContext(ctx, x.spell(query), args...).Scan(&n)
	return n, err
}

func openStd(t *testing.T, set setup) *shop {
	t.Helper()
	s := newShop("std")
	s.openSchema(t, set, func(config *pgx.ConnConfig) *sql.DB { return stdlib.OpenDB(*config) })
	s.standard(set)
	return s
}

func openPQ(t *testing.T, set setup) *shop {
	t.Helper()
	s := newShop("pq")
	s.openSchema(t, set, func(config *pgx.ConnConfig) *sql.DB { return pqDB(t, config) })
	s.standard(set)
	return s
}

// openSchema opens a database of PostgreSQL for the code under test.
func (s *shop) openSchema(t *testing.T, set setup, open func(*pgx.ConnConfig) *sql.DB) {
	t.Helper()
	own := newPlace(t, set, stdshop.Tables, stddb.Schema)
	s.look, s.place = eyes(t, own), own.RuntimeParams["application_name"]
	config := own.Copy()
	s.reconnect(t, set, config)
	s.db = open(config)
	s.db.SetMaxOpenConns(poolSize)
	closeInTheEnd(t, s.db)
}

// pqDB opens with lib/pq what config would open with pgx. In the modes of pgx that are for proxies, and leave no prepared
// statements behind, it is binary_parameters that does so here.
func pqDB(t *testing.T, config *pgx.ConnConfig) *sql.DB {
	t.Helper()
	connector, err := pq.NewConnectorConfig(pqConfig(config))
	require.NoError(t, err)
	return sql.OpenDB(connector)
}

func pqConfig(config *pgx.ConnConfig) pq.Config {
	mode := config.DefaultQueryExecMode
	return pq.Config{
		Host: config.Host, Port: config.Port, User: config.User, Password: config.Password, Database: config.Database,
		SSLMode: pq.SSLModeDisable, Runtime: maps.Clone(config.RuntimeParams),
		BinaryParameters: mode == pgx.QueryExecModeExec || mode == pgx.QueryExecModeSimpleProtocol,
	}
}

// standard puts the generated code for PostgreSQL on the shop's database.
func (s *shop) standard(set setup) {
	service := stdshop.NewIdempotentService(&stdshop.Service{
		OnPlaceOrder: func(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) (events.Receipt, error) {
			return s.placeOrder(ctx, sqlTx{s.driver, tx}, e)
		},
		OnAuditOrder: func(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) error {
			return s.auditOrder(ctx, sqlTx{s.driver, tx}, e)
		},
		OnRushOrder: func(ctx context.Context, tx *sql.Tx, e *events.OrderPlaced) (*events.Receipt, error) {
			return s.rushOrder(ctx, sqlTx{s.driver, tx}, e)
		},
		OnReserveStock: func(ctx context.Context, log *slog.Logger, q *stdshopdb.Queries, e events.StockReserved) error {
			return s.reserveStock(ctx, log, func(ctx context.Context, sku string, quantity int64) (int64, error) {
				return q.TakeStock(ctx, stdshopdb.TakeStockParams{Sku: sku, Quantity: quantity})
			}, e)
		},
		OnCloseDay: func(ctx context.Context, tx stdshop.DBTX, e events.DayClosed) (int64, error) {
			return s.closeDay(ctx, sqlTx{s.driver, tx}, e)
		},
		OnShip: func(ctx context.Context, tx *sql.Tx, e events.Shipped) error {
			return s.ship(ctx, sqlTx{s.driver, tx}, e)
		},
	}, s.db, s.options(set)...)
	s.PlaceOrder, s.AuditOrder, s.RushOrder = service.PlaceOrder, service.AuditOrder, service.RushOrder
	s.ReserveStock, s.CloseDay, s.Ship = service.ReserveStock, service.CloseDay, service.Ship
	s.Check = service.Guard().Check
	s.Begin = func(t *testing.T) caller {
		tx, c := s.beginSQL(t)
		c.place = func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
			return service.PlaceOrderHandler().InTx(ctx, tx, e)
		}
		c.audit = func(ctx context.Context, e events.OrderPlaced) error {
			_, err := service.AuditOrderHandler().InTx(ctx, tx, e)
			return err
		}
		return c
	}
	s.Janitor = func(opts ...idem.JanitorOption) *idem.Janitor { return idem.NewJanitor(service.Guard(), opts...) }
	s.MarkOrder = service.PlaceOrderHandler().Mark
	s.MarkAudit = func(ctx context.Context, e events.OrderPlaced) error {
		return service.AuditOrderHandler().Mark(ctx, e, struct{}{})
	}
	s.OldAudit = rename(service.AuditOrderHandler(), service.Guard(), func(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) error {
		return s.auditOrder(ctx, sqlTx{s.driver, tx}, e)
	})

	functions := stdshop.NewIdempotent(s.db, s.options(set)...)
	s.Settle = func(ctx context.Context, tenant string, batch uuid.UUID) (int64, error) {
		return functions.Settle(ctx, s.settleSQL, tenant, batch)
	}
	guarded := stdshop.NewIdempotentCards(&s.cards, s.db, s.options(set)...)
	s.Charge, s.Wire, s.MarkCharge = guarded.Charge, guarded.Wire, guarded.ChargeHandler().Mark
	refunds := stdshop.NewIdempotentRefunds(sqlRefunds{s}, s.db, s.options(set)...)
	s.Refund, s.RefundTotal = refunds.Refund, refunds.Total
}

func openLite(t *testing.T, set setup) *shop {
	t.Helper()
	s := newShop("lite")
	s.openFile(t, set)
	s.lite(set)
	return s
}

func openMattn(t *testing.T, set setup) *shop {
	t.Helper()
	s := newShop("mattn")
	s.openFile(t, set)
	s.lite(set)
	return s
}

// mattnMissing says why mattn's driver cannot be had.
var mattnMissing = func() string {
	if _, ok := litehook.Mattn(); ok {
		return ""
	}
	return "needs cgo"
}()

// liteWay is the way to SQLite of a driver, if it has one.
func liteWay(driver string) (litehook.Way, bool) {
	switch driver {
	case "lite":
		return litehook.Modernc(), true
	case "mattn":
		return litehook.Mattn()
	default:
		return litehook.Way{}, false
	}
}

// lite puts the generated code for SQLite on the shop's database.
func (s *shop) lite(set setup) {
	service := liteshop.NewIdempotentService(&liteshop.Service{
		OnPlaceOrder: func(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) (events.Receipt, error) {
			return s.placeOrder(ctx, sqlTx{s.driver, tx}, e)
		},
		OnAuditOrder: func(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) error {
			return s.auditOrder(ctx, sqlTx{s.driver, tx}, e)
		},
		OnRushOrder: func(ctx context.Context, tx *sql.Tx, e *events.OrderPlaced) (*events.Receipt, error) {
			return s.rushOrder(ctx, sqlTx{s.driver, tx}, e)
		},
		OnReserveStock: func(ctx context.Context, log *slog.Logger, q *liteshopdb.Queries, e events.StockReserved) error {
			return s.reserveStock(ctx, log, func(ctx context.Context, sku string, quantity int64) (int64, error) {
				return q.TakeStock(ctx, liteshopdb.TakeStockParams{Sku: sku, Quantity: quantity})
			}, e)
		},
		OnCloseDay: func(ctx context.Context, tx liteshop.DBTX, e events.DayClosed) (int64, error) {
			return s.closeDay(ctx, sqlTx{s.driver, tx}, e)
		},
		OnShip: func(ctx context.Context, tx *sql.Tx, e events.Shipped) error {
			return s.ship(ctx, sqlTx{s.driver, tx}, e)
		},
	}, s.db, s.options(set)...)
	s.PlaceOrder, s.AuditOrder, s.RushOrder = service.PlaceOrder, service.AuditOrder, service.RushOrder
	s.ReserveStock, s.CloseDay, s.Ship = service.ReserveStock, service.CloseDay, service.Ship
	s.Check = service.Guard().Check
	s.Begin = func(t *testing.T) caller {
		tx, c := s.beginSQL(t)
		c.place = func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
			return service.PlaceOrderHandler().InTx(ctx, tx, e)
		}
		c.audit = func(ctx context.Context, e events.OrderPlaced) error {
			_, err := service.AuditOrderHandler().InTx(ctx, tx, e)
			return err
		}
		return c
	}
	s.Janitor = func(opts ...idem.JanitorOption) *idem.Janitor { return idem.NewJanitor(service.Guard(), opts...) }
	s.MarkOrder = service.PlaceOrderHandler().Mark
	s.MarkAudit = func(ctx context.Context, e events.OrderPlaced) error {
		return service.AuditOrderHandler().Mark(ctx, e, struct{}{})
	}
	s.OldAudit = rename(service.AuditOrderHandler(), service.Guard(), func(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) error {
		return s.auditOrder(ctx, sqlTx{s.driver, tx}, e)
	})

	functions := liteshop.NewIdempotent(s.db, s.options(set)...)
	s.Settle = func(ctx context.Context, tenant string, batch uuid.UUID) (int64, error) {
		return functions.Settle(ctx, s.settleSQL, tenant, batch)
	}
	guarded := liteshop.NewIdempotentCards(&s.cards, s.db, s.options(set)...)
	s.Charge, s.Wire, s.MarkCharge = guarded.Charge, guarded.Wire, guarded.ChargeHandler().Mark
	refunds := liteshop.NewIdempotentRefunds(sqlRefunds{s}, s.db, s.options(set)...)
	s.Refund, s.RefundTotal = refunds.Refund, refunds.Total
}

// openFile opens a database for the code under test, where the setup does not say otherwise without any patience of SQLite's
// own with other writers, so that all of the waiting is idemgen's.
func (s *shop) openFile(t *testing.T, set setup) {
	t.Helper()
	way, ok := liteWay(s.name)
	require.True(t, ok)
	file, settings := ":memory:", litehook.Settings{Journal: cmp.Or(set.journal, "wal"), Begin: set.begin}
	if set.patient {
		settings.Patience = 5 * time.Second
	}
	switch {
	case set.memory:
		settings.Journal = ""
	case set.shared:
		file, settings.Journal, settings.Shared = t.Name(), "", true
	default:
		file = filepath.Join(t.TempDir(), "shop.db")
	}
	if set.same != nil {
		file = set.same.file
	}
	s.file, s.place = file, way.DSN(file, settings)
	s.hook = litehook.New(way, s.place)
	s.db = sql.OpenDB(s.hook)
	closeInTheEnd(t, s.db)
	if set.memory {
		s.db.SetMaxOpenConns(1)
		s.look = s.db
	} else {
		// Eyes that wait: the code under test meets locks at once, but a test looks when it wants to.
		settings.Patience = patience
		s.look = sql.OpenDB(litehook.New(way, way.DSN(file, settings)))
		closeInTheEnd(t, s.look)
	}
	if set.same == nil {
		_, err := s.look.ExecContext(t.Context(), liteshop.Tables+litedb.Schema)
		require.NoError(t, err)
	}
}

func closeInTheEnd(t *testing.T, db *sql.DB) {
	t.Cleanup(func() {
		assert.Zero(t, db.Stats().InUse, "connections left out of the pool")
		assert.NoError(t, db.Close())
	})
}

func (s *shop) settleSQL(ctx context.Context, tx *sql.Tx) (int64, error) {
	return s.settle(ctx, sqlTx{s.driver, tx})
}

// sqlRefunds is the interface's implementation that the decorators of database/sql wrap.
type sqlRefunds struct{ *shop }

func (r sqlRefunds) Refund(ctx context.Context, tx *sql.Tx, e events.RefundAsked) error {
	return r.refund(ctx, sqlTx{r.driver, tx}, e)
}

func (r sqlRefunds) Total(context.Context) (int64, error) { return 77, errForwarded }
