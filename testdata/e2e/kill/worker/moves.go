package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/kill"
	"github.com/idemgen/idemgen/testdata/e2e/pgxorders"
)

// moves are the transitions of one driver's generated code.
type moves struct {
	confirm, joinConfirm         func(context.Context, events.Moved) error
	justConfirm, joinJustConfirm func(context.Context, events.Moved) error
	shipAll                      func(context.Context, events.Vague) error
	pay, joinPay                 func(context.Context, events.Paid) (events.Receipt, error)
	markPay                      func(context.Context, events.Paid, events.Receipt) error
	payNow                       func(context.Context, events.Paid) error
}

// call delivers to a transition. The order is the delivery's, and so are the payment and the customer, of which each order has its
// own.
func (m moves) call(ctx context.Context, d kill.Delivery) (none events.Receipt, _ error) {
	id := d.Event.OrderID.String()
	moved, paid := events.Moved{OrderID: id}, events.Paid{PaymentID: id, OrderID: id}
	switch d.Call {
	case kill.Confirm:
		return none, m.confirm(ctx, moved)
	case kill.JoinConfirm:
		return none, m.joinConfirm(ctx, moved)
	case kill.JustConfirm:
		return none, m.justConfirm(ctx, moved)
	case kill.JoinJustConfirm:
		return none, m.joinJustConfirm(ctx, moved)
	case kill.ShipAll:
		return none, m.shipAll(ctx, events.Vague{Customer: id})
	case kill.Pay:
		return m.pay(ctx, paid)
	case kill.JoinPay:
		return m.joinPay(ctx, paid)
	case kill.MarkPay:
		return none, m.markPay(ctx, paid, events.Receipt{PlacedBy: kill.MarkedBy, Total: d.Event.Total})
	case kill.PayNow:
		return none, m.payNow(ctx, paid)
	default:
		return none, fmt.Errorf("no call %q", d.Call)
	}
}

// event is the event of the delivery that a transition's run belongs to. The payload has to be of the same order.
func event(ctx context.Context, id string) (events.OrderPlaced, error) {
	d, ok := ctx.Value(howKey{}).(kill.Delivery)
	if !ok || d.Event.OrderID.String() != id {
		return d.Event, fmt.Errorf("a run for the order %q within the delivery of %q", id, d.Event.OrderID)
	}
	return d.Event, nil
}

func (run bodySQL) confirm(ctx context.Context, tx *sql.Tx, m events.Moved) error {
	e, err := event(ctx, m.OrderID)
	if err != nil {
		return err
	}
	_, err = run(ctx, kill.Confirm, tx, e)
	return err
}

func (run bodySQL) pay(ctx context.Context, tx *sql.Tx, p events.Paid) (events.Receipt, error) {
	e, err := event(ctx, p.OrderID)
	if err != nil {
		return events.Receipt{}, err
	}
	return run(ctx, kill.Pay, tx, e)
}

// The generated types of the orders of database/sql.
type (
	sqlOrders interface {
		Confirm(context.Context, events.Moved) error
		Pay(context.Context, events.Paid) (events.Receipt, error)
		ConfirmHandler() *idem.Transition[*sql.Tx, events.Moved]
		PayHandler() *idem.Handler[*sql.Tx, events.Paid, events.Receipt]
	}
	sqlMoves interface {
		Confirm(context.Context, events.Moved) error
		ShipAll(context.Context, events.Vague) error
		PayNow(context.Context, events.Paid) error
		ConfirmHandler() *idem.Transition[*sql.Tx, events.Moved]
	}
)

func movesSQL(db *sql.DB, orders sqlOrders, bare sqlMoves) moves {
	join := func(t *idem.Transition[*sql.Tx, events.Moved]) func(context.Context, events.Moved) error {
		return func(ctx context.Context, m events.Moved) error {
			_, err := joinSQL(ctx, db, func(tx *sql.Tx) (struct{}, error) { return struct{}{}, t.InTx(ctx, tx, m) })
			return err
		}
	}
	return moves{
		confirm: orders.Confirm, joinConfirm: join(orders.ConfirmHandler()),
		justConfirm: bare.Confirm, joinJustConfirm: join(bare.ConfirmHandler()),
		shipAll: bare.ShipAll, payNow: bare.PayNow,
		pay: orders.Pay, markPay: orders.PayHandler().Mark,
		joinPay: func(ctx context.Context, p events.Paid) (events.Receipt, error) {
			return joinSQL(ctx, db, func(tx *sql.Tx) (events.Receipt, error) { return orders.PayHandler().InTx(ctx, tx, p) })
		},
	}
}

// movesPGX is movesSQL for pgx. run is the handlers with a transaction.
func movesPGX(pool *pgxpool.Pool, run func(context.Context, kill.Call, pgx.Tx, events.OrderPlaced) (events.Receipt, error)) moves {
	orders := pgxorders.NewIdempotentService(&pgxorders.Service{
		OnConfirm: func(ctx context.Context, tx pgx.Tx, m events.Moved) error {
			e, err := event(ctx, m.OrderID)
			if err != nil {
				return err
			}
			_, err = run(ctx, kill.Confirm, tx, e)
			return err
		},
		OnPay: func(ctx context.Context, tx pgx.Tx, p events.Paid) (events.Receipt, error) {
			e, err := event(ctx, p.OrderID)
			if err != nil {
				return events.Receipt{}, err
			}
			return run(ctx, kill.Pay, tx, e)
		},
	}, pool)
	bare := pgxorders.NewIdempotentMoves(pool)
	join := func(t *idem.Transition[pgx.Tx, events.Moved]) func(context.Context, events.Moved) error {
		return func(ctx context.Context, m events.Moved) error {
			_, err := joinPGX(ctx, pool, func(tx pgx.Tx) (struct{}, error) { return struct{}{}, t.InTx(ctx, tx, m) })
			return err
		}
	}
	return moves{
		confirm: orders.Confirm, joinConfirm: join(orders.ConfirmHandler()),
		justConfirm: bare.Confirm, joinJustConfirm: join(bare.ConfirmHandler()),
		shipAll: bare.ShipAll, payNow: bare.PayNow,
		pay: orders.Pay, markPay: orders.PayHandler().Mark,
		joinPay: func(ctx context.Context, p events.Paid) (events.Receipt, error) {
			return joinPGX(ctx, pool, func(tx pgx.Tx) (events.Receipt, error) { return orders.PayHandler().InTx(ctx, tx, p) })
		},
	}
}
