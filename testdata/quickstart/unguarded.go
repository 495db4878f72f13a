package main

import (
	"context"
	"database/sql"
	"errors"

	"example.com/shop/lifecycle"
	"example.com/shop/orders"
)

// unguarded is the shop without idemgen: each delivery runs the handler, in a transaction of its own.
type unguarded struct {
	service *orders.Service
	db      *sql.DB
}

func (u unguarded) PlaceOrder(ctx context.Context, e orders.OrderPlaced) (receipt orders.Receipt, err error) {
	err = u.inTx(ctx, func(tx *sql.Tx) error {
		receipt, err = u.service.PlaceOrder(ctx, tx, e)
		return err
	})
	return receipt, err
}

func (u unguarded) ConfirmPayment(ctx context.Context, e orders.PaymentCaptured) error {
	return u.inTx(ctx, func(tx *sql.Tx) error { return u.service.ConfirmPayment(ctx, tx, e) })
}

func (u unguarded) inTx(ctx context.Context, handle func(*sql.Tx) error) (err error) {
	tx, err := u.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { // also where the worker dies in the handler
		if rollback := tx.Rollback(); !errors.Is(rollback, sql.ErrTxDone) {
			err = errors.Join(err, rollback)
		}
	}()
	if err := handle(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// unguardedStep is a step without idemgen: the event says what the order is now, and so it becomes that.
func unguardedStep(ctx context.Context, db *sql.DB, s step) error {
	return unguarded{db: db}.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE order_status SET status = ? WHERE order_id = ?`, s.want, s.OrderID); err != nil {
			return err
		}
		switch s.want {
		case lifecycle.Confirmed:
			return lifecycle.Orders{}.Confirm(ctx, tx, s.Event)
		case lifecycle.Shipped:
			return lifecycle.Orders{}.Ship(ctx, tx, s.Event)
		default:
			return lifecycle.Orders{}.Cancel(ctx, tx, s.Event)
		}
	})
}
