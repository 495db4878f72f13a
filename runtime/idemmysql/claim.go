package idemmysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/sqltx"
)

// engine is MySQL or MariaDB in a transaction, of ours or of the caller's.
type engine struct{ db *database }

// keptError is a session whose settings could not be put back.
type keptError struct{ error }

func (e *keptError) Unwrap() error { return e.error }

// Claim bounds the wait for the claim alone: the handler's statements have the user's values again. A wait that is over rolls
// the statement back and nothing else, so the transaction of a caller can go on.
func (e engine) Claim(ctx context.Context, tx *sql.Tx, w sqltx.Waiting) (n int64, err error) {
	if err := e.db.fit(ctx, tx); err != nil {
		return 0, err
	}
	return e.Update(ctx, tx, w)
}

// Update does the same for a statement on a table of the user's.
func (engine) Update(ctx context.Context, tx *sql.Tx, w sqltx.Waiting) (n int64, err error) {
	secs := seconds(ctx, w.Wait)
	limited, cancel := driver.BoundWait(ctx, toDuration(secs))
	defer cancel()
	err, restore := bounded(limited, tx, secs, func() (err error) {
		n, err = w.Run(limited)
		return err
	})
	if restore != nil {
		return 0, waitError(ctx, limited, &keptError{errors.Join(err, restore)})
	}
	return n, waitError(ctx, limited, err)
}

// Read is bounded in the same way, since it locks what it reads.
func (e engine) Read(ctx context.Context, tx *sql.Tx, w sqltx.Waiting) error {
	_, err := e.Update(ctx, tx, w)
	return err
}

// waitError is a *driver.BusyError where the wait of a claim was over, by the server's bound or by ours.
func waitError(ctx, limited context.Context, err error) error {
	switch number(err) {
	case lockWait, statementTimeout:
		return &driver.BusyError{Err: err}
	}
	return driver.WaitError(ctx, limited, err)
}

// Savepoint sets two: one to go back to, and a mark in it that Whole asks for. Outside of a transaction, as after a deadlock that the
// caller has not returned, the server sets none and says nothing; to go back to one shows it.
func (e engine) Savepoint(ctx context.Context, tx *sql.Tx, name string) error {
	for _, statement := range []string{"SAVEPOINT ", "SAVEPOINT " + markOf, "ROLLBACK TO SAVEPOINT " + markOf} {
		if _, err := tx.ExecContext(ctx, statement+name); err != nil {
			return e.lost(err)
		}
	}
	return nil
}

// markOf begins the name of a savepoint's mark.
const markOf = "mark_"

// Whole comes before the claim is completed, which outside of a transaction would be committed at once.
func (e engine) Whole(ctx context.Context, tx *sql.Tx, name string) error {
	_, err := tx.ExecContext(ctx, "RELEASE SAVEPOINT "+markOf+name)
	return e.lost(err)
}

func (e engine) lost(err error) error {
	if e.NoPoint(err) {
		return &driver.CommitError{Fate: driver.Lost, Err: err}
	}
	return err
}

func (engine) NoPoint(err error) bool { return number(err) == noPoint }

// Aborted is false: an error undoes its statement, or all of the transaction, and the next statement is taken either way.
func (engine) Aborted(error) bool { return false }
