package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/kill"
	"github.com/idemgen/idemgen/testdata/e2e/pgxshop"
)

// conns bounds the connections of a worker: many of them share a server.
const conns = 4

// serialization fails as PostgreSQL does for a transaction that lost against another one.
const serialization = `DO $$ BEGIN RAISE SQLSTATE '40001'; END $$`

// postgres is how a worker connects.
func (w *worker) postgres(s *stop) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(w.job.Server)
	if err != nil {
		return nil, err
	}
	config.MaxConns = conns
	config.ConnConfig.RuntimeParams["search_path"] = w.job.Place
	config.ConnConfig.RuntimeParams["application_name"] = w.job.Place
	config.ConnConfig.DialFunc = w.network(s).dial
	if w.job.Texts {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
		config.ConnConfig.StatementCacheCapacity, config.ConnConfig.DescriptionCacheCapacity = 0, 0
	}
	return config, nil
}

func (w *worker) openPGX(ctx context.Context, s *stop) (shop, error) {
	config, err := w.postgres(s)
	if err != nil {
		return shop{}, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return shop{}, err
	}
	order := func(ctx context.Context, call kill.Call, tx pgx.Tx, e events.OrderPlaced) (events.Receipt, error) {
		exec := func(ctx context.Context, query string, args ...any) error {
			_, err := tx.Exec(ctx, query, args...)
			return err
		}
		return w.order(ctx, call, exec, func(ctx context.Context) error { return exec(ctx, serialization) }, e)
	}
	service := pgxshop.NewIdempotentService(&pgxshop.Service{
		OnPlaceOrder: func(ctx context.Context, tx pgx.Tx, e events.OrderPlaced) (events.Receipt, error) {
			return order(ctx, kill.PlaceOrder, tx, e)
		},
		OnAuditOrder: func(ctx context.Context, tx pgx.Tx, e events.OrderPlaced) error {
			_, err := order(ctx, kill.AuditOrder, tx, e)
			return err
		},
	}, pool)
	cards := pgxshop.NewIdempotentCards(charging{w}, pool)
	return shop{
		place: service.PlaceOrder, audit: service.AuditOrder, markOrder: service.PlaceOrderHandler().Mark,
		join: func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
			return joinPGX(ctx, pool, func(tx pgx.Tx) (events.Receipt, error) { return service.PlaceOrderHandler().InTx(ctx, tx, e) })
		},
		charge: cards.Charge, wire: cards.Wire, markCharge: cards.ChargeHandler().Mark,
		janitor: idem.NewJanitor(service.Guard(), idem.WithSweepBatch(sweepBatch), idem.WithSweepPace(0)),
		moves:   movesPGX(pool, order),
	}, nil
}

// sweepBatch has a janitor sweep more than once in a round.
const sweepBatch = 2

// joinPGX delivers in a transaction of its own. It commits whatever inTx returned: the record of a permanent failure is in it, and
// nothing of a run that failed.
func joinPGX[R any](ctx context.Context, pool *pgxpool.Pool, inTx func(pgx.Tx) (R, error)) (r R, err error) {
	tx, err := pool.Begin(ctx)
	if err != nil {
		return r, err
	}
	defer func() {
		if rerr := tx.Rollback(ctx); rerr != nil && !errors.Is(rerr, pgx.ErrTxClosed) {
			err = errors.Join(err, rerr)
		}
	}()
	r, err = inTx(tx)
	return r, errors.Join(err, tx.Commit(ctx))
}

// charging is the cards' handlers, whatever the driver.
type charging struct{ w *worker }

func (c charging) Charge(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
	return c.w.charge(ctx, kill.Charge, e)
}

func (c charging) Wire(ctx context.Context, e events.OrderPlaced) error {
	_, err := c.w.charge(ctx, kill.Wire, e)
	return err
}
