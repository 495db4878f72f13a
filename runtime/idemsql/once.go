package idemsql

import (
	"context"
	"database/sql"
)

// once is a database that executes each statement once. A *sql.DB executes it again, on another connection, where the driver
// says that the one before was bad; some drivers (lib/pq) say so also of a connection that broke after the statement had been
// sent. The second time, a lease that is given back or finished is no longer there, and would look as if it had been lost.
// What only reads may be executed as often as it takes.
type once struct{ *sql.DB }

func (o once) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	conn, err := o.Conn(ctx)
	if err != nil {
		return nil, err
	}
	// The only error there is says that a broken connection has been closed already.
	defer func() { _ = conn.Close() }()
	return conn.ExecContext(ctx, query, args...)
}
