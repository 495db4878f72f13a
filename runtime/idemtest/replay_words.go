package idemtest

import (
	"errors"
	"fmt"

	"github.com/idemgen/idemgen/runtime/idem"
)

// What the reader should look for, for each kind of fault.
const (
	insideHint = "Is every write made through the transaction that the handler is given? One through the pool, through another " +
		"connection, or in a goroutine that the handler does not wait for, is no part of it."
	outsideHint = "Does the handler give ExternalKey() of idem.FromContext(ctx) to the outside system as its idempotency key, does " +
		"the outside recognise it, and does Effects count what the outside did rather than how often it was called?"
	codecHint = "A repeat gets what was stored: what the codec does not keep is lost, and what the handler changes after its return " +
		"is not in it."
	lateHint   = "Does the handler start a goroutine that it does not wait for?"
	memoryHint = "Does the handler keep in memory what an earlier run did, or was to do? That run may have been undone, and its worker " +
		"may be gone."
	hookHint = "What is left to idem.AfterCommit is lost with the worker."
)

// hint is what to look for where there are so many effects in place of one run's.
func (p *player[E, R]) hint(left int) string {
	switch {
	case p.leased.Load() && left < p.one:
		return memoryHint
	case p.leased.Load():
		return outsideHint
	case left < p.one:
		return memoryHint + " " + hookHint
	default:
		return insideHint + " " + memoryHint
	}
}

// number is "1 effect" or "2 effects".
func number(n int) string {
	if n == 1 {
		return "1 effect"
	}
	return fmt.Sprintf("%d effects", n)
}

// because explains an error of a delivery in a sentence of its own; empty where the error says enough.
func because(err error) string {
	var (
		omitted *idem.ResultError
		failed  *idem.FailedError
		busy    *idem.InProgressError
	)
	switch {
	case errors.Is(err, idem.ErrPayloadMismatch):
		return " A field tagged fingerprint differs between two deliveries of one event: is it one of the sender's?"
	case errors.Is(err, idem.ErrTransactionLost):
		return " The handler must leave the transaction's end to its caller."
	case errors.Is(err, idem.ErrTransactionAborted):
		return " A statement failed, and the handler went on: return its error."
	case errors.Is(err, idem.ErrResultOmitted):
		return " Its consumer acknowledges without the result: raise idem.WithResultLimit, or return less."
	case errors.As(err, &omitted):
		return " Does the result's type read what it writes?"
	case errors.As(err, &failed):
		return " The handler has marked an error by idem.Permanent: of an event that it does not accept, or one that another run would not meet."
	case errors.As(err, &busy):
		return " Whom does it wait for? A handler that writes through the pool, or through another connection, may wait for its own transaction."
	default:
		return ""
	}
}
