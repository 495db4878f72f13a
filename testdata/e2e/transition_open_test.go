package e2e

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/liteorders"
	"github.com/idemgen/idemgen/testdata/e2e/myorders"
	myordersdb "github.com/idemgen/idemgen/testdata/e2e/myorders/idemdb"
	"github.com/idemgen/idemgen/testdata/e2e/mywire"
	"github.com/idemgen/idemgen/testdata/e2e/pgxorders"
	pgxordersdb "github.com/idemgen/idemgen/testdata/e2e/pgxorders/idemdb"
	"github.com/idemgen/idemgen/testdata/e2e/stdorders"
)

// orders is the generated code of one driver for orders that change their state, on a database of its own.
type orders struct {
	*shop

	// body is what each transition with code does, by its name.
	body func(ctx context.Context, tx Tx, what, order, event string) error

	// Transitions with code.
	Confirm, Ship, Cancel func(context.Context, events.Moved) error
	Pay                   func(context.Context, events.Paid) (events.Receipt, error)
	CancelAll             func(context.Context, events.Vague) error
	// Transitions without.
	JustConfirm  func(context.Context, events.Moved) error
	ConfirmKnown func(context.Context, events.Known) error
	ShipAll      func(context.Context, events.Vague) error
	PayNow       func(context.Context, events.Paid) error

	// BeginOrders begins a transaction of the test's own.
	BeginOrders func(*testing.T) ordersCaller
}

// ordersCaller is a transaction of a test's own, and transitions in it.
type ordersCaller struct {
	tx               Tx
	commit, rollback func(context.Context) error
	confirm          func(context.Context, events.Moved) error
	justConfirm      func(context.Context, events.Moved) error
	pay              func(context.Context, events.Paid) error
}

// openOrders opens the orders of a driver.
func openOrders(t *testing.T, d driver, set setup, more ...string) *orders {
	t.Helper()
	o := &orders{shop: newShop(d.name)}
	o.body = func(ctx context.Context, tx Tx, what, order, event string) error {
		_, err := tx.Exec(ctx, `INSERT INTO moves (order_id, what, event) VALUES ($1, $2, $3)`, order, what, event)
		return err
	}
	map[string]func(*testing.T, *orders, setup, []string){
		"pgx": openPGXOrders, "std": openStdOrders, "my": openMyOrders, "lite": openLiteOrders,
	}[d.code](t, o, set, more)
	return o
}

func openPGXOrders(t *testing.T, o *orders, set setup, more []string) {
	t.Helper()
	openPool(t, o.shop, set, append([]string{pgxorders.Tables, pgxordersdb.Schema}, more...)...)
	service := pgxorders.NewIdempotentService(&pgxorders.Service{
		OnConfirm: func(ctx context.Context, tx pgx.Tx, e events.Moved) error {
			return o.moved(ctx, pgxTx{tx}, "confirm", e)
		},
		OnShip: func(ctx context.Context, tx pgx.Tx, e events.Moved) error { return o.moved(ctx, pgxTx{tx}, "ship", e) },
		OnCancel: func(ctx context.Context, tx pgx.Tx, e events.Moved) error {
			return o.moved(ctx, pgxTx{tx}, "cancel", e)
		},
		OnPay: func(ctx context.Context, tx pgx.Tx, e events.Paid) (events.Receipt, error) {
			return o.paid(ctx, pgxTx{tx}, e)
		},
		OnVague: func(ctx context.Context, tx pgx.Tx, e events.Vague) error {
			return o.body(ctx, pgxTx{tx}, "cancel all", e.Customer, "")
		},
	}, o.pool, o.options(set)...)
	moves := pgxorders.NewIdempotentMoves(o.pool, o.options(set)...)
	o.Confirm, o.Ship, o.Cancel, o.Pay, o.CancelAll = service.Confirm, service.Ship, service.Cancel, service.Pay, service.CancelAll
	o.JustConfirm, o.ConfirmKnown, o.ShipAll, o.PayNow = moves.Confirm, moves.ConfirmKnown, moves.ShipAll, moves.PayNow
	o.BeginOrders = func(t *testing.T) ordersCaller {
		tx, err := o.pool.Begin(t.Context())
		require.NoError(t, err)
		return ordersCaller{
			tx: pgxTx{tx}, commit: tx.Commit, rollback: tx.Rollback,
			confirm: func(ctx context.Context, e events.Moved) error { return service.ConfirmHandler().InTx(ctx, tx, e) },
			justConfirm: func(ctx context.Context, e events.Moved) error {
				return moves.ConfirmHandler().InTx(ctx, tx, e)
			},
			pay: func(ctx context.Context, e events.Paid) error {
				_, err := moves.PayNowHandler().InTx(ctx, tx, e)
				return err
			},
		}
	}
}

func openStdOrders(t *testing.T, o *orders, set setup, more []string) {
	t.Helper()
	o.openSchema(t, set, func(config *pgx.ConnConfig) *sql.DB {
		if o.name == "pq" {
			return pqDB(t, config)
		}
		return stdlib.OpenDB(*config)
	})
	o.make(t, append([]string{stdorders.Tables}, more...))
	service := stdorders.NewIdempotentService(&stdorders.Service{
		OnConfirm: func(ctx context.Context, tx *sql.Tx, e events.Moved) error {
			return o.moved(ctx, o.on(tx), "confirm", e)
		},
		OnShip: func(ctx context.Context, tx *sql.Tx, e events.Moved) error { return o.moved(ctx, o.on(tx), "ship", e) },
		OnCancel: func(ctx context.Context, tx *sql.Tx, e events.Moved) error {
			return o.moved(ctx, o.on(tx), "cancel", e)
		},
		OnPay: func(ctx context.Context, tx *sql.Tx, e events.Paid) (events.Receipt, error) {
			return o.paid(ctx, o.on(tx), e)
		},
		OnVague: func(ctx context.Context, tx *sql.Tx, e events.Vague) error {
			return o.body(ctx, o.on(tx), "cancel all", e.Customer, "")
		},
	}, o.db, o.options(set)...)
	moves := stdorders.NewIdempotentMoves(o.db, o.options(set)...)
	o.Confirm, o.Ship, o.Cancel, o.Pay, o.CancelAll = service.Confirm, service.Ship, service.Cancel, service.Pay, service.CancelAll
	o.JustConfirm, o.ConfirmKnown, o.ShipAll, o.PayNow = moves.Confirm, moves.ConfirmKnown, moves.ShipAll, moves.PayNow
	o.BeginOrders = func(t *testing.T) ordersCaller {
		return o.callerSQL(t, func(tx *sql.Tx) (_, _ func(context.Context, events.Moved) error, _ func(context.Context, events.Paid) error) {
			return func(ctx context.Context, e events.Moved) error { return service.ConfirmHandler().InTx(ctx, tx, e) },
				func(ctx context.Context, e events.Moved) error { return moves.ConfirmHandler().InTx(ctx, tx, e) },
				func(ctx context.Context, e events.Paid) error {
					_, err := moves.PayNowHandler().InTx(ctx, tx, e)
					return err
				}
		})
	}
}

func openMyOrders(t *testing.T, o *orders, set setup, more []string) {
	t.Helper()
	own := newMyPlace(t, append([]string{myorders.Tables, myordersdb.Schema}, more...)...)
	o.place, o.wire = own.DBName, &mywire.Wire{}
	o.look = myEyes(t, o.place)
	own.DialFunc = o.wire.Dial
	if set.mysql != nil {
		set.mysql(own)
	}
	db, err := openMy(own)
	require.NoError(t, err)
	o.db = db
	o.db.SetMaxOpenConns(poolSize)
	o.db.SetMaxIdleConns(poolSize)
	closeInTheEnd(t, o.db)
	service := myorders.NewIdempotentService(&myorders.Service{
		OnConfirm: func(ctx context.Context, tx *sql.Tx, e events.Moved) error {
			return o.moved(ctx, o.on(tx), "confirm", e)
		},
		OnShip: func(ctx context.Context, tx *sql.Tx, e events.Moved) error { return o.moved(ctx, o.on(tx), "ship", e) },
		OnCancel: func(ctx context.Context, tx *sql.Tx, e events.Moved) error {
			return o.moved(ctx, o.on(tx), "cancel", e)
		},
		OnPay: func(ctx context.Context, tx *sql.Tx, e events.Paid) (events.Receipt, error) {
			return o.paid(ctx, o.on(tx), e)
		},
		OnVague: func(ctx context.Context, tx *sql.Tx, e events.Vague) error {
			return o.body(ctx, o.on(tx), "cancel all", e.Customer, "")
		},
	}, o.db, o.options(set)...)
	moves := myorders.NewIdempotentMoves(o.db, o.options(set)...)
	o.Confirm, o.Ship, o.Cancel, o.Pay, o.CancelAll = service.Confirm, service.Ship, service.Cancel, service.Pay, service.CancelAll
	o.JustConfirm, o.ConfirmKnown, o.ShipAll, o.PayNow = moves.Confirm, moves.ConfirmKnown, moves.ShipAll, moves.PayNow
	o.BeginOrders = func(t *testing.T) ordersCaller {
		return o.callerSQL(t, func(tx *sql.Tx) (_, _ func(context.Context, events.Moved) error, _ func(context.Context, events.Paid) error) {
			return func(ctx context.Context, e events.Moved) error { return service.ConfirmHandler().InTx(ctx, tx, e) },
				func(ctx context.Context, e events.Moved) error { return moves.ConfirmHandler().InTx(ctx, tx, e) },
				func(ctx context.Context, e events.Paid) error {
					_, err := moves.PayNowHandler().InTx(ctx, tx, e)
					return err
				}
		})
	}
}

func openLiteOrders(t *testing.T, o *orders, set setup, more []string) {
	t.Helper()
	o.openFile(t, set)
	o.make(t, append([]string{liteorders.Tables}, more...))
	service := liteorders.NewIdempotentService(&liteorders.Service{
		OnConfirm: func(ctx context.Context, tx *sql.Tx, e events.Moved) error {
			return o.moved(ctx, o.on(tx), "confirm", e)
		},
		OnShip: func(ctx context.Context, tx *sql.Tx, e events.Moved) error { return o.moved(ctx, o.on(tx), "ship", e) },
		OnCancel: func(ctx context.Context, tx *sql.Tx, e events.Moved) error {
			return o.moved(ctx, o.on(tx), "cancel", e)
		},
		OnPay: func(ctx context.Context, tx *sql.Tx, e events.Paid) (events.Receipt, error) {
			return o.paid(ctx, o.on(tx), e)
		},
		OnVague: func(ctx context.Context, tx *sql.Tx, e events.Vague) error {
			return o.body(ctx, o.on(tx), "cancel all", e.Customer, "")
		},
	}, o.db, o.options(set)...)
	moves := liteorders.NewIdempotentMoves(o.db, o.options(set)...)
	o.Confirm, o.Ship, o.Cancel, o.Pay, o.CancelAll = service.Confirm, service.Ship, service.Cancel, service.Pay, service.CancelAll
	o.JustConfirm, o.ConfirmKnown, o.ShipAll, o.PayNow = moves.Confirm, moves.ConfirmKnown, moves.ShipAll, moves.PayNow
	o.BeginOrders = func(t *testing.T) ordersCaller {
		return o.callerSQL(t, func(tx *sql.Tx) (_, _ func(context.Context, events.Moved) error, _ func(context.Context, events.Paid) error) {
			return func(ctx context.Context, e events.Moved) error { return service.ConfirmHandler().InTx(ctx, tx, e) },
				func(ctx context.Context, e events.Moved) error { return moves.ConfirmHandler().InTx(ctx, tx, e) },
				func(ctx context.Context, e events.Paid) error {
					_, err := moves.PayNowHandler().InTx(ctx, tx, e)
					return err
				}
		})
	}
}

// make makes tables beside those that are there.
func (o *orders) make(t *testing.T, all []string) {
	t.Helper()
	for _, statements := range all {
		_, err := o.look.ExecContext(t.Context(), statements)
		require.NoError(t, err)
	}
}

// on is a transaction of database/sql as a body sees it.
func (o *orders) on(tx *sql.Tx) Tx { return sqlTx{o.driver, tx} }

// callerSQL begins a transaction of the test's own through database/sql.
func (o *orders) callerSQL(t *testing.T, in func(*sql.Tx) (confirm, justConfirm func(context.Context, events.Moved) error, pay func(context.Context, events.Paid) error)) ordersCaller {
	t.Helper()
	tx, err := o.db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	c := ordersCaller{
		tx:       o.on(tx),
		commit:   func(context.Context) error { return tx.Commit() },
		rollback: func(context.Context) error { return tx.Rollback() },
	}
	c.confirm, c.justConfirm, c.pay = in(tx)
	return c
}

func (o *orders) moved(ctx context.Context, tx Tx, what string, e events.Moved) error {
	return o.body(ctx, tx, what, e.OrderID, e.Event)
}

func (o *orders) paid(ctx context.Context, tx Tx, e events.Paid) (events.Receipt, error) {
	if err := o.body(ctx, tx, "pay", e.OrderID, e.PaymentID); err != nil {
		return events.Receipt{}, err
	}
	return events.Receipt{Number: o.runs.Add(1), PlacedBy: e.PaymentID}, nil
}
