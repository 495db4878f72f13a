// Package lifecycle has an order's life: it is confirmed, shipped, or cancelled. Its events come late, doubled and out of
// order. No key is stored for them: the row's status says what an event may still do, and one UPDATE decides.
package lifecycle

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
)

// In a module of your own, a version follows the path: …/cmd/idemgen@v0.1.0.
//
//go:generate go run github.com/idemgen/idemgen/cmd/idemgen

//idem:package engine=sqlite schema=schema.sql

// Schema makes the tables.
//
//go:embed schema.sql
var Schema string

// Status is where an order is in its life. The directives say what may follow what.
//
//idem:states order_status.status pending -> confirmed -> shipped
//idem:states order_status.status pending | confirmed -> cancelled
type Status string

// The states.
const (
	Pending   Status = "pending"
	Confirmed Status = "confirmed"
	Shipped   Status = "shipped"
	Cancelled Status = "cancelled"
)

// Event is about one order. It arrives from a queue, possibly more than once, and possibly after those that follow it.
type Event struct {
	OrderID string `json:"order_id"`
}

// Orders does what goes with each change of status, in the same transaction.
type Orders struct{}

// Confirm is for an event that says that the customer has paid.
//
//idem:transition order_status.status pending -> confirmed row=order_id:OrderID version=version
func (o Orders) Confirm(ctx context.Context, tx *sql.Tx, e Event) error {
	return log(ctx, tx, e, Confirmed)
}

// Ship is for an event that says that the goods have left.
//
//idem:transition order_status.status confirmed -> shipped row=order_id:OrderID version=version
func (o Orders) Ship(ctx context.Context, tx *sql.Tx, e Event) error { return log(ctx, tx, e, Shipped) }

// Cancel is for an event that says that the customer wants none of it.
//
//idem:transition order_status.status pending|confirmed -> cancelled row=order_id:OrderID version=version
func (o Orders) Cancel(ctx context.Context, tx *sql.Tx, e Event) error {
	return log(ctx, tx, e, Cancelled)
}

// log stands for what a shop would do: book, print a label, send the money back.
func log(ctx context.Context, tx *sql.Tx, e Event, did Status) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO order_log (order_id, did) VALUES (?, ?)`, e.OrderID, did)
	if err != nil {
		return fmt.Errorf("order %s %s: %w", e.OrderID, did, err)
	}
	return nil
}
