// Package liteorders has orders that change their state, for SQLite. What the handlers do is a test's to say.
package liteorders

import (
	"context"
	"database/sql"
	_ "embed"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

//go:generate go run github.com/idemgen/idemgen/cmd/idemgen

//idem:package engine=sqlite schema=schema.sql

// Tables makes the tables.
//
//go:embed schema.sql
var Tables string

// Status is an order's state.
//
//idem:states orders.status pending -> confirmed -> shipped
//idem:states orders.status pending|confirmed -> cancelled
type Status string

// The states.
const (
	Pending   Status = "pending"
	Confirmed Status = "confirmed"
	Shipped   Status = "shipped"
	Cancelled Status = "cancelled"
)

// Service has transitions with code. Each calls the field of its name.
type Service struct {
	OnConfirm func(context.Context, *sql.Tx, events.Moved) error
	OnShip    func(context.Context, *sql.Tx, events.Moved) error
	OnCancel  func(context.Context, *sql.Tx, events.Moved) error
	OnPay     func(context.Context, *sql.Tx, events.Paid) (events.Receipt, error)
	OnVague   func(context.Context, *sql.Tx, events.Vague) error
}

// Confirm confirms a pending order.
//
//idem:transition orders.status pending -> confirmed row=id:OrderID version=version set=note:Note
func (s *Service) Confirm(ctx context.Context, tx *sql.Tx, e events.Moved) error {
	return s.OnConfirm(ctx, tx, e)
}

// Ship ships a confirmed order.
//
//idem:transition orders.status confirmed -> shipped row=id:OrderID version=version
func (s *Service) Ship(ctx context.Context, tx *sql.Tx, e events.Moved) error {
	return s.OnShip(ctx, tx, e)
}

// Cancel cancels what has not been shipped.
//
//idem:transition orders.status pending|confirmed -> cancelled row=id:OrderID version=version
func (s *Service) Cancel(ctx context.Context, tx *sql.Tx, e events.Moved) error {
	return s.OnCancel(ctx, tx, e)
}

// Pay confirms an order too, and knows payments apart.
//
//idem:handler window=24h
//idem:transition orders.status pending -> confirmed row=id:OrderID version=version
func (s *Service) Pay(ctx context.Context, tx *sql.Tx, e events.Paid) (events.Receipt, error) {
	return s.OnPay(ctx, tx, e)
}

// CancelAll names what may be more than one row.
//
//idem:transition orders.status pending -> cancelled row=customer:Customer
func (s *Service) CancelAll(ctx context.Context, tx *sql.Tx, e events.Vague) error {
	return s.OnVague(ctx, tx, e)
}

// Moves are changes of state without any code.
type Moves interface {
	// Confirm confirms a pending order.
	//
	//idem:transition orders.status pending -> confirmed row=id:OrderID version=version
	Confirm(ctx context.Context, e events.Moved) error

	// ConfirmKnown confirms a pending order that nobody has changed since the sender saw it.
	//
	//idem:transition orders.status pending -> confirmed row=id:OrderID version=version expect=version:Version
	ConfirmKnown(ctx context.Context, e events.Known) error

	// ShipAll names what may be more than one row.
	//
	//idem:transition orders.status confirmed -> shipped row=customer:Customer
	ShipAll(ctx context.Context, e events.Vague) error

	// PayNow confirms an order, and knows payments apart.
	//
	//idem:handler window=24h
	//idem:transition orders.status pending -> confirmed row=id:OrderID
	PayNow(ctx context.Context, e events.Paid) error
}
