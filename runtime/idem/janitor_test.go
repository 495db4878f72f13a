package idem

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime/store"
)

// expired puts n expired rows and one that is not.
func (db *fakeDB) expired(n int) {
	for i := range n {
		db.putRow("orders.Place", fmt.Sprint(i), store.Row{State: store.Done, Expired: true})
	}
	db.putRow("orders.Place", "fresh", store.Row{State: store.Done})
}

func TestJanitorSweepsInBatches(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ rows, batches int }{{0, 1}, {9, 1}, {10, 2}, {25, 3}} {
		synctest.Test(t, func(t *testing.T) {
			db := newFake(t)
			db.expired(tt.rows)
			s, err := NewJanitor(db.guard(), WithSweepBatch(10), WithSweepPace(time.Second)).Once(t.Context())
			paused := time.Duration(tt.batches-1) * time.Second // by synctest's clock
			if err != nil || s != (Sweep{Removed: int64(tt.rows), Batches: tt.batches, Duration: paused}) || len(db.rows) != 1 {
				t.Errorf("of %d rows: %+v, %v, left %d", tt.rows, s, err, len(db.rows))
			}
		})
	}
}

// Others that are in the way are waited for, within bounds; anything else ends the round.
func TestJanitorMeetsErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault   error
		forever bool
		want    bool // to succeed
	}{
		{errConflict, false, true},
		{errLocked, false, true},
		{errBusy, false, true},
		{errLocked, true, false},
		{errBroken, false, false},
		{errMisfit, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			db := newFake(t)
			db.expired(25)
			db.fault = func(step string, n int) error {
				if step == "sweep" && n > 1 && (n < 5 || tt.forever) {
					return tt.fault
				}
				return nil
			}
			s, err := NewJanitor(db.guard(), WithSweepBatch(10)).Once(t.Context())
			if (err == nil) != tt.want || (err != nil && (!errors.Is(err, tt.fault) || !errors.Is(s.Err, tt.fault) || s.Removed != 10)) {
				t.Errorf("%v: %+v, %v", tt.fault, s, err)
			}
			if errors.As(err, new(*TableError)) != (tt.fault == errMisfit) { //nolint:errorlint // Of the table above.
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestJanitorRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := newFake(t)
		ctx, cancel := context.WithCancel(t.Context())
		var rounds []Sweep
		db.fault = func(step string, n int) error {
			if step == "sweep" && n == 2 {
				return errBroken
			}
			return nil
		}
		db.expired(3)
		start := time.Now()
		j := NewJanitor(db.guard(), WithSweepInterval(time.Hour), WithSweepReport(func(_ context.Context, s Sweep) {
			rounds = append(rounds, s)
			db.expired(3)
			if len(rounds) == 3 {
				cancel()
			}
		}))
		if err := j.Run(ctx); err != nil {
			t.Error(err)
		}
		if len(rounds) != 3 || rounds[0].Removed != 3 || !errors.Is(rounds[1].Err, errBroken) || rounds[2].Removed != 3 {
			t.Errorf("rounds: %+v", rounds)
		}
		if d := time.Since(start); d < 108*time.Minute || d > 138*time.Minute { // by synctest's clock
			t.Errorf("three rounds in %s", d)
		}
	})
}

func TestJanitorEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := newFake(t)
		db.expired(100)
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		s, err := NewJanitor(db.guard(), WithSweepBatch(10), WithSweepPace(time.Minute)).Once(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || s.Removed != 20 || s.Duration != 90*time.Second {
			t.Errorf("got %+v, %v", s, err)
		}
		if s, err := NewJanitor(db.guard()).Once(ctx); !errors.Is(err, context.DeadlineExceeded) || s.Removed != 0 {
			t.Errorf("got %+v, %v", s, err)
		}
		if err := NewJanitor(db.guard()).Run(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestJanitorSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	g := newFake(t).guard()
	for name, j := range map[string]*Janitor{
		"no guard":          NewJanitor[fakeTx](nil),
		"WithRetries":       NewJanitor(newFake(t).guard(WithRetries(-1))),
		"WithSweepBatch":    NewJanitor(g, WithSweepBatch(0)),
		"WithSweepPace":     NewJanitor(g, WithSweepPace(-1)),
		"WithSweepInterval": NewJanitor(g, WithSweepInterval(0)),
		"WithSweepReport":   NewJanitor(g, WithSweepReport(nil)),
		"an option is nil":  NewJanitor(g, nil),
	} {
		s, err := j.Once(t.Context())
		for _, err := range []error{err, s.Err, j.Run(t.Context())} {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
}
