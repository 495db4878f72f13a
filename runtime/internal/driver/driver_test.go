package driver

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

type stateError string

func (e stateError) Error() string    { return "state " + string(e) }
func (e stateError) SQLState() string { return string(e) }

func TestCommitUnknownState(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]bool{
		"40003": true, "57P01": true, "57P02": true, "57P03": true, "08006": true, "08P01": true,
		"40001": false, "23505": false, "57014": false, "08": false, "": false,
	} {
		if CommitUnknownState(state) != want {
			t.Errorf("%q: not %t", state, want)
		}
	}
}

func TestSQLState(t *testing.T) {
	t.Parallel()
	if got := SQLState(fmt.Errorf("wrapped: %w", stateError("40001"))); got != "40001" {
		t.Errorf("got %q", got)
	}
	for _, err := range []error{nil, errors.New("40001")} {
		if got := SQLState(err); got != "" {
			t.Errorf("%v: got %q", err, got)
		}
	}
}

func TestDetachOutlivesTheCallerAndIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type name struct{}
		caller, cancel := context.WithCancel(context.WithValue(t.Context(), name{}, "kept"))
		cancel()
		ctx, stop := Detach(caller)
		defer stop()
		if ctx.Err() != nil || ctx.Value(name{}) != "kept" {
			t.Errorf("got %v, %v", ctx.Err(), ctx.Value(name{}))
		}
		start := time.Now()
		<-ctx.Done()
		if d := time.Since(start); d != EndTimeout { // by synctest's clock
			t.Errorf("it took %s", d)
		}
	})
}

func TestWaitError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failed := errors.New("failed")
		bounded, stop := BoundWait(t.Context(), time.Second)
		defer stop()
		if err := WaitError(t.Context(), bounded, failed); err != failed { //nolint:errorlint // As it is.
			t.Errorf("within the bound: %v", err)
		}
		if err := WaitError(t.Context(), bounded, stateError(cancelledState)); !errors.As(err, new(*BusyError)) {
			t.Errorf("by statement_timeout: %v", err)
		}
		time.Sleep(time.Second + waitGrace) // by synctest's clock
		synctest.Wait()
		if err := WaitError(t.Context(), bounded, failed); !errors.As(err, new(*BusyError)) || !errors.Is(err, failed) {
			t.Errorf("after the bound: %v", err)
		}
		if err := WaitError(t.Context(), bounded, nil); err != nil {
			t.Errorf("without an error: %v", err)
		}

		caller, cancel := context.WithCancel(t.Context())
		cancel()
		bounded, stop = BoundWait(caller, time.Second)
		defer stop()
		if err := WaitError(caller, bounded, failed); err != failed { //nolint:errorlint // As it is.
			t.Errorf("after the caller's end: %v", err)
		}
		if bounded, stop := BoundWait(t.Context(), 0); bounded.Done() != t.Context().Done() {
			stop()
			t.Error("nothing to wait for, and yet a bound")
		}
	})
}

func TestErrorsSayTheirCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	for fate, want := range map[Fate]string{
		Aborted: "the transaction was aborted",
		Lost:    "the transaction ended before its time",
		Unknown: "COMMIT was not answered",
		9:       "fate 9",
	} {
		if got := (&CommitError{Fate: fate}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		err := &CommitError{Fate: fate, Err: cause}
		if err.Error() != want+": cause" || !errors.Is(err, cause) {
			t.Errorf("got %q", err.Error())
		}
	}
}
