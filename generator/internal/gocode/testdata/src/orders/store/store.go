// Package store stands for what sqlc makes of the user's own queries.
package store

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
)

type DBTX interface {
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
}

type Queries struct{ db DBTX }

func New(db DBTX) *Queries { return &Queries{db} }

func (q *Queries) Ping(ctx context.Context) error {
	_, err := q.db.Exec(ctx, "SELECT 1")
	return err
}
