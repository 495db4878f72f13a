package idem

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/point"
	"github.com/idemgen/idemgen/runtime/store"
)

// Permanent marks an error of a handler as one that another run would meet again: an order that does not exist, an amount
// that is not allowed. The run is rolled back like any other that fails, and then the failure is recorded under the key: for
// the length of the window, repeats get a [*FailedError] and do not run.
//
// The mark may be wrapped further. It is Permanent's only effect: the error's text and what it wraps stay, and
// Permanent(nil) is nil. It has none on an error that the database gives to a transaction that lost against another one,
// which is run again, nor on a run whose context is over.
//
// The mark is the handler's own. Where a handler delivers another event within its run and returns the [*Error] of that,
// what the other handler has marked is not marked for this one.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// isPermanent looks for the mark of this handler. An [*Error] is another one's delivery, and so is a [*FailedError] that was
// taken out of one: what that one's own run has marked is settled there, and a repeat of it would show no mark.
func isPermanent(err error) bool {
	switch err := err.(type) {
	case *permanentError:
		return true
	case *Error, *FailedError:
		return false
	case interface{ Unwrap() error }:
		return isPermanent(err.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(err.Unwrap(), isPermanent)
	default:
		return false
	}
}

// FailedError is an event that has failed for good: the handler returned an error marked by [Permanent], in this delivery or
// in an earlier one, and that is recorded. Do not deliver it again; a repeat gets the same.
type FailedError struct {
	// Failure is the text of the handler's error as it is recorded: its beginning, where it is long.
	Failure string
	// Err is the handler's error, in the delivery that ran it. Nil in a repeat.
	Err error
}

func (e *FailedError) Error() string { return "the handler failed for good: " + e.Failure }

// Unwrap returns the handler's error, where there is one.
func (e *FailedError) Unwrap() error { return e.Err }

// failureLimit bounds the text of a recorded failure, in bytes.
const failureLimit = 2 << 10

// failureText is an error's text as a row can hold it: bounded, UTF-8, without NUL.
func failureText(err error) string {
	s := strings.ReplaceAll(strings.ToValidUTF8(err.Error(), "\uFFFD"), "\x00", "\uFFFD")
	if len(s) <= failureLimit {
		return s
	}
	cut := failureLimit
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}

// plainText is a text with escapes in place of the letters that are not ASCII: a database whose encoding is not Unicode's may
// not have them.
func plainText(s string) string {
	var b strings.Builder
	for _, r := range s {
		part := string(r)
		if r >= utf8.RuneSelf {
			part = fmt.Sprintf(`\u%04x`, r)
		}
		if b.Len()+len(part) > failureLimit {
			break
		}
		b.WriteString(part)
	}
	return b.String()
}

// failed is what a delivery returns whose failure stands in the row.
func (h *Handler[Tx, E, R]) failed(d *delivery, f *FailedError) error {
	d.outcome = OutcomeFailed
	return h.wrap(d.key, f)
}

// record writes the permanent failure of a run that has been rolled back, by a claim like any other. If that does not win,
// the row has the answer.
func (h *Handler[Tx, E, R]) record(ctx context.Context, claim store.Claim, d *delivery, cause error) (R, error) {
	// The in-flight time and the retries begin anew: what the handler has used up is not the record's.
	d.until, d.runs = time.Time{}, 0
	point.At(point.BeforeFailure)
	claim = h.failure(claim, d, cause)
	result, err := h.deliver(ctx, claim, d, h.recording)
	if h.tooMuch(d, err) {
		d.until, d.runs, d.outcome = time.Time{}, 0, ""
		result, err = h.deliver(ctx, h.plainly(claim, d), d, h.recording)
	}
	return h.recorded(d, result, cause, err)
}

// tooMuch reports whether err, of a record, says that the database has no room for the failure's text. That of one that is
// recorded has the handler's own error in it, which says nothing about that.
func (h *Handler[Tx, E, R]) tooMuch(d *delivery, err error) bool {
	return d.outcome == OutcomeError && h.guard.driver.Classify(err) == driver.NoRoom
}

// plainly is a failure's claim with a text that every database can hold.
func (h *Handler[Tx, E, R]) plainly(claim store.Claim, d *delivery) store.Claim {
	claim.Failure = plainText(claim.Failure)
	d.failure.Failure = claim.Failure
	return claim
}

// failure is the claim that records cause.
func (h *Handler[Tx, E, R]) failure(claim store.Claim, d *delivery, cause error) store.Claim {
	claim.State, claim.Failure, claim.Window = store.Failed, failureText(cause), h.window
	d.failure = &FailedError{Failure: claim.Failure, Err: cause}
	return claim
}

// recording is all that is done in the transaction of a failure's claim.
func (h *Handler[Tx, E, R]) recording(ctx context.Context, s driver.Session[Tx], _ store.Claim, d *delivery) (none R, _ step, _ error) {
	d.run()
	point.At(point.FailureClaimed)
	if err := s.Commit(ctx, nil); err != nil {
		return h.uncommitted(d, none, err)
	}
	point.At(point.FailureRecorded)
	return none, ended, h.failed(d, d.failure)
}

// recorded judges what became of a record.
func (h *Handler[Tx, E, R]) recorded(d *delivery, result R, cause, err error) (R, error) {
	switch d.outcome {
	case OutcomeFailed, OutcomeDuplicate, OutcomeMismatch:
		return result, err
	default:
		var wrapped *Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return result, h.wrap(d.key, fmt.Errorf("%w; that this is permanent is not recorded: %w", cause, err))
	}
}
