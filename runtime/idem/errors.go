package idem

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
)

var (
	// ErrZeroKey is a business key with a part that is missing or zero. Nothing was claimed and nothing ran: a field that
	// the sender left out must not make all events equal. Tag the part idem:"key,allowzero" where zero is a value.
	ErrZeroKey = errors.New("a part of the key is zero")

	// ErrPayloadMismatch is a repeat whose fingerprint fields differ from the first delivery's: the sender used one key
	// for two things. Nothing ran, and the stored result is not returned.
	ErrPayloadMismatch = errors.New("the key was used before with another payload")

	// ErrTransactionAborted is a handler that returned no error although its transaction could not commit: a statement
	// failed, the handler went on, and the database would have answered COMMIT with a rollback. Nothing of the run
	// remains.
	ErrTransactionAborted = errors.New("the transaction was aborted by an error that the handler did not return")

	// ErrTransactionLost is a transaction that ended under the handler: the handler ended it itself, or the database did
	// and the handler went on. What was written before that end may have been committed without the rest, and what was
	// written behind it may have been committed on its own. Where the claim was committed and not completed, every repeat
	// gets this error until someone has looked and deleted the row.
	ErrTransactionLost = errors.New("the transaction ended before the handler did: a handler must not commit or roll back, nor go on when the database has")

	// ErrCommitUnknown is a COMMIT that was sent and not answered, and a database that did not say within the in-flight
	// timeout what became of it. The run took effect as a whole or not at all, and it is safe to deliver the event again:
	// the repeat finds the row, or runs. The event must not be given up for it. Of a handler with a lease it is the end of the
	// run that may not be recorded, for want of an answer or because the database refuses to: if it is not, the key is free
	// again when the lease has passed.
	ErrCommitUnknown = errors.New("it is not known whether the transaction was committed; deliver again")

	// ErrReentrant is a key that comes a second time in one transaction of the caller's, or inside of its own run: see
	// [Handler.InTx]. Nothing ran a second time.
	ErrReentrant = errors.New("the key was claimed before in the same transaction")

	// ErrLeaseLost is a lease that is no longer this delivery's, or, where the database cannot be asked, may no longer be. It
	// is the cause of the cancelled context of a handler with a lease (see [context.Cause]), which should stop before it has
	// its effect; and it is returned where the handler ended and its end could not be recorded because another delivery has
	// taken the key over, or a person. Deliver again: the repeat gets what the other one recorded. Where one handler with a lease
	// delivers to another one, the loss of the outer lease is the cause that both see, and only the outer delivery returns it.
	ErrLeaseLost = errors.New("the lease was lost")

	// ErrParked is a key whose lease has passed without an end, under expired=park: whether its effect took place is for a
	// person to find out, who then releases the row or deletes it. Nothing ran.
	ErrParked = errors.New("the key is parked: an earlier run neither ended nor was it given up, and a person has to see what it did")

	// ErrRowNotFound is a transition whose event is about a row that is not there, or that the connection may not see. Nothing
	// ran. It may come later: whether to deliver again is for the consumer to say.
	ErrRowNotFound = errors.New("there is no row for the event")

	// ErrStaleVersion is a transition whose event knows another version of the row than there is: see [StaleVersionError].
	ErrStaleVersion = errors.New("the row has another version than the event knows")

	// ErrManyRows is a transition whose row= names more than one row. What it changed was rolled back, unless there is no code and
	// the table has lost the unique key that it had when the code was generated: the error says so.
	ErrManyRows = errors.New("the event is about more than one row")

	// ErrUnmoved is a transition whose row is in a state that it begins in, and that the UPDATE does not change all the same:
	// a trigger or a row-level policy keeps it from that. Nothing ran.
	ErrUnmoved = errors.New("the row should have been moved and was not: a trigger or a policy may suppress the UPDATE")

	// ErrResultOmitted is a repeat of a run whose result was over the limit of [WithResultLimit], or that had none to
	// store. The run counts; only its result is gone.
	ErrResultOmitted = errors.New("the handler ran before and its result was not stored")
)

// Error is what a delivery returns where the error is not the handler's own: it adds handler and key. The handler's own
// error comes back as it is.
type Error struct {
	Handler string
	Key     string // empty where there is none yet
	Err     error
}

func (e *Error) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("idem: %s: %v", e.Handler, e.Err)
	}
	return fmt.Sprintf("idem: %s %s: %v", e.Handler, e.Key, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// InProgressError is a delivery that found another one of its key running and did not see its end in time. Nothing ran.
// It is not a failure of the event: deliver again later.
type InProgressError struct {
	// RetryAfter is a hint for the redelivery, and positive: what is left of the other one's lease, or, where that is a
	// transaction, which does not say when it ends, the guard's in-flight timeout.
	RetryAfter time.Duration
	// Err is what ended the wait: the database's error, the context's, or nil. On SQLite, where one writer locks all
	// others out, it may as well have been an unrelated one.
	Err error
}

func (e *InProgressError) Error() string {
	if e.Err == nil {
		return "another delivery of the key is in progress"
	}
	return "another delivery of the key is in progress: " + e.Err.Error()
}

// Unwrap returns Err.
func (e *InProgressError) Unwrap() error { return e.Err }

// ResultError is a stored result that does not decode into the handler's result type, mostly because a deploy changed
// it. The run counts and is not repeated.
type ResultError struct{ Err error }

func (e *ResultError) Error() string {
	return "the handler ran before, and its stored result does not decode: " + e.Err.Error()
}

// Unwrap returns the codec's error.
func (e *ResultError) Unwrap() error { return e.Err }

// errAbandoned is what an observer is told of a handler that panicked or called runtime.Goexit.
var errAbandoned = errors.New("the handler panicked or exited its goroutine")

// withEnd is an error that also says that the caller's context was over, where it was and the database or its driver tell of what
// came of it alone.
func withEnd(ctx context.Context, err error) error {
	if end := ctx.Err(); end != nil && !errors.Is(err, end) {
		return fmt.Errorf("%w: %w", end, err)
	}
	return err
}

// commitError turns what a driver says about the end of a transaction into the errors above.
func commitError(err error) error {
	var end *driver.CommitError
	if !errors.As(err, &end) {
		return err
	}
	var sentinel error
	switch end.Fate {
	case driver.Aborted:
		sentinel = ErrTransactionAborted
	case driver.Lost:
		sentinel = ErrTransactionLost
	case driver.Refused:
		return end.Err
	default:
		sentinel = ErrCommitUnknown
	}
	if end.Err == nil {
		return sentinel
	}
	return fmt.Errorf("%w: %w", sentinel, end.Err)
}

// ConflictError is a transition whose row is in a state that the event cannot move it from, and that it does not lead to
// either: the event came too late, too early, or after something that excludes it. Nothing ran. The same event gets the same
// answer until the row moves; a payment for an order that was cancelled is for a person.
type ConflictError struct {
	Column string // "orders.status"
	Have   string // the row's state
	Want   string // the state that the event asks for
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s is %q, and the event cannot make it %q", e.Column, e.Have, e.Want)
}

// StaleVersionError is [ErrStaleVersion] with both versions.
type StaleVersionError struct {
	Column string // of the state
	Have   int64  // the row's version
	Want   int64  // the version that the event knows
}

func (e *StaleVersionError) Error() string {
	return fmt.Sprintf("%v: it is %d, and the event knows %d", ErrStaleVersion, e.Have, e.Want)
}

// Unwrap returns ErrStaleVersion.
func (e *StaleVersionError) Unwrap() error { return ErrStaleVersion }
