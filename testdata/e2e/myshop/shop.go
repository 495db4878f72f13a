// Package myshop has the handlers under test for MySQL and MariaDB. What they do is a test's to say.
package myshop

import (
	"context"
	"database/sql"
	_ "embed"
	"log/slog"

	"github.com/google/uuid"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/myshop/shopdb"
)

//go:generate go run github.com/idemgen/idemgen/cmd/idemgen

//idem:package engine=mysql

// Tables makes the tables that the handlers write to.
//
//go:embed shopdb/schema.sql
var Tables string

// Service has handlers of every form. Each calls the field of its name.
type Service struct {
	OnPlaceOrder   func(context.Context, *sql.Tx, events.OrderPlaced) (events.Receipt, error)
	OnAuditOrder   func(context.Context, *sql.Tx, events.OrderPlaced) error
	OnRushOrder    func(context.Context, *sql.Tx, *events.OrderPlaced) (*events.Receipt, error)
	OnReserveStock func(context.Context, *slog.Logger, *shopdb.Queries, events.StockReserved) error
	OnCloseDay     func(context.Context, DBTX, events.DayClosed) (int64, error)
	OnShip         func(context.Context, *sql.Tx, events.Shipped) error
}

// Cards has handlers whose effects are outside of the database: an acquirer's, that knows a charge by its key.
type Cards interface {
	// Charge is retried when its lease has passed.
	//
	//idem:handler window=24h lease=1s
	Charge(ctx context.Context, e events.OrderPlaced) (events.Receipt, error)

	// Wire is left to a person.
	//
	//idem:handler window=24h lease=1s expired=park inflight=fail
	Wire(ctx context.Context, e events.OrderPlaced) error
}

// DBTX is all that CloseDay wants of a transaction.
type DBTX interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// PlaceOrder has a result, a fingerprint and an attempt.
//
//idem:handler window=24h
func (s *Service) PlaceOrder(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) (events.Receipt, error) {
	return s.OnPlaceOrder(ctx, tx, e)
}

// AuditOrder handles the same event, under a name of its own, and has no result.
//
//idem:handler window=24h name=my.audit
func (s *Service) AuditOrder(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) error {
	return s.OnAuditOrder(ctx, tx, e)
}

// RushOrder does not wait for a rival. Payload and result are pointers.
//
//idem:handler window=1m inflight=fail
func (s *Service) RushOrder(ctx context.Context, tx *sql.Tx, e *events.OrderPlaced) (*events.Receipt, error) {
	return s.OnRushOrder(ctx, tx, e)
}

// ReserveStock takes sqlc's queries for a transaction, and a logger before it.
//
//idem:handler window=7d
func (s *Service) ReserveStock(ctx context.Context, log *slog.Logger, q *shopdb.Queries, e events.StockReserved) error {
	return s.OnReserveStock(ctx, log, q, e)
}

// CloseDay is recognised for ever. Its transaction is an interface, its context not the first parameter.
//
//idem:handler window=forever
func (s *Service) CloseDay(tx DBTX, ctx context.Context, e events.DayClosed) (int64, error) {
	return s.OnCloseDay(ctx, tx, e)
}

// Ship is recognised for a hundred years.
//
//idem:handler window=36525d
func (s *Service) Ship(ctx context.Context, tx *sql.Tx, e events.Shipped) error {
	return s.OnShip(ctx, tx, e)
}

// Settle is a function, keyed by parameters.
//
//idem:handler window=1h key=tenant,batch
func Settle(ctx context.Context, tx *sql.Tx, settle func(context.Context, *sql.Tx) (int64, error), tenant string, batch uuid.UUID) (int64, error) {
	return settle(ctx, tx)
}

// Refunds is an interface whose decorator guards one method and forwards the other.
type Refunds interface {
	//idem:handler window=24h
	Refund(ctx context.Context, tx *sql.Tx, e events.RefundAsked) error
	Total(ctx context.Context) (int64, error)
}
