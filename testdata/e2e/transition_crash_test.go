package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/lib/pq"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/litehook"
	"github.com/idemgen/idemgen/testdata/e2e/liteorders"
	"github.com/idemgen/idemgen/testdata/e2e/myorders"
	"github.com/idemgen/idemgen/testdata/e2e/pgxorders"
	"github.com/idemgen/idemgen/testdata/e2e/stdorders"
)

// A worker process that is killed between the UPDATE and the commit leaves the row where it was, and the event moves it when it
// is delivered again. One that is killed after the commit leaves a repeat.
func TestTransition_Killed(t *testing.T) {
	for _, stage := range []string{inTransaction, afterCommit} {
		t.Run(stage, func(t *testing.T) {
			eachDriver(t, func(t *testing.T, d driver) {
				o := openOrders(t, d, setup{options: []idem.Option{long}})
				id := o.order(t, "pending")
				killWorker(t, d, job{Driver: d.name, Place: o.place, Stage: stage, Order: id})
				o.awaitWorkersEnd(t)
				if stage == inTransaction {
					assert.Equal(t, "pending 1", o.found(t, id))
					assert.Zero(t, o.moves(t, id, "confirm"))
				}
				require.NoError(t, o.Confirm(t.Context(), moved(id)))
				want := map[string]idem.Outcome{inTransaction: idem.OutcomeExecuted, afterCommit: idem.OutcomeDuplicate}
				assert.Equal(t, want[stage], o.last(t))
				assert.Equal(t, "confirmed 2", o.found(t, id))
				assert.Equal(t, 1, o.moves(t, id, "confirm"))
			})
		})
	}
}

// confirm is the worker process that confirms an order, and is killed on the way.
func (j job) confirm(ctx context.Context) error {
	confirm, end, err := j.openOrders(ctx)
	if err != nil {
		return err
	}
	defer end()
	err = confirm(ctx, events.Moved{OrderID: j.Order, Event: "the worker process"})
	if err == nil {
		err = j.reached(afterCommit)
	}
	return errors.Join(err, errors.New("was not killed"))
}

func (j job) openOrders(ctx context.Context) (confirm func(context.Context, events.Moved) error, end func(), err error) {
	body := func(ctx context.Context, tx Tx, e events.Moved) error {
		if _, err := tx.Exec(ctx, `INSERT INTO moves (order_id, what, event) VALUES ($1, 'confirm', $2)`, e.OrderID, e.Event); err != nil {
			return err
		}
		return j.reached(inTransaction)
	}
	onSQL := func(ctx context.Context, tx *sql.Tx, e events.Moved) error {
		return body(ctx, sqlTx{driverOf(j.Driver), tx}, e)
	}
	switch j.Driver {
	case "lite", "mattn":
		way, ok := liteWay(j.Driver)
		if !ok {
			return nil, nil, errors.New("no way to SQLite")
		}
		db := sql.OpenDB(litehook.New(way, j.Place))
		return liteorders.NewIdempotentService(&liteorders.Service{OnConfirm: onSQL}, db).Confirm, func() { _ = db.Close() }, nil
	case "maria":
		server, err := mysql.ParseDSN(j.Server)
		if err != nil {
			return nil, nil, err
		}
		db, err := openMy(myAccount(server, j.Place))
		if err != nil {
			return nil, nil, err
		}
		return myorders.NewIdempotentService(&myorders.Service{OnConfirm: onSQL}, db).Confirm, func() { _ = db.Close() }, nil
	case "std", "pq", "pgx":
	default:
		return nil, nil, fmt.Errorf("no orders on %s", j.Driver)
	}
	config, err := pgxpool.ParseConfig(j.Server)
	if err != nil {
		return nil, nil, err
	}
	config.ConnConfig.RuntimeParams["search_path"] = j.Place
	config.ConnConfig.RuntimeParams["application_name"] = j.Place + workerSuffix
	if j.Driver != "pgx" {
		db := stdlib.OpenDB(*config.ConnConfig)
		if j.Driver == "pq" {
			connector, err := pq.NewConnectorConfig(pqConfig(config.ConnConfig))
			if err != nil {
				return nil, nil, err
			}
			db = sql.OpenDB(connector)
		}
		return stdorders.NewIdempotentService(&stdorders.Service{OnConfirm: onSQL}, db).Confirm, func() { _ = db.Close() }, nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	return pgxorders.NewIdempotentService(&pgxorders.Service{
		OnConfirm: func(ctx context.Context, tx pgx.Tx, e events.Moved) error { return body(ctx, pgxTx{tx}, e) },
	}, pool).Confirm, pool.Close, nil
}
