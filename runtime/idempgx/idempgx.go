package idempgx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// DBTX is what the store's statements run on: a connection, a transaction, or one of this package's pipelines. It has the
// methods of sqlc's DBTX.
type DBTX interface {
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
	Query(context.Context, string, ...any) (pgx.Rows, error)
	QueryRow(context.Context, string, ...any) pgx.Row
}

// New guards handlers by the keys in db. s is the generated idemdb.Store. Every delivery takes one connection of db for
// its length, so a handler that takes a second one from the same pool can starve it.
//
// Transactions are READ COMMITTED whatever the server's default is; see [idem.WithIsolation].
func New(db *pgxpool.Pool, s store.Queries[DBTX], opts ...idem.Option) *idem.Guard[pgx.Tx] {
	return idem.NewGuard(func(c driver.Config) (driver.Driver[pgx.Tx], error) {
		switch {
		case db == nil:
			return nil, errors.New("idempgx.New: the pool is nil")
		case s == nil:
			return nil, errors.New("idempgx.New: the store is nil")
		case s.Engine() != store.PostgreSQL:
			return nil, fmt.Errorf("idempgx.New: the store was generated for engine=%s, and pgx speaks to engine=%s", s.Engine(), store.PostgreSQL)
		}
		level, err := isolation(c.Isolation)
		if err != nil {
			return nil, err
		}
		return &pool{db: db, queries: s, options: pgx.TxOptions{IsoLevel: level}}, nil
	}, opts...)
}

func isolation(level sql.IsolationLevel) (pgx.TxIsoLevel, error) {
	switch level {
	case sql.LevelDefault, sql.LevelReadCommitted:
		return pgx.ReadCommitted, nil
	case sql.LevelReadUncommitted:
		return pgx.ReadUncommitted, nil
	case sql.LevelRepeatableRead:
		return pgx.RepeatableRead, nil
	case sql.LevelSerializable:
		return pgx.Serializable, nil
	default:
		return "", fmt.Errorf("idem.WithIsolation(%s): PostgreSQL has no such level", level)
	}
}

// pool is the driver.
type pool struct {
	db      *pgxpool.Pool
	queries store.Queries[DBTX]
	options pgx.TxOptions
}

// ClaimCompletes is true: pgx tells the state of the transaction before COMMIT, and the handler's Tx cannot end it.
func (p *pool) ClaimCompletes() bool { return true }

func (p *pool) Acquire(ctx context.Context) (driver.Session[pgx.Tx], error) {
	conn, err := p.db.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return newSession(p, conn), nil
}

func (p *pool) Join(tx pgx.Tx) (driver.Session[pgx.Tx], error) {
	if tx == nil {
		return nil, errors.New("idempgx: the transaction is nil")
	}
	return &joined{pool: p, outer: tx}, nil
}

func (p *pool) Classify(err error) driver.Class {
	var busy *driver.BusyError
	if errors.As(err, &busy) {
		return driver.Busy
	}
	switch state := driver.SQLState(err); {
	case driver.ConflictState(state):
		return driver.Conflict
	case driver.LockTimeoutState(state):
		return driver.Busy
	default:
		return driver.SchemaClass(state)
	}
}

func (p *pool) Keys() driver.Keys {
	return driver.KeysOn[DBTX](p.queries, p.db, func(ctx context.Context) (DBTX, func(context.Context, error), error) {
		conn, err := p.db.Acquire(ctx)
		if err != nil {
			return nil, nil, err
		}
		return conn, func(context.Context, error) { conn.Release() }, nil
	})
}

func (p *pool) Sweep(ctx context.Context, batch int) (int64, error) {
	return p.queries.Sweep(ctx, p.db, int64(batch))
}

func (p *pool) Table() string { return p.queries.Table() }

func (p *pool) Columns(ctx context.Context) ([]string, error) {
	rows, err := p.db.Query(ctx, driver.ColumnsOfPostgreSQL, p.queries.Table())
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
