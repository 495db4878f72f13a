// Package iface has handlers on an interface.
package iface

import (
	"context"
	"io"

	"github.com/jackc/pgx/v5"
)

type Opened struct{ ID int32 }

type Closer interface{ Close() error }

type Handlers interface {
	Closer
	Open(ctx context.Context, tx pgx.Tx, e Opened) error
	guard(s string, args ...io.Reader) (n int, err error)
	Log(format string, _ ...any)
	Ping(context.Context)
}
