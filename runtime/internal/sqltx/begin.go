package sqltx

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
)

// Begin opens a transaction on a context of its own, which stop ends: database/sql would roll back behind our back when the caller's
// ends. Only while BEGIN itself is on its way the caller's end counts; then there may be a transaction and an error.
func Begin(ctx context.Context, conn *sql.Conn, options *sql.TxOptions) (_ *sql.Tx, stop context.CancelFunc, _ error) {
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	unwatch := context.AfterFunc(ctx, stop)
	tx, err := conn.BeginTx(own, options)
	watched := unwatch()
	if err != nil {
		stop()
		return nil, nil, err
	}
	if !watched {
		return tx, stop, ctx.Err()
	}
	return tx, stop, nil
}

// Discard has database/sql close a connection, which must have no transaction of database/sql's on it.
func Discard(conn *sql.Conn) {
	// The error is the one that is passed in: it is the way to say so.
	_ = conn.Raw(func(any) error { return sqldriver.ErrBadConn })
}
