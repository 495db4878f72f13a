package driver

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"
)

// EndTimeout bounds what must happen whatever became of the caller's context: a COMMIT, a ROLLBACK.
const EndTimeout = 5 * time.Second

// waitGrace is how much longer than the wait itself a claim may take before its connection is given up.
const waitGrace = time.Second

// maxWait is the longest wait that PostgreSQL's lock_timeout can hold, about 25 days.
const maxWait = math.MaxInt32 * time.Millisecond

// LockTimeout is a wait as a value of PostgreSQL's lock_timeout, in milliseconds: the least there is for no wait, since
// 0 would be for ever, and the most there is for one that does not fit.
func LockTimeout(wait time.Duration) string {
	return strconv.FormatInt(max(min(wait, maxWait).Milliseconds(), 1), 10)
}

// Detach returns a context with ctx's values and without its end, bounded by EndTimeout.
func Detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), EndTimeout)
}

// BoundWait returns a context for a statement that the database is told to wait in for at most wait. The database
// counts anew for every rival in a row, one that rolls back and the next; this bound counts them all. Without a wait
// there is nothing to bound.
func BoundWait(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if wait <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, min(wait, maxWait)+waitGrace)
}

// WaitError judges the error of a claim that ran on BoundWait's context. It is a *BusyError where the wait was ended by
// that bound, or by the user's own statement_timeout, and not by the caller.
func WaitError(ctx, bounded context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if errors.Is(bounded.Err(), context.DeadlineExceeded) || SQLState(err) == cancelledState {
		return &BusyError{Err: err}
	}
	return err
}
