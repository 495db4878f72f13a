package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/myshop"
	mydb "github.com/idemgen/idemgen/testdata/e2e/myshop/idemdb"
	myshopdb "github.com/idemgen/idemgen/testdata/e2e/myshop/shopdb"
	"github.com/idemgen/idemgen/testdata/e2e/mywire"
)

// numbered are parameters as PostgreSQL writes them.
var numbered = regexp.MustCompile(`\$\d+`)

// myPassword is that of the accounts which tests make.
const myPassword = "Idemgen-1"

// newMyPlace makes a database for one test, with the given tables in it, and an account of the same name that may do anything
// there. It returns how to connect to it.
func newMyPlace(t *testing.T, tables ...string) *mysql.Config {
	t.Helper()
	root, err := mysql.ParseDSN(myServer.DSN)
	require.NoError(t, err)
	root.MultiStatements = true
	name := fmt.Sprintf("idemgen_%d_%d", os.Getpid(), places.Add(1))
	quoted := "`" + name + "`"
	require.NoError(t, executeMy(t.Context(), root, "CREATE DATABASE "+quoted,
		"CREATE USER "+quoted+"@'%' IDENTIFIED BY '"+myPassword+"'", "GRANT ALL ON "+quoted+".* TO "+quoted+"@'%'"))
	t.Cleanup(func() {
		assert.NoError(t, executeMy(context.WithoutCancel(t.Context()), root, "DROP DATABASE "+quoted, "DROP USER "+quoted+"@'%'"))
	})
	root.DBName = name
	require.NoError(t, executeMy(t.Context(), root, tables...))
	return myAccount(root, name)
}

// myPlace is a new place with the tables of the code under test, or that of another shop.
func (set setup) myPlace(t *testing.T) *mysql.Config {
	t.Helper()
	if set.same == nil {
		return newMyPlace(t, myshop.Tables, mydb.Schema)
	}
	root, err := mysql.ParseDSN(myServer.DSN)
	require.NoError(t, err)
	return myAccount(root, set.same.place)
}

// myAccount is how the account of a place connects to it.
func myAccount(server *mysql.Config, place string) *mysql.Config {
	own := server.Clone()
	own.User, own.Passwd, own.DBName, own.MultiStatements = place, myPassword, place, false
	own.Logger = &mysql.NopLogger{} // it tells of every connection that a test breaks
	return own
}

// executeMy runs statements on a connection of their own.
func executeMy(ctx context.Context, config *mysql.Config, statements ...string) (err error) {
	db, err := openMy(config)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := db.Close(); err == nil {
			err = cerr
		}
	}()
	db.SetMaxOpenConns(1)
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func openMy(config *mysql.Config) (*sql.DB, error) {
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// myEyes is a pool of the test's own: it sees all of the server, and takes "key" for a name as other engines do.
func myEyes(t *testing.T, place string) *sql.DB {
	t.Helper()
	root, err := mysql.ParseDSN(myServer.DSN)
	require.NoError(t, err)
	root.DBName, root.Params = place, map[string]string{"sql_mode": "'ANSI_QUOTES,STRICT_ALL_TABLES'"}
	root.Logger = &mysql.NopLogger{}
	db, err := openMy(root)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

func openMaria(t *testing.T, set setup) *shop {
	t.Helper()
	s := newShop("maria")
	own := set.myPlace(t)
	s.place, s.wire = own.DBName, &mywire.Wire{}
	s.look = myEyes(t, s.place)
	own.DialFunc = s.wire.Dial
	if set.mysql != nil {
		set.mysql(own)
	}
	db, err := openMy(own)
	require.NoError(t, err)
	s.db = db
	s.db.SetMaxOpenConns(poolSize)
	s.db.SetMaxIdleConns(poolSize)
	closeInTheEnd(t, s.db)

	service := myshop.NewIdempotentService(&myshop.Service{
		OnPlaceOrder: func(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) (events.Receipt, error) {
			return s.placeOrder(ctx, sqlTx{s.driver, tx}, e)
		},
		OnAuditOrder: func(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) error {
			return s.auditOrder(ctx, sqlTx{s.driver, tx}, e)
		},
		OnRushOrder: func(ctx context.Context, tx *sql.Tx, e *events.OrderPlaced) (*events.Receipt, error) {
			return s.rushOrder(ctx, sqlTx{s.driver, tx}, e)
		},
		OnReserveStock: func(ctx context.Context, log *slog.Logger, q *myshopdb.Queries, e events.StockReserved) error {
			return s.reserveStock(ctx, log, func(ctx context.Context, sku string, quantity int64) (int64, error) {
				return q.TakeStock(ctx, myshopdb.TakeStockParams{Sku: sku, Quantity: quantity})
			}, e)
		},
		OnCloseDay: func(ctx context.Context, tx myshop.DBTX, e events.DayClosed) (int64, error) {
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

	functions := myshop.NewIdempotent(s.db, s.options(set)...)
	s.Settle = func(ctx context.Context, tenant string, batch uuid.UUID) (int64, error) {
		return functions.Settle(ctx, s.settleSQL, tenant, batch)
	}
	guarded := myshop.NewIdempotentCards(&s.cards, s.db, s.options(set)...)
	s.Charge, s.Wire, s.MarkCharge = guarded.Charge, guarded.Wire, guarded.ChargeHandler().Mark
	refunds := myshop.NewIdempotentRefunds(sqlRefunds{s}, s.db, s.options(set)...)
	s.Refund, s.RefundTotal = refunds.Refund, refunds.Total
	return s
}
