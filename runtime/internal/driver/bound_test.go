package driver

import (
	"math"
	"testing"
	"time"
)

func TestLockTimeout(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{
		math.MinInt64:              "1",
		0:                          "1",
		time.Microsecond:           "1",
		1500 * time.Microsecond:    "1",
		5 * time.Second:            "5000",
		24 * 24 * time.Hour:        "2073600000",
		30 * 24 * time.Hour:        "2147483647",
		200 * 365 * 24 * time.Hour: "2147483647",
		math.MaxInt64:              "2147483647",
	} {
		if got := LockTimeout(wait); got != want {
			t.Errorf("%s: got %s, want %s", wait, got, want)
		}
	}
}

// A wait that is longer than anything is not one that is over.
func TestAnEndlessWaitIsNotOver(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{time.Minute, 30 * 24 * time.Hour, math.MaxInt64} {
		ctx, cancel := BoundWait(t.Context(), wait)
		deadline, ok := ctx.Deadline()
		if left := time.Until(deadline); !ok || ctx.Err() != nil || left < min(wait, 24*24*time.Hour) {
			t.Errorf("%s: %v, ends in %s", wait, ctx.Err(), left)
		}
		cancel()
	}
	ctx, cancel := BoundWait(t.Context(), 0)
	defer cancel()
	if _, ok := ctx.Deadline(); ok || ctx.Err() != nil {
		t.Error("no wait has a bound")
	}
}
