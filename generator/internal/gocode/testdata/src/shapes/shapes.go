// Package shapes has handlers in the shapes that are met in the field, on SQLite.
package shapes

import (
	"context"
	"database/sql"
	"time"

	"example.com/shop/internal/ids"
)

type OrderID = ids.OrderID

type Envelope[T any] = ids.Envelope[T]

type Paid struct {
	ID     OrderID
	Amount int64
	Rate   float64
}

type DBTX interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

type Clock interface{ Now() time.Time }

type Worker struct{}

func (Worker) Pay(ctx context.Context, tx *sql.Tx, p *Paid) (*Paid, error) { return p, nil }

func (w Worker) Refund(p Paid, tx *sql.Tx, ctx context.Context) (receipts []string, err error) {
	return nil, nil
}

func (Worker) Settle(_ context.Context, tx DBTX, _ Envelope[map[string]OrderID]) error { return nil }

func (Worker) Ship(tx *sql.Tx, ctx context.Context, projectID, deploymentID string, clock Clock) (map[string]int, error) {
	return nil, nil
}

func Cancel(ctx context.Context, tx *sql.Tx, id OrderID) error { return nil }

func refundAll(ctx context.Context, tx *sql.Tx, err, s Paid) error { return nil }
