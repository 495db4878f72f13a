// Package orders is the design's example.
package orders

import (
	"context"
	"log/slog"

	"github.com/jackc/pgx/v5"

	"example.com/shop/orders/store"
)

type UUID [16]byte

type OrderPlaced struct {
	TenantID string
	OrderID  UUID
	Total    int64
	Attempt  int
}

type Receipt struct{ Number string }

type StockReserved struct {
	OrderID UUID
	SKU     string
}

type Service struct{}

func (s *Service) PlaceOrder(ctx context.Context, tx pgx.Tx, e OrderPlaced) (Receipt, error) {
	return Receipt{e.TenantID}, nil
}

func (s *Service) ReserveStock(ctx context.Context, log *slog.Logger, q *store.Queries, e StockReserved) error {
	return nil
}
