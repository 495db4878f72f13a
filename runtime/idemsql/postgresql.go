package idemsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/sqltx"
)

// postgresql is PostgreSQL behind any database/sql driver whose errors have SQLState.
type postgresql struct{}

// The wait for a rival is bounded by lock_timeout, for the claim alone: the handler's statements have the user's value
// again. It is kept in a setting of our own, for the length of the transaction.
const (
	boundLock = `SELECT set_config('idemgen.lock_timeout', current_setting('lock_timeout'), true), set_config('lock_timeout', $1, true)`
	freeLock  = `SELECT set_config('lock_timeout', current_setting('idemgen.lock_timeout'), true)`
)

// abortedState is the answer to every statement of a transaction that an earlier error has aborted. PostgreSQL, Appendix
// A, class 25.
const abortedState = "25P02"

func (postgresql) isolation(level sql.IsolationLevel) (sql.IsolationLevel, error) {
	switch level {
	case sql.LevelDefault:
		return sql.LevelReadCommitted, nil
	case sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable:
		return level, nil
	default:
		return 0, fmt.Errorf("idem.WithIsolation(%s): PostgreSQL has no such level", level)
	}
}

func (postgresql) classify(err error) driver.Class {
	switch state := driver.SQLState(err); {
	case driver.ConflictState(state):
		return driver.Conflict
	case driver.LockTimeoutState(state):
		return driver.Busy
	default:
		return driver.SchemaClass(state)
	}
}

func (postgresql) columns(ctx context.Context, db *sql.DB, table string) (names []string, err error) {
	rows, err := db.QueryContext(ctx, driver.ColumnsOfPostgreSQL, table)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

func (postgresql) Claim(ctx context.Context, tx *sql.Tx, w sqltx.Waiting) (int64, error) {
	bounded, cancel := driver.BoundWait(ctx, w.Wait)
	defer cancel()
	n, err := func() (int64, error) {
		if _, err := tx.ExecContext(bounded, boundLock, driver.LockTimeout(w.Wait)); err != nil {
			return 0, err
		}
		n, err := w.Run(bounded)
		if err != nil {
			return 0, err
		}
		_, err = tx.ExecContext(bounded, freeLock)
		return n, err
	}()
	return n, driver.WaitError(ctx, bounded, err)
}

func (e postgresql) Update(ctx context.Context, tx *sql.Tx, w sqltx.Waiting) (int64, error) {
	return e.Claim(ctx, tx, w)
}

// Read has nothing to wait for.
func (postgresql) Read(ctx context.Context, _ *sql.Tx, w sqltx.Waiting) error {
	_, err := w.Run(ctx)
	return err
}

func (postgresql) commit(ctx context.Context, s *session) error {
	err := s.end((*sql.Tx).Commit)
	state := driver.SQLState(err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrTxDone):
		return &driver.CommitError{Fate: driver.Lost, Err: err}
	case state != "" && !driver.CommitUnknownState(state) && s.conn.PingContext(ctx) == nil:
		// An answer after which the server goes on. One with which it ends the connection, or itself, can come for a
		// reason that has nothing to do with COMMIT, and between COMMIT and its answer.
		return &driver.CommitError{Fate: driver.Refused, Err: err}
	default:
		s.discard()
		return &driver.CommitError{Fate: driver.Unknown, Err: err}
	}
}

// Savepoint is refused outside of a transaction.
func (e postgresql) Savepoint(ctx context.Context, tx *sql.Tx, name string) error {
	_, err := tx.ExecContext(ctx, "SAVEPOINT "+name)
	if e.NoPoint(err) {
		return &driver.CommitError{Fate: driver.Lost, Err: err}
	}
	return err
}

// Whole has nothing to do: outside of a transaction, or in another one, the release of the savepoint fails.
func (postgresql) Whole(context.Context, *sql.Tx, string) error { return nil }

func (postgresql) Aborted(err error) bool { return driver.SQLState(err) == abortedState }

func (postgresql) NoPoint(err error) bool { return driver.NoSavepointState(driver.SQLState(err)) }

func (postgresql) rolledBack(err error) bool { return err == nil }
