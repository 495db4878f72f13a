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
	"github.com/idemgen/idemgen/testdata/e2e/liteshop"
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
	place, audit := w.sqlOrders(engine{
		spell:    func(query string) string { return query },
		conflict: func(ctx context.Context, exec statement) error { return exec(ctx, serialization) },
	})
	service := stdshop.NewIdempotentService(&stdshop.Service{OnPlaceOrder: place, OnAuditOrder: audit}, db)
	cards := stdshop.NewIdempotentCards(charging{w}, db)
	return sqlShop(db, service, cards), nil
}

// busy is an error of SQLite's for a transaction that met another one. Code is SQLITE_BUSY.
type busy struct{}

func (busy) Error() string { return "another one writes" }
func (busy) Code() int     { return 5 }

func (w *worker) openLite() (shop, error) {
	hook := litehook.New(litehook.Modernc(), w.job.Place)
	for range w.job.Lose {
		hook.Lose("COMMIT")
	}
	db := hook.Open()
	db.SetMaxOpenConns(conns)
	place, audit := w.sqlOrders(engine{
		spell:    func(query string) string { return strings.ReplaceAll(query, "$", "?") },
		conflict: func(context.Context, statement) error { return busy{} },
	})
	service := liteshop.NewIdempotentService(&liteshop.Service{OnPlaceOrder: place, OnAuditOrder: audit}, db)
	cards := liteshop.NewIdempotentCards(charging{w}, db)
	return sqlShop(db, service, cards), nil
}

type (
	placeSQL func(context.Context, *sql.Tx, events.OrderPlaced) (events.Receipt, error)
	auditSQL func(context.Context, *sql.Tx, events.OrderPlaced) error
)

// sqlOrders are the handlers with a transaction.
func (w *worker) sqlOrders(in engine) (placeSQL, auditSQL) {
	order := func(ctx context.Context, call kill.Call, tx *sql.Tx, e events.OrderPlaced) (events.Receipt, error) {
		exec := func(ctx context.Context, query string, args ...any) error {
			_, err := tx.ExecContext(ctx, in.spell(query), args...)
			return err
		}
		return w.order(ctx, call, exec, func(ctx context.Context) error { return in.conflict(ctx, exec) }, e)
	}
	place := func(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) (events.Receipt, error) {
		return order(ctx, kill.PlaceOrder, tx, e)
	}
	audit := func(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) error {
		_, err := order(ctx, kill.AuditOrder, tx, e)
		return err
	}
	return place, audit
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
			return joinSQL(ctx, db, service.PlaceOrderHandler(), e)
		},
		charge: cards.Charge, wire: cards.Wire, markCharge: cards.ChargeHandler().Mark,
		janitor: idem.NewJanitor(service.Guard(), idem.WithSweepBatch(sweepBatch), idem.WithSweepPace(0)),
	}
}

// joinSQL is joinPGX for database/sql.
func joinSQL(ctx context.Context, db *sql.DB, h *idem.Handler[*sql.Tx, events.OrderPlaced, events.Receipt], e events.OrderPlaced) (r events.Receipt, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return r, err
	}
	defer func() {
		if rerr := tx.Rollback(); rerr != nil && !errors.Is(rerr, sql.ErrTxDone) {
			err = errors.Join(err, rerr)
		}
	}()
	r, err = h.InTx(ctx, tx, e)
	return r, errors.Join(err, tx.Commit())
}
