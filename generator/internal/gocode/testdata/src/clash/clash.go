// Package clash declares what generated code would like to call its own.
package clash

import (
	"context"
	stdslog "log/slog"

	"github.com/jackc/pgx/v5"

	"example.com/shop/clash/slog"
)

type (
	g       struct{}
	idem    struct{}
	idempgx string
	time    struct{}
	e       struct{ ID string }
)

var db, opts, s, k, v, f, a, tx, ctx = 1, 2, 3, 4, 5, 6, 7, 8, 9

type service struct{ g }

func (s *service) place(ctx context.Context, tx pgx.Tx, e e) (idempgx, error) { return "", nil }

func (svc *service) Ship(slog *slog.Order, s *stdslog.Logger, err time, ctx context.Context, tx pgx.Tx) error {
	return nil
}

func work(ctx context.Context, tx pgx.Tx, order slog.Order) (idem, error) { return idem{}, nil }

var _ = []any{db, opts, s, k, v, f, a, tx, ctx, service{}.g}
