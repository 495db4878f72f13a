// Package scenario pins what the scenarios' modules require: each gets a copy of this go.mod and go.sum. The imports
// below are what "go mod tidy" keeps in them.
package scenario

import (
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/google/uuid"
	_ "github.com/idemgen/idemgen/runtime/store"
	_ "github.com/jackc/pgx/v5/pgtype"
	_ "github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/oklog/ulid/v2"
	_ "github.com/shopspring/decimal"
)
