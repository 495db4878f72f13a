package idemsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/sqltx"
)

// sqlite is SQLite behind any database/sql driver whose errors have a code; see resultCode.
type sqlite struct{}

// Primary result codes. SQLite, "Result and Error Codes"; the low byte of an extended code is its primary one.
const (
	codeError     = 1 // of COMMIT and ROLLBACK: there is no transaction; of RELEASE: no savepoint; of others: not understood
	codePerm      = 3
	codeBusy      = 5
	codeLocked    = 6
	codeReadonly  = 8
	codeInterrupt = 9
	codeTooBig    = 18
	codeAuth      = 23
)

// primaryCode returns the primary result code that err or an error that it wraps carries, or 0.
func primaryCode(err error) int { return resultCode(err) & 0xff }

func (sqlite) isolation(level sql.IsolationLevel) (sql.IsolationLevel, error) {
	switch level {
	case sql.LevelDefault, sql.LevelSerializable:
		return sql.LevelDefault, nil
	default:
		return 0, fmt.Errorf("idem.WithIsolation(%s): SQLite's transactions are serializable, and nothing else", level)
	}
}

func (sqlite) classify(err error) driver.Class {
	switch primaryCode(err) {
	case codeBusy, codeLocked:
		return driver.Locked
	case codeError:
		return driver.Misfit
	case codePerm, codeReadonly, codeAuth:
		return driver.Denied
	case codeTooBig:
		return driver.NoRoom
	default:
		return driver.Other
	}
}

// columns asks the table itself: what cannot be selected from is not there.
func (e sqlite) columns(ctx context.Context, db *sql.DB, table string) (names []string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT * FROM "+table+" LIMIT 0")
	if e.classify(err) == driver.Misfit {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	return rows.Columns()
}

// Claim does not bound the wait: there is none, beyond the user's busy_timeout. BUSY comes back and the engine begins
// again.
func (sqlite) Claim(ctx context.Context, _ *sql.Tx, w sqltx.Waiting) (int64, error) {
	return w.Run(ctx)
}

func (e sqlite) Update(ctx context.Context, tx *sql.Tx, w sqltx.Waiting) (int64, error) {
	return e.Claim(ctx, tx, w)
}

func (e sqlite) Read(ctx context.Context, tx *sql.Tx, w sqltx.Waiting) error {
	_, err := e.Claim(ctx, tx, w)
	return err
}

// commit sends COMMIT as a statement, after which the transaction is still there if it is BUSY. Tx.Commit would have
// ended it.
func (e sqlite) commit(ctx context.Context, s *session) error {
	_, err := s.tx.ExecContext(ctx, "COMMIT")
	switch {
	case err == nil:
		// database/sql does not know yet. There is nothing left to roll back, which is the error.
		_ = s.end((*sql.Tx).Rollback)
		return nil
	case e.classify(err) == driver.Locked:
		return e.commitBusy(ctx, s)
	default:
		return e.uncommitted(s, err)
	}
}

// commitWait is how long COMMIT may wait for readers: less than the bound of COMMIT itself.
const commitWait = driver.EndTimeout * 9 / 10

// commitBusy commits where COMMIT was BUSY: for rows of a writing statement that the handler has left open, or, with a
// rollback journal, for others that read. It does so in database/sql's way, which closes the rows, and has SQLite wait for
// the others. It cannot be tried again: if it fails, it has rolled back.
func (e sqlite) commitBusy(ctx context.Context, s *session) error {
	restore, err := busyTimeout(ctx, s.tx, commitWait)
	if err != nil {
		return e.uncommitted(s, err)
	}
	err = s.end((*sql.Tx).Commit)
	if _, rerr := s.conn.ExecContext(ctx, restore); rerr != nil {
		s.discard()
	}
	if err == nil || e.classify(err) == driver.Locked {
		return err
	}
	s.discard()
	return &driver.CommitError{Fate: driver.Unknown, Err: err}
}

// busyTimeout sets how long statements of tx's connection wait for others. It returns the statement that undoes it.
func busyTimeout(ctx context.Context, tx *sql.Tx, wait time.Duration) (restore string, err error) {
	const set = "PRAGMA busy_timeout = %d"
	var before int64
	if err := tx.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&before); err != nil {
		return "", err
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf(set, wait.Milliseconds()))
	return fmt.Sprintf(set, before), err
}

// uncommitted tells what err in place of COMMIT's answer means. A transaction that can be rolled back has not committed.
func (sqlite) uncommitted(s *session, err error) error {
	switch rerr := s.end((*sql.Tx).Rollback); {
	case rerr == nil:
		return err
	case errors.Is(err, sql.ErrTxDone), primaryCode(err) == codeError:
		return &driver.CommitError{Fate: driver.Lost, Err: err}
	default:
		// Should the transaction still be there, it ends with its connection.
		s.discard()
		return &driver.CommitError{Fate: driver.Unknown, Err: err}
	}
}

// errNoTransaction is what a savepoint would have been set in.
var errNoTransaction = errors.New("there is no transaction: an OR ROLLBACK, a full disk or a statement whose context was over has rolled it back, or it was ended by SQL text")

// Savepoint asks for a transaction first, which is refused where there is one. Where there is none, SAVEPOINT would begin one,
// and its release commit it: before the caller does, and without what the caller has written.
func (sqlite) Savepoint(ctx context.Context, tx *sql.Tx, name string) error {
	_, err := tx.ExecContext(ctx, "BEGIN")
	switch {
	case err == nil:
		return &driver.CommitError{Fate: driver.Lost, Err: errNoTransaction} // what was begun goes with tx
	case primaryCode(err) != codeError:
		return err
	}
	_, err = tx.ExecContext(ctx, "SAVEPOINT "+name)
	return err
}

// Whole has nothing to do that the release of the savepoint does not.
func (sqlite) Whole(context.Context, *sql.Tx, string) error { return nil }

func (sqlite) Aborted(error) bool { return false }

func (sqlite) NoPoint(err error) bool { return primaryCode(err) == codeError }

// rolledBack also knows a transaction that SQLite has rolled back already, on its own or for an OR ROLLBACK.
func (sqlite) rolledBack(err error) bool { return err == nil || primaryCode(err) == codeError }
