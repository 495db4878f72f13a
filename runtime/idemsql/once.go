package idemsql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
)

// once is a database that executes each statement once. A *sql.DB executes it again, on another connection, where the driver
// says that the one before was bad; some drivers (lib/pq) say so also of a connection that broke after the statement had been
// sent. The second time, a lease that is given back or finished is no longer there, and would look as if it had been lost.
// What only reads may be executed as often as it takes.
type once struct {
	*sql.DB
	engine engine
}

func (o once) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	conn, err := o.take(ctx)
	if err != nil {
		return nil, err
	}
	result, err := conn.ExecContext(ctx, query, args...)
	o.give(ctx, conn, err)
	return result, err
}

// take takes a connection on which a statement is a transaction of its own.
func (o once) take(ctx context.Context) (*sql.Conn, error) {
	conn, err := o.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := o.engine.free(ctx, conn); err != nil {
		o.give(ctx, conn, err)
		return nil, err
	}
	return conn, nil
}

// give gives a connection back on which a statement has met err.
func (o once) give(ctx context.Context, conn *sql.Conn, err error) {
	broken := bad(ctx, conn, err)
	// The only error there is says that a broken connection has been closed already.
	_ = conn.Close()
	if broken {
		o.passOver(ctx)
	}
}

// passOver closes the idle connections that broke together with one, after a restart of the server say, until there is one that
// works. The engine sends again what it may, a few times, and a lease does not outlast many times: they must not all meet
// connections that are known to be suspect. What goes wrong here the next statement is told.
func (o once) passOver(ctx context.Context) {
	for range o.Stats().Idle + 1 {
		conn, err := o.Conn(ctx)
		if err != nil {
			return
		}
		err = conn.PingContext(ctx)
		broken := bad(ctx, conn, err)
		_ = conn.Close()
		if !broken {
			return
		}
	}
}

// bad reports whether a statement failed for a broken connection, and not for its caller's end.
func bad(ctx context.Context, conn *sql.Conn, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	if errors.Is(err, sqldriver.ErrBadConn) {
		return true
	}
	valid := true
	rerr := conn.Raw(func(conn any) error {
		if v, ok := conn.(sqldriver.Validator); ok {
			valid = v.IsValid()
		}
		return nil
	})
	return rerr != nil || !valid
}
