package idemsql

import (
	"context"
	"database/sql"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/sqltx"
)

// leftOpenError is a connection of the pool's on which somebody has begun a transaction by SQL text, and not ended it. What a
// statement writes there is not committed by it. The database's error is not unwrapped: its code says no more than that a
// statement was not understood, which is told of the table of keys.
type leftOpenError struct{ err error }

func (e *leftOpenError) Error() string {
	return "somebody has left a transaction open on the connection (begin transactions by BeginTx, not as SQL text): " + e.err.Error()
}

// begun judges the error of a BEGIN. PostgreSQL has none for this: drivers look at the state that the server tells.
func (postgresql) begun(err error) error { return err }

func (sqlite) begun(err error) error {
	if primaryCode(err) == codeError {
		return &leftOpenError{err}
	}
	return err
}

// free reports an error where a statement on a connection would not be a transaction of its own. On PostgreSQL it costs a round
// trip to know, and the page says so.
func (postgresql) free(context.Context, *sql.Conn) error { return nil }

// free begins a transaction, which does not wait for anybody, and undoes that. The caller's end does not count, which might come
// between the two.
func (e sqlite) free(ctx context.Context, conn *sql.Conn) error {
	ctx, cancel := driver.Detach(ctx)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return e.begun(err)
	}
	_, err := conn.ExecContext(ctx, "ROLLBACK")
	if err != nil {
		sqltx.Discard(conn)
	}
	return err
}
