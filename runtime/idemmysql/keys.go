package idemmysql

import (
	"context"
	"database/sql"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// keys are the statements of leases. Each has a connection for itself that commits it, whatever the pool's connections do
// otherwise.
type keys struct{ db *database }

// alone runs a statement that is a transaction of its own, at a level of isolation, LevelDefault for the session's.
func (d *database) alone(ctx context.Context, wait time.Duration, level sql.IsolationLevel, run func(*sql.Conn) error) error {
	conn, err := d.take(ctx, func() string { return standing(ctx, wait) })
	if err != nil {
		return err
	}
	defer give(ctx, conn, restoreAlone, false)
	if level != sql.LevelDefault {
		if _, err := conn.ExecContext(ctx, "SET TRANSACTION ISOLATION LEVEL "+levelNames[level]); err != nil {
			return err
		}
	}
	return run(conn)
}

// standing readies a connection for statements that are transactions of their own, and wait for locks at most for wait.
func standing(ctx context.Context, wait time.Duration) string {
	return commitEach + ", " + bounding(seconds(ctx, wait))
}

// levelNames are the levels as SQL has them.
var levelNames = map[sql.IsolationLevel]string{
	sql.LevelReadUncommitted: "READ UNCOMMITTED",
	sql.LevelReadCommitted:   "READ COMMITTED",
	sql.LevelRepeatableRead:  "REPEATABLE READ",
	sql.LevelSerializable:    "SERIALIZABLE",
}

// claim runs a claim or a take-over, which waits for a transaction that holds the key at most for wait.
func (k keys) claim(ctx context.Context, wait time.Duration, run func(context.Context, DBTX) (int64, error)) (bool, error) {
	outer := ctx
	conn, _, err := driver.Connect(ctx, wait, func(ctx context.Context) (*sql.Conn, func(context.Context, error), error) {
		conn, err := k.db.take(ctx, func() string { return standing(outer, wait) })
		return conn, nil, err
	})
	if err != nil {
		return false, err
	}
	defer give(ctx, conn, restoreAlone, false)
	limited, cancel := driver.BoundWait(ctx, toDuration(max(seconds(ctx, wait), 1)))
	defer cancel()
	if err := k.db.fit(limited, conn); err != nil {
		return false, waitError(ctx, limited, err)
	}
	n, err := run(limited, conn)
	return err == nil && n == 1, waitError(ctx, limited, err)
}

func (k keys) Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error) {
	return k.claim(ctx, wait, func(ctx context.Context, db DBTX) (int64, error) { return k.db.queries.Claim(ctx, db, c) })
}

func (k keys) TakeOver(ctx context.Context, c store.Claim, seen store.Owner, wait time.Duration) (bool, error) {
	return k.claim(ctx, wait, func(ctx context.Context, db DBTX) (int64, error) { return k.db.queries.TakeOver(ctx, db, c, seen) })
}

// Lookup sees what is committed and no more, whatever the session's level is.
func (k keys) Lookup(ctx context.Context, handler, key string) (row store.Row, err error) {
	err = k.db.alone(ctx, shortWait, sql.LevelReadCommitted, func(conn *sql.Conn) (err error) {
		row, err = k.db.queries.Lookup(ctx, conn, handler, key)
		return err
	})
	return row, err
}

// change runs a statement that changes one row or none.
func (k keys) change(ctx context.Context, run func(DBTX) (int64, error)) (done bool, err error) {
	err = k.db.alone(ctx, shortWait, sql.LevelDefault, func(conn *sql.Conn) error {
		n, err := run(conn)
		done = err == nil && n == 1
		return err
	})
	return done, err
}

func (k keys) Renew(ctx context.Context, h store.Holder, lease time.Duration) (bool, error) {
	return k.change(ctx, func(db DBTX) (int64, error) { return k.db.queries.Renew(ctx, db, h, lease) })
}

func (k keys) Finish(ctx context.Context, e store.End) (bool, error) {
	return k.change(ctx, func(db DBTX) (int64, error) { return k.db.queries.Finish(ctx, db, e) })
}

func (k keys) Release(ctx context.Context, h store.Holder) (bool, error) {
	return k.change(ctx, func(db DBTX) (int64, error) { return k.db.queries.Release(ctx, db, h) })
}

func (k keys) Park(ctx context.Context, h store.Holder) (bool, error) {
	return k.change(ctx, func(db DBTX) (int64, error) { return k.db.queries.Park(ctx, db, h) })
}
