package main

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/kill"
	"github.com/idemgen/idemgen/testdata/e2e/litehook"
	"github.com/idemgen/idemgen/testdata/e2e/liteorders"
	"github.com/idemgen/idemgen/testdata/e2e/liteshop"
	"github.com/idemgen/idemgen/testdata/e2e/stdorders"
	"github.com/idemgen/idemgen/testdata/e2e/stdshop"
)

// engine is what differs between the databases behind database/sql.
type engine struct {
	spell    func(query string) string // parameters as the engine wants them
	conflict func(context.Context, statement) error
}

func (w *worker) openStd(s *stop) (shop, error) {
	config, err := w.postgres(s)
	if err != nil {
		return shop{}, err
	}
	db := stdlib.OpenDB(*config.ConnConfig)
	db.SetMaxOpenConns(conns)
	body := w.bodySQL(engine{
		spell:    func(query string) string { return query },
		conflict: func(ctx context.Context, exec statement) error { return exec(ctx, serialization) },
	})
	service := stdshop.NewIdempotentService(&stdshop.Service{OnPlaceOrder: body.place, OnAuditOrder: body.audit}, db)
	cards := stdshop.NewIdempotentCards(charging{w}, db)
	shop := sqlShop(db, service, cards)
	shop.moves = movesSQL(db, stdorders.NewIdempotentService(&stdorders.Service{OnConfirm: body.confirm, OnPay: body.pay}, db), stdorders.NewIdempotentMoves(db))
	return shop, nil
}

// busy is an error of SQLite's for a transaction that met another one. Code is SQLITE_BUSY.
type busy struct{}

func (busy) Error() string { return "another one writes" }
func (busy) Code() int     { return 5 }

func (w *worker) openLite() (shop, error) {
	hook := litehook.New(litehook.Modernc(), w.job.Place)
	w.loseLite(hook)
	db := hook.Open()
	db.SetMaxOpenConns(conns)
	body := w.bodySQL(engine{
		spell:    func(query string) string { return strings.ReplaceAll(query, "$", "?") },
		conflict: func(context.Context, statement) error { return busy{} },
	})
	service := liteshop.NewIdempotentService(&liteshop.Service{OnPlaceOrder: body.place, OnAuditOrder: body.audit}, db)
	cards := liteshop.NewIdempotentCards(charging{w}, db)
	shop := sqlShop(db, service, cards)
	shop.moves = movesSQL(db, liteorders.NewIdempotentService(&liteorders.Service{OnConfirm: body.confirm, OnPay: body.pay}, db), liteorders.NewIdempotentMoves(db))
	return shop, nil
}

// loseLite loses what a network would. What does not arrive is not executed, and neither is the ROLLBACK behind a COMMIT, which
// would tell the fate of that; where only every second does not, all COMMITs are executed.
func (w *worker) loseLite(hook *litehook.Connector) {
	for n := range w.job.Lose {
		switch {
		case w.job.Losing == kill.Unsent:
			hook.FailThen("COMMIT", func() { hook.Fail("ROLLBACK") })
		case w.job.Losing == kill.Commits, w.job.Losing == kill.Moves:
			hook.Lose("COMMIT")
		case w.job.Losing == kill.Granted, n%2 == 0:
			hook.LoseThen(claim, w.claimLost)
		default:
			hook.FailThen(claim, w.claimLost)
		}
	}
}

// bodySQL are the handlers with a transaction.
type bodySQL func(context.Context, kill.Call, *sql.Tx, events.OrderPlaced) (events.Receipt, error)

func (w *worker) bodySQL(in engine) bodySQL {
	return func(ctx context.Context, call kill.Call, tx *sql.Tx, e events.OrderPlaced) (events.Receipt, error) {
		exec := func(ctx context.Context, query string, args ...any) error {
			_, err := tx.ExecContext(ctx, in.spell(query), args...)
			return err
		}
		return w.order(ctx, call, exec, func(ctx context.Context) error { return in.conflict(ctx, exec) }, e)
	}
}

func (run bodySQL) place(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) (events.Receipt, error) {
	return run(ctx, kill.PlaceOrder, tx, e)
}

func (run bodySQL) audit(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) error {
	_, err := run(ctx, kill.AuditOrder, tx, e)
	return err
}

// The generated types of the shops of database/sql.
type (
	sqlService interface {
		PlaceOrder(context.Context, events.OrderPlaced) (events.Receipt, error)
		AuditOrder(context.Context, events.OrderPlaced) error
		PlaceOrderHandler() *idem.Handler[*sql.Tx, events.OrderPlaced, events.Receipt]
		Guard() *idem.Guard[*sql.Tx]
	}
	sqlCards interface {
		Charge(context.Context, events.OrderPlaced) (events.Receipt, error)
		Wire(context.Context, events.OrderPlaced) error
		ChargeHandler() *idem.Lease[events.OrderPlaced, events.Receipt]
	}
)

func sqlShop(db *sql.DB, service sqlService, cards sqlCards) shop {
	return shop{
		place: service.PlaceOrder, audit: service.AuditOrder, markOrder: service.PlaceOrderHandler().Mark,
		join: func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
			return joinSQL(ctx, db, func(tx *sql.Tx) (events.Receipt, error) { return service.PlaceOrderHandler().InTx(ctx, tx, e) })
		},
		charge: cards.Charge, wire: cards.Wire, markCharge: cards.ChargeHandler().Mark,
		janitor: idem.NewJanitor(service.Guard(), idem.WithSweepBatch(sweepBatch), idem.WithSweepPace(0)),
	}
}

// joinSQL is joinPGX for database/sql.
func joinSQL[R any](ctx context.Context, db *sql.DB, inTx func(*sql.Tx) (R, error)) (r R, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return r, err
	}
	defer func() {
		if rerr := tx.Rollback(); rerr != nil && !errors.Is(rerr, sql.ErrTxDone) {
			err = errors.Join(err, rerr)
		}
	}()
	r, err = inTx(tx)
	return r, errors.Join(err, tx.Commit())
}
