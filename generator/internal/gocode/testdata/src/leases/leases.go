// Package leases has handlers whose effects are outside of the database.
package leases

import (
	"context"
	"log/slog"

	"github.com/jackc/pgx/v5"
)

type Charge struct {
	ID    string
	Cents int64
}

type Charged struct{ Ref string }

type Service struct{}

func (*Service) ChargeCard(ctx context.Context, e Charge) (Charged, error) { return Charged{}, nil }

func (*Service) PlaceOrder(ctx context.Context, tx pgx.Tx, e Charge) error { return nil }

func (*Service) Wire(log *slog.Logger, ctx context.Context, account string, e Charge) error {
	return nil
}

type Mailer interface {
	SendMail(ctx context.Context, e Charge) error
	Ping(ctx context.Context) error
}
