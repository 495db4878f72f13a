// Package orders handles a shop's events, written as if no event ever came twice. What makes a repeat harmless are the
// tags, the two directives, and the code that idemgen wrote from them into idem_gen.go and idemdb.
package orders

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"log/slog"
)

// In a module of your own, a version follows the path: …/cmd/idemgen@v0.1.0.
//
//go:generate go run github.com/idemgen/idemgen/cmd/idemgen

//idem:package engine=sqlite

// Schema makes the shop's tables. Nothing in them would stop an event from being handled twice.
//
//go:embed schema.sql
var Schema string

// OrderPlaced says that a customer ordered something. It arrives from a queue, possibly more than once.
type OrderPlaced struct {
	OrderID  string `json:"order_id" idem:"key"`
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
	Total    int64  `json:"total"    idem:"fingerprint"` // cents; same order, other total = a sender's bug, reported
	Attempt  int    `json:"-"        idem:"attempt"`     // set by the consumer; only ever used for metrics
}

// Receipt is the answer to an order. Whoever sends the order again gets the same one.
type Receipt struct {
	Number int64 `json:"number"`
	Total  int64 `json:"total"`
}

// PaymentCaptured says that the bank moved a customer's money.
type PaymentCaptured struct {
	PaymentID string `json:"payment_id" idem:"key"`
	Customer  string `json:"customer"`
	Amount    int64  `json:"amount"     idem:"fingerprint"`
	Attempt   int    `json:"-"          idem:"attempt"`
}

// Service handles the events.
type Service struct {
	Log *slog.Logger
}

// PlaceOrder takes the goods from the shelf and books the order.
//
//idem:handler window=24h
func (s *Service) PlaceOrder(ctx context.Context, tx *sql.Tx, e OrderPlaced) (Receipt, error) {
	_, err := tx.ExecContext(ctx, `UPDATE stock SET on_hand = on_hand - ? WHERE sku = ?`, e.Quantity, e.SKU)
	if err != nil {
		return Receipt{}, fmt.Errorf("take %s from stock: %w", e.SKU, err)
	}
	s.Log.InfoContext(ctx, "goods taken", "order", e.OrderID, "sku", e.SKU)

	booked, err := tx.ExecContext(ctx, `INSERT INTO orders (order_id, total) VALUES (?, ?)`, e.OrderID, e.Total)
	if err != nil {
		return Receipt{}, fmt.Errorf("book order %s: %w", e.OrderID, err)
	}
	number, err := booked.LastInsertId()
	if err != nil {
		return Receipt{}, fmt.Errorf("book order %s: %w", e.OrderID, err)
	}
	return Receipt{Number: number, Total: e.Total}, nil
}

// ConfirmPayment books the money and puts the customer's confirmation into the outbox.
//
//idem:handler window=7d
func (s *Service) ConfirmPayment(ctx context.Context, tx *sql.Tx, e PaymentCaptured) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO ledger (payment_id, amount) VALUES (?, ?)`, e.PaymentID, e.Amount)
	if err != nil {
		return fmt.Errorf("book payment %s: %w", e.PaymentID, err)
	}
	s.Log.InfoContext(ctx, "money booked", "payment", e.PaymentID, "amount", e.Amount)

	_, err = tx.ExecContext(ctx, `INSERT INTO outbox (payment_id, customer) VALUES (?, ?)`, e.PaymentID, e.Customer)
	if err != nil {
		return fmt.Errorf("confirm payment %s: %w", e.PaymentID, err)
	}
	return nil
}
