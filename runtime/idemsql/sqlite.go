package idemsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
)

// sqlite is SQLite behind any database/sql driver whose errors have Code.
type sqlite struct{}

// Primary result codes. SQLite, "Result and Error Codes"; the low byte of an extended code is its primary one.
const (
	codeError  = 1 // of COMMIT and ROLLBACK: there is no transaction
	codeBusy   = 5
	codeLocked = 6
)

// primaryCode returns the primary result code that err or an error that it wraps carries, or 0.
func primaryCode(err error) int {
	var coded interface{ Code() int }
	if !errors.As(err, &coded) {
		return 0
	}
	return coded.Code() & 0xff
}

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
	default:
		return driver.Other
	}
}

// claim does not bound the wait: there is none, beyond the user's busy_timeout. BUSY comes back and the engine begins
// again.
func (sqlite) claim(ctx context.Context, _ *session, w waiting) (int64, error) { return w.run(ctx) }

// commit sends COMMIT as a statement. With a rollback journal it is BUSY while others read, and then the transaction is
// still there: it needs another COMMIT, not another run. Tx.Commit would have ended it.
func (e sqlite) commit(ctx context.Context, s *session) error {
	for try := 0; ; try++ {
		_, err := s.tx.ExecContext(ctx, "COMMIT")
		if err == nil {
			// database/sql does not know yet. There is nothing left to roll back, which is the error.
			_ = s.end((*sql.Tx).Rollback)
			return nil
		}
		if e.classify(err) != driver.Locked {
			return e.uncommitted(s, err)
		}
		if !pause(ctx, try) {
			break
		}
	}
	// The last time in database/sql's way, which closes rows that the handler has left open: those of a writing statement
	// are BUSY too.
	err := s.end((*sql.Tx).Commit)
	if err == nil || e.classify(err) == driver.Locked {
		return err
	}
	return &driver.CommitError{Fate: driver.Unknown, Err: err}
}

// uncommitted tells what err in place of COMMIT's answer means. A transaction that can be rolled back has not committed.
func (sqlite) uncommitted(s *session, err error) error {
	switch rerr := s.end((*sql.Tx).Rollback); {
	case rerr == nil:
		return err
	case errors.Is(err, sql.ErrTxDone), primaryCode(err) == codeError:
		return &driver.CommitError{Fate: driver.Lost, Err: err}
	default:
		return &driver.CommitError{Fate: driver.Unknown, Err: err}
	}
}

// rolledBack also knows a transaction that SQLite has rolled back already, on its own or for an OR ROLLBACK.
func (sqlite) rolledBack(err error) bool { return err == nil || primaryCode(err) == codeError }

// pause waits before the next try, for a random time, and reports whether ctx is still going on.
func pause(ctx context.Context, try int) bool {
	bound := time.Millisecond << min(try, 4)
	t := time.NewTimer(rand.N(bound) + 1)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
