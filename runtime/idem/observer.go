package idem

import (
	"context"
	"time"
)

// Outcome is how a delivery ended.
type Outcome string

// The outcomes.
const (
	// OutcomeExecuted is a delivery whose handler ran and whose transaction committed.
	OutcomeExecuted Outcome = "executed"
	// OutcomeSettled is a delivery whose handler ran, and whose COMMIT was not answered but, as the row of its claim has
	// shown since, took place.
	OutcomeSettled Outcome = "settled"
	// OutcomeDuplicate is a repeat: answered from the row, without running. Its share of all deliveries should be next
	// to nothing; where it rises, acknowledgements come too late.
	OutcomeDuplicate Outcome = "duplicate"
	// OutcomeJoined is a delivery whose handler ran in its caller's transaction, which may or may not have committed since:
	// see [Handler.InTx].
	OutcomeJoined Outcome = "joined"
	// OutcomeInProgress is a delivery that met another one of its key and did not see its end: see [InProgressError].
	OutcomeInProgress Outcome = "in_progress"
	// OutcomeMismatch is a repeat with another payload: see [ErrPayloadMismatch].
	OutcomeMismatch Outcome = "mismatch"
	// OutcomeFailed is a delivery that failed for good, or met the record of that: see [Permanent].
	OutcomeFailed Outcome = "failed"
	// OutcomeLeaseLost is a delivery that ran and could not record its end, because its lease was lost: see [ErrLeaseLost].
	OutcomeLeaseLost Outcome = "lease_lost"
	// OutcomeConflict is a transition whose row is in a state, or of a version, that the event cannot move it from: see
	// [ConflictError]. A person has to look.
	OutcomeConflict Outcome = "conflict"
	// OutcomeError is any other delivery that returned an error, or panicked. Nothing of it remains, unless the error
	// says otherwise.
	OutcomeError Outcome = "error"
)

// Delivery is what an [Observer] is told.
//
// Under [WithShadow] the outcome is the one that the delivery would have had, also where its handler has failed:
// OutcomeDuplicate for a repeat, OutcomeInProgress for one that met another delivery or a locked database, OutcomeMismatch,
// OutcomeFailed, and OutcomeError for a key that is zero or could not be claimed. OutcomeExecuted and OutcomeSettled are
// the deliveries that had the key to themselves. OutcomeError is, besides, one of those whose handler failed.
type Delivery struct {
	Handler string
	Outcome Outcome
	// Attempt is the queue's delivery count, where the payload has one tagged; otherwise 0.
	Attempt int
	// Duration is the time from call to return.
	Duration time.Duration
	// Retries is how often the delivery began again: after a conflict, or after a rival that rolled back.
	Retries int
	// Err is the error returned; under [WithShadow], where none was, the one that a guard would have returned. It is nil for OutcomeExecuted, OutcomeSettled and OutcomeJoined, and for OutcomeDuplicate unless the stored result could
	// not be returned.
	Err error
}

// Observer is told of every delivery when it has ended, in the goroutine that delivered. It should be quick: a repeat is
// answered by the queue's clock.
type Observer interface {
	Observe(context.Context, Delivery)
}

// ObserverFunc is a function as an [Observer].
type ObserverFunc func(context.Context, Delivery)

// Observe calls f.
func (f ObserverFunc) Observe(ctx context.Context, d Delivery) { f(ctx, d) }
