package idemmysql

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/sqltx"
)

// The settings of a session are kept in variables of the session, so that to change and to restore them is one statement each.
// A transaction that somebody has left on the connection is committed, as BEGIN would, when autocommit becomes 1, which it has not
// been before. A completion_type of CHAIN would have COMMIT and ROLLBACK begin another one, and RELEASE close the connection.
const (
	commitEach = `SET @idemgen_autocommit = @@SESSION.autocommit, @idemgen_completion = @@SESSION.completion_type,
SESSION completion_type = 'NO_CHAIN', SESSION autocommit = 0, SESSION autocommit = 1`
	hold        = commitEach + `, SESSION autocommit = 0`
	restoreHold = `SET ` + heldBefore
	heldBefore  = `SESSION autocommit = @idemgen_autocommit, SESSION completion_type = @idemgen_completion`
)

// Strict is the SQL mode of the statements that write names and keys: other modes cut off what does not fit. And sql_safe_updates
// takes the cleanup for a DELETE of everything.
const (
	bound = `@idemgen_row_wait = @@SESSION.innodb_lock_wait_timeout, @idemgen_table_wait = @@SESSION.lock_wait_timeout,
@idemgen_sql_mode = @@SESSION.sql_mode, @idemgen_safe = @@SESSION.sql_safe_updates,
SESSION innodb_lock_wait_timeout = %s, SESSION lock_wait_timeout = %d,
SESSION sql_mode = 'STRICT_ALL_TABLES', SESSION sql_safe_updates = 0`
	restoreBound = `SET ` + boundBefore
	boundBefore  = `SESSION innodb_lock_wait_timeout = @idemgen_row_wait, SESSION lock_wait_timeout = @idemgen_table_wait,
SESSION sql_mode = @idemgen_sql_mode, SESSION sql_safe_updates = @idemgen_safe`
)

// restoreAlone puts back what a statement in a transaction of its own has needed.
const restoreAlone = restoreBound + ", " + heldBefore

// noWait is the least that the engine can wait for a row. MariaDB takes 0 for no wait; MySQL's least is 1, and 0 is an error in
// a strict mode.
const noWait = `IF(VERSION() LIKE '%MariaDB%', 0, 1)`

// maxWait is more than anybody waits, and less than either setting can hold.
const maxWait = 24 * 24 * time.Hour

// shortWait is how long a statement waits that others are hardly ever in the way of.
const shortWait = 2 * time.Second

// seconds is a wait as these engines count it, in whole seconds: rounded up, but down where the caller's context ends before
// that, since a context that ends in a statement costs the connection.
func seconds(ctx context.Context, wait time.Duration) int64 {
	wait = min(wait, maxWait)
	up := int64((wait + time.Second - 1) / time.Second)
	if deadline, ok := ctx.Deadline(); ok && up > 1 && time.Until(deadline) < time.Duration(up)*time.Second {
		up--
	}
	return up
}

// toDuration is a number of seconds.
func toDuration(n int64) time.Duration { return time.Duration(n) * time.Second }

// bounding is the settings that bound the waits of the statements after them.
func bounding(n int64) string {
	row := noWait
	if n > 0 {
		row = fmt.Sprint(n)
	}
	return fmt.Sprintf(bound, row, max(n, 1))
}

// holding readies a connection for a transaction that somebody else ends.
func holding() string { return hold }

// execer is a connection, or a transaction on one.
type execer interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

// bounded runs a statement that waits for locks at most n seconds, in a strict SQL mode. What the settings were, they are again
// afterwards. An error of restore leaves them in an unknown state.
func bounded(ctx context.Context, on execer, n int64, run func() error) (err, restore error) {
	if _, err := on.ExecContext(ctx, "SET "+bounding(n)); err != nil {
		return err, err
	}
	err = run()
	detached, cancel := driver.Detach(ctx)
	defer cancel()
	_, restore = on.ExecContext(detached, restoreBound)
	return err, restore
}

// take takes a connection and runs the statement that readies it, which is asked for once there is a connection. One that turns out to be broken broke while it was idle, after a
// restart of the server say, and so may have others. Nothing that matters has been done on it, and the next one is tried.
func (d *database) take(ctx context.Context, ready func() string) (*sql.Conn, error) {
	for tries := d.db.Stats().Idle + 1; ; tries-- {
		conn, err := d.db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		if _, err = conn.ExecContext(ctx, ready()); err == nil {
			return conn, nil
		}
		sqltx.Discard(conn)
		_ = conn.Close() // it is closed
		if definite(err) || ctx.Err() != nil || tries == 0 {
			return nil, err
		}
	}
}

// give gives a connection back as it was before it was taken, or closes it where that cannot be said of it.
func give(ctx context.Context, conn *sql.Conn, restore string, broken bool) {
	if !broken {
		ctx, cancel := driver.Detach(ctx)
		defer cancel()
		_, err := conn.ExecContext(ctx, restore)
		broken = err != nil
	}
	if broken {
		sqltx.Discard(conn)
	}
	_ = conn.Close() // the only error says that it is closed already
}
