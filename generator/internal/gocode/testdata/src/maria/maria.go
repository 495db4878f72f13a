// Package maria has handlers whose keys are in MySQL or MariaDB.
package maria

import (
	"context"
	"database/sql"
)

type Charge struct {
	ID    string
	Cents int64
}

type Service struct{}

func (*Service) Refund(ctx context.Context, tx *sql.Tx, e Charge) error { return nil }

func (*Service) ChargeCard(ctx context.Context, e Charge) (string, error) { return "", nil }
