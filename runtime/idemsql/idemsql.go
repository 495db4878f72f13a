package idemsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/sqltx"
	"github.com/idemgen/idemgen/runtime/store"
)

// DBTX is what the store's statements run on: a connection or a transaction. It has the methods of sqlc's DBTX.
type DBTX interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	PrepareContext(context.Context, string) (*sql.Stmt, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// New guards handlers by the keys in db. s is the generated idemdb.Store. Every delivery takes one connection of db for
// its length, so a handler that takes a second one from the same pool can starve it.
//
// On PostgreSQL transactions are READ COMMITTED whatever the server's default is; see [idem.WithIsolation]. On SQLite they
// are what SQLite's are, serializable.
func New(db *sql.DB, s store.Queries[DBTX], opts ...idem.Option) *idem.Guard[*sql.Tx] {
	return idem.NewGuard(func(c driver.Config) (driver.Driver[*sql.Tx], error) {
		switch {
		case db == nil:
			return nil, errors.New("idemsql.New: the database is nil")
		case s == nil:
			return nil, errors.New("idemsql.New: the store is nil")
		}
		e, err := engineOf(s.Engine())
		if err != nil {
			return nil, err
		}
		level, err := e.isolation(c.Isolation)
		if err != nil {
			return nil, err
		}
		return &database{db: db, queries: s, engine: e, options: sql.TxOptions{Isolation: level}}, nil
	}, opts...)
}

// database is the driver.
type database struct {
	db      *sql.DB
	queries store.Queries[DBTX]
	engine  engine
	options sql.TxOptions
}

// engine is what differs between the databases behind database/sql.
type engine interface {
	sqltx.Engine
	isolation(sql.IsolationLevel) (sql.IsolationLevel, error)
	classify(error) driver.Class
	// columns are the names of a table's columns; none where there is no such table.
	columns(ctx context.Context, db *sql.DB, table string) ([]string, error)
	// commit commits s.tx, whose claim is completed.
	commit(ctx context.Context, s *session) error
	// alone runs an UPDATE in a transaction of its own: see driver.Transitions.
	alone(ctx context.Context, d *database, wait time.Duration, update func(context.Context, DBTX) (int64, error)) (int64, error)
	// begun judges the error of a BEGIN, and free whether a statement on a connection would be a transaction of its own: somebody
	// may have left one open there.
	begun(err error) error
	free(ctx context.Context, conn *sql.Conn) error
	// rolledBack reports whether the connection can be used after ROLLBACK has been answered with err.
	rolledBack(err error) bool
}

func engineOf(e store.Engine) (engine, error) {
	switch e {
	case store.PostgreSQL:
		return postgresql{}, nil
	case store.SQLite:
		return sqlite{}, nil
	default:
		return nil, fmt.Errorf("idemsql.New: the store was generated for engine=%s, which this version of the runtime does not know", e)
	}
}

// ClaimCompletes is false: see the package comment.
func (d *database) ClaimCompletes() bool { return false }

func (d *database) Acquire(ctx context.Context) (driver.Session[*sql.Tx], error) {
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &session{db: d, conn: conn}, nil
}

func (d *database) Join(tx *sql.Tx) (driver.Session[*sql.Tx], error) {
	if tx == nil {
		return nil, errors.New("idemsql: the transaction is nil")
	}
	return d.joined(tx), nil
}

func (d *database) joined(tx *sql.Tx) *sqltx.Joined[DBTX] {
	on := func(tx *sql.Tx) DBTX { return tx }
	return &sqltx.Joined[DBTX]{
		Handle: tx, Queries: d.queries, On: on, Newest: on, Engine: d.engine,
	}
}

func (d *database) Classify(err error) driver.Class {
	var busy *driver.BusyError
	if errors.As(err, &busy) {
		return driver.Busy
	}
	return d.engine.classify(err)
}

func (d *database) Keys() driver.Keys {
	on := once{d.db, d.engine}
	return driver.KeysOn[DBTX](d.queries, on, func(ctx context.Context) (DBTX, func(context.Context, error), error) {
		conn, err := on.take(ctx)
		if err != nil {
			return nil, nil, err
		}
		return conn, func(ctx context.Context, err error) { on.give(ctx, conn, err) }, nil
	})
}

func (d *database) Sweep(ctx context.Context, batch int) (int64, error) {
	return d.queries.Sweep(ctx, d.db, int64(batch))
}

func (d *database) Table() string { return d.queries.Table() }

func (d *database) Columns(ctx context.Context) ([]string, error) {
	return d.engine.columns(ctx, d.db, d.queries.Table())
}
