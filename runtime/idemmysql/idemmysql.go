package idemmysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

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

// New guards handlers by the keys in db, a pool of github.com/go-sql-driver/mysql. s is the generated idemdb.Store. Every
// delivery takes one connection of db for its length, so a handler that takes a second one from the same pool can starve it.
//
// Transactions are READ COMMITTED whatever the server's default is; see [idem.WithIsolation].
func New(db *sql.DB, s store.Queries[DBTX], opts ...idem.Option) *idem.Guard[*sql.Tx] {
	return idem.NewGuard(func(c driver.Config) (driver.Driver[*sql.Tx], error) {
		switch {
		case db == nil:
			return nil, errors.New("idemmysql.New: the database is nil")
		case s == nil:
			return nil, errors.New("idemmysql.New: the store is nil")
		case s.Engine() != store.MySQL:
			return nil, fmt.Errorf("idemmysql.New: the store was generated for engine=%s", s.Engine())
		}
		level, err := isolation(c.Isolation)
		if err != nil {
			return nil, err
		}
		return &database{db: db, queries: queries{s}, options: sql.TxOptions{Isolation: level}}, nil
	}, opts...)
}

// database is the driver.
type database struct {
	db      *sql.DB
	queries queries
	options sql.TxOptions
	fits    atomic.Bool // the table has been looked at, and is as the statements need it
}

// queries are the store's, of which a claim of a key that has a row is no error.
type queries struct{ store.Queries[DBTX] }

func (q queries) Claim(ctx context.Context, db DBTX, c store.Claim) (int64, error) {
	n, err := q.Queries.Claim(ctx, db, c)
	if number(err) == duplicate {
		return 0, nil
	}
	return n, err
}

// isolation is the level of the transactions.
func isolation(level sql.IsolationLevel) (sql.IsolationLevel, error) {
	switch level {
	case sql.LevelDefault:
		return sql.LevelReadCommitted, nil
	case sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable:
		return level, nil
	default:
		return 0, fmt.Errorf("idem.WithIsolation(%s): MySQL has no such level", level)
	}
}

// ClaimCompletes is false: see the package comment.
func (d *database) ClaimCompletes() bool { return false }

func (d *database) Acquire(ctx context.Context) (driver.Session[*sql.Tx], error) {
	conn, err := d.take(ctx, holding)
	if err != nil {
		return nil, err
	}
	return &session{db: d, conn: conn}, nil
}

func (d *database) Join(tx *sql.Tx) (driver.Session[*sql.Tx], error) {
	if tx == nil {
		return nil, errors.New("idemmysql: the transaction is nil")
	}
	return d.joined(tx), nil
}

func (d *database) joined(tx *sql.Tx) *sqltx.Joined[DBTX] {
	return &sqltx.Joined[DBTX]{
		Handle:  tx,
		Queries: d.queries,
		On:      func(tx *sql.Tx) DBTX { return tx },
		Newest:  func(tx *sql.Tx) DBTX { return newest{tx} },
		Engine:  engine{d},
	}
}

// newest reads the newest rows there are, by locking them: in a transaction of the caller's at REPEATABLE READ a plain SELECT
// sees no row that was committed after the first one. The row of a key has been locked before by the claim that met it, so this
// does not wait; a row of the user's may be anybody's.
type newest struct{ *sql.Tx }

func (n newest) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return n.Tx.QueryRowContext(ctx, query+" LOCK IN SHARE MODE", args...)
}

func (d *database) Classify(err error) driver.Class { return classify(err) }

func (d *database) Keys() driver.Keys { return keys{d} }

func (d *database) Table() string { return d.queries.Table() }

func (d *database) Sweep(ctx context.Context, batch int) (n int64, err error) {
	err = d.alone(ctx, shortWait, d.options.Isolation, func(conn *sql.Conn) (err error) {
		n, err = d.queries.Sweep(ctx, conn, int64(batch))
		return err
	})
	return n, err
}

// Columns asks the table itself: what cannot be selected from is not there.
func (d *database) Columns(ctx context.Context) (names []string, err error) {
	err = d.alone(ctx, shortWait, sql.LevelDefault, func(conn *sql.Conn) (err error) {
		names, err = columns(ctx, conn, d.Table())
		return err
	})
	if classify(err) == driver.Misfit {
		return nil, nil
	}
	return names, err
}

func columns(ctx context.Context, conn *sql.Conn, table string) (names []string, err error) {
	rows, err := conn.QueryContext(ctx, "SELECT * FROM "+table+" LIMIT 0")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	names, err = rows.Columns()
	for i, name := range names {
		// With columnsWithAlias=true in the DSN the driver puts the table's name before it.
		names[i] = name[strings.LastIndexByte(name, '.')+1:]
	}
	return names, err
}
