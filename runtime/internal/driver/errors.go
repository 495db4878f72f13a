package driver

import (
	"errors"
	"fmt"
)

// Class is what an error means for the next step.
type Class int

const (
	// Other errors are final for the attempt.
	Other Class = iota
	// Conflict is a transaction that lost against another one and may run again from the start: a serialization
	// failure or a deadlock.
	Conflict
	// Locked is a database that another connection is writing to, SQLite's BUSY and LOCKED: perhaps a rival with the
	// same key, perhaps not.
	Locked
	// Busy is a rival with the same key that still ran when the wait for it was over.
	Busy
	// Misfit is a statement that the database does not understand: of the store's own, one whose table or column is
	// missing or of another kind.
	Misfit
	// Denied is a statement that the database understands and does not allow.
	Denied
	// NoRoom is a statement with a value that the database cannot hold: larger than it takes, or a text with letters that
	// its encoding does not have. Without that value it may take the statement.
	NoRoom
)

// BusyError is an error of class Busy that no code tells: the bound of the wait passed on this side.
type BusyError struct{ Err error }

func (e *BusyError) Error() string {
	return "no end of the rival's transaction in time: " + e.Err.Error()
}

// Unwrap returns the database's or the context's error.
func (e *BusyError) Unwrap() error { return e.Err }

// NoConnectionError is a statement that was not sent, for want of a connection. Its class is that of the reason.
type NoConnectionError struct{ Err error }

func (e *NoConnectionError) Error() string { return "no connection: " + e.Err.Error() }

// Unwrap returns the pool's, the database's or the context's error.
func (e *NoConnectionError) Unwrap() error { return e.Err }

// Fate is what became of a transaction that did not commit as it should.
type Fate int

const (
	// Aborted is a transaction that the database rolled back, or was about to, because of an error that the handler
	// did not return.
	Aborted Fate = iota
	// Lost is a transaction that ended before its time, one way or the other.
	Lost
	// Unknown is a COMMIT without an answer.
	Unknown
	// Refused is a COMMIT that was answered with an error, a deferred trigger's say: what class that is of tells nothing
	// about the store's own statements.
	Refused
)

// CommitError is what Session.Commit returns where the transaction ended, or may have ended, in an unforeseen way.
type CommitError struct {
	Fate Fate
	Err  error // the cause; nil where it is not known
}

func (e *CommitError) Error() string {
	var what string
	switch e.Fate {
	case Aborted:
		what = "the transaction was aborted"
	case Lost:
		what = "the transaction ended before its time"
	case Unknown:
		what = "COMMIT was not answered"
	case Refused:
		what = "COMMIT was refused"
	default:
		what = fmt.Sprintf("fate %d", int(e.Fate))
	}
	if e.Err == nil {
		return what
	}
	return what + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *CommitError) Unwrap() error { return e.Err }

// ConflictState reports whether a SQLSTATE stands for a transaction that may run again from the start.
// PostgreSQL, Appendix A, class 40.
func ConflictState(state string) bool {
	return state == "40001" || state == "40P01"
}

// LockTimeoutState reports whether a SQLSTATE stands for a lock_timeout that passed. PostgreSQL, Appendix A, class 55.
func LockTimeoutState(state string) bool { return state == "55P03" }

// NoSavepointState reports whether a SQLSTATE as the answer to the release of a savepoint says that there is none, or not even
// a transaction. PostgreSQL, Appendix A, classes 3B and 25.
func NoSavepointState(state string) bool { return state == "3B001" || state == "25P01" }

// duplicateStatement is a prepared statement of a name that the connection has already: another client's, behind a pooler that
// hands connections from one transaction to the next. It is of class 42, and says nothing about a table.
const duplicateStatement = "42P05"

// SchemaClass is the class of a SQLSTATE that a statement gets for what it is and not for what it meets: Denied for want of
// a privilege, Misfit where a name or a type is not what the statement takes it for, NoRoom where a value does not go into the
// database, otherwise Other. PostgreSQL, Appendix A, classes 42, 3F, 22 and 54.
func SchemaClass(state string) Class {
	switch {
	case state == "22021", state == "22P05", state == "54000":
		return NoRoom
	case state == "42501":
		return Denied
	case state == duplicateStatement:
		return Other
	case len(state) == 5 && (state[:2] == "42" || state == "3F000"):
		return Misfit
	default:
		return Other
	}
}

// ColumnsOfPostgreSQL lists the columns of the table named by its parameter. It needs no privilege on the table.
const ColumnsOfPostgreSQL = `SELECT attname::text FROM pg_catalog.pg_attribute
WHERE attrelid = pg_catalog.to_regclass($1::text)::oid AND attnum > 0 AND NOT attisdropped`

// cancelledState is a statement that was cancelled, mostly by statement_timeout. PostgreSQL, Appendix A, class 57.
const cancelledState = "57014"

// CommitUnknownState reports whether a SQLSTATE as the answer to a COMMIT leaves open whether it took place: a backend
// that is shut down while it waits for its standby has committed, and class 08 and 40003 say so by their definition.
func CommitUnknownState(state string) bool {
	switch state {
	case "40003", "57P01", "57P02", "57P03":
		return true
	}
	return len(state) == 5 && state[:2] == "08"
}

// SQLState returns the SQLSTATE that err or an error that it wraps carries, or "".
func SQLState(err error) string {
	var coded interface{ SQLState() string }
	if !errors.As(err, &coded) {
		return ""
	}
	return coded.SQLState()
}
