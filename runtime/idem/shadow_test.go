package idem

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime/store"
)

// In shadow mode the handler runs whatever stands in the row, and the row stays.
func TestShadowRunsEveryTime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		row     *store.Row
		amount  int64
		outcome Outcome
		want    error // what a guard would have returned
	}{
		{name: "new", outcome: OutcomeExecuted},
		{name: "expired", row: &store.Row{State: store.Done, Expired: true}, outcome: OutcomeExecuted},
		{name: "done", row: &store.Row{State: store.Done, Result: []byte(`{"Ref":"theirs"}`)}, outcome: OutcomeDuplicate},
		{name: "omitted", row: &store.Row{State: store.Done}, outcome: OutcomeDuplicate, want: ErrResultOmitted},
		{name: "open", row: &store.Row{State: store.Open}, outcome: OutcomeError, want: ErrTransactionLost},
		{name: "mismatch", row: &store.Row{State: store.Done, Fingerprint: orderSpec().Fingerprint(order{Amount: 9})}, outcome: OutcomeMismatch, want: ErrPayloadMismatch},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db, c, w := newFake(t), counter{}, watcher{}
			if tt.row != nil {
				db.putRow("orders.Place", "a", *tt.row)
			}
			h := NewHandler(db.guard(WithObserver(&w), WithShadow()), orderSpec(), c.place)
			r, err := h.Do(t.Context(), order{ID: "a"})
			if err != nil || r.Ref != "a#1" || db.effectsOf("a") != 1 {
				t.Errorf("got %v, %v, %d effects", r, err, db.effectsOf("a"))
			}
			if d := w.last(t); d.Outcome != tt.outcome || !errors.Is(d.Err, tt.want) {
				t.Errorf("observed as %+v", d)
			}
			row, _ := db.row("orders.Place", "a")
			if tt.outcome != OutcomeExecuted {
				if row.Owner != tt.row.Owner || string(row.Result) != string(tt.row.Result) || row.State != tt.row.State {
					t.Errorf("the row is %+v now", row)
				}
				return
			}
			// What it has written, a guard answers from.
			if r, err := NewHandler(db.guard(), orderSpec(), c.place).Do(t.Context(), order{ID: "a"}); err != nil || r.Ref != "a#1" {
				t.Errorf("with a guard: %v, %v", r, err)
			}
		})
	}
}

func TestShadowWithoutAKey(t *testing.T) {
	t.Parallel()
	db, c, w := newFake(t), counter{}, watcher{}
	h := NewHandler(db.guard(WithObserver(&w), WithShadow()), orderSpec(), c.place)
	if _, err := h.Do(t.Context(), order{}); err != nil || c.runs() != 1 {
		t.Errorf("got %v after %d runs", err, c.runs())
	}
	if d := w.last(t); d.Outcome != OutcomeError || !errors.Is(d.Err, ErrZeroKey) || len(db.claims) != 0 {
		t.Errorf("observed as %+v", d)
	}
}

// What is wrong with the claim does not keep the handler from running.
func TestShadowDoesNotMindTheTable(t *testing.T) {
	t.Parallel()
	for step, errs := range map[string]map[error]Outcome{
		"claim":    {errBroken: OutcomeError, errMisfit: OutcomeError, errBusy: OutcomeInProgress, errLocked: OutcomeInProgress, errConflict: OutcomeInProgress},
		"lookup":   {errBroken: OutcomeError, store.ErrNotFound: OutcomeInProgress},
		"takeover": {errBroken: OutcomeError, errBusy: OutcomeInProgress},
	} {
		for fault, outcome := range errs {
			t.Run(fmt.Sprint(step, " ", fault), func(t *testing.T) {
				t.Parallel()
				db, c, w := newFake(t), counter{}, watcher{}
				if step != "claim" {
					db.putRow("orders.Place", "a", store.Row{State: store.Done, Expired: true})
				}
				db.fault = func(s string, _ int) error {
					if s == step {
						return fault
					}
					return nil
				}
				h := NewHandler(db.guard(WithObserver(&w), WithShadow()), orderSpec(), c.place)
				if r, err := h.Do(t.Context(), order{ID: "a"}); err != nil || r.Ref != "a#1" || db.effectsOf("a") != 1 {
					t.Errorf("got %v, %v", r, err)
				}
				if d := w.last(t); d.Outcome != outcome || d.Err == nil {
					t.Errorf("observed as %+v", d)
				}
			})
		}
	}
}

func TestShadowDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, w := newFake(t), watcher{}
		leave := make(chan struct{})
		c := counter{fail: func(n int) error {
			if n == 1 {
				<-leave
			}
			return nil
		}}
		h := NewHandler(db.guard(WithObserver(&w), WithShadow()), orderSpec(), c.place)
		go func() { _, _ = h.Do(t.Context(), order{ID: "a"}) }()
		synctest.Wait()
		start := time.Now()
		if r, err := h.Do(t.Context(), order{ID: "a"}); err != nil || r.Ref != "a#2" || time.Since(start) != 0 { // by synctest's clock
			t.Errorf("after %s: %v, %v", time.Since(start), r, err)
		}
		if d := w.last(t); d.Outcome != OutcomeInProgress || !errors.As(d.Err, new(*InProgressError)) {
			t.Errorf("observed as %+v", d)
		}
		close(leave)
		synctest.Wait()
		if d := w.last(t); d.Outcome != OutcomeExecuted || db.effectsOf("a") != 2 {
			t.Errorf("observed as %+v, %d effects", d, db.effectsOf("a"))
		}
	})
}

// An error is the caller's as ever, permanent or not; a repeat that fails is still a repeat.
func TestShadowReturnsTheHandlersError(t *testing.T) {
	t.Parallel()
	for _, repeat := range []bool{false, true} {
		for _, own := range []error{errBroken, Permanent(errBroken)} {
			db, w := newFake(t), watcher{}
			want := OutcomeError
			if repeat {
				want = OutcomeDuplicate
				db.putRow("orders.Place", "a", store.Row{State: store.Done, Result: []byte(`{}`)})
			}
			c := counter{fail: func(int) error { return own }}
			_, err := NewHandler(db.guard(WithObserver(&w), WithShadow()), orderSpec(), c.place).Do(t.Context(), order{ID: "a"})
			if err != own || db.effectsOf("a") != 0 { //nolint:errorlint // As it is.
				t.Errorf("got %v", err)
			}
			if d := w.last(t); d.Outcome != want || d.Err != own { //nolint:errorlint // As it is.
				t.Errorf("observed as %+v", d)
			}
			if _, there := db.row("orders.Place", "a"); there != repeat {
				t.Errorf("a row: %t", there)
			}
		}
	}
}

func TestShadowRunsAgainAfterAConflict(t *testing.T) {
	t.Parallel()
	for _, repeat := range []bool{false, true} {
		db, w := newFake(t), watcher{}
		want := OutcomeExecuted
		if repeat {
			want = OutcomeDuplicate
			db.putRow("orders.Place", "a", store.Row{State: store.Done, Result: []byte(`{}`)})
		}
		c := counter{fail: func(n int) error {
			if n < 3 {
				return errConflict
			}
			return nil
		}}
		h := NewHandler(db.guard(WithObserver(&w), WithShadow()), orderSpec(), c.place)
		if r, err := h.Do(t.Context(), order{ID: "a"}); err != nil || r.Ref != "a#3" || db.effectsOf("a") != 1 {
			t.Errorf("got %v, %v", r, err)
		}
		if d := w.last(t); d.Outcome != want || d.Retries != 2 {
			t.Errorf("observed as %+v", d)
		}
	}
}

// A COMMIT without an answer can be asked about where there is a claim.
func TestShadowCommitWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		repeat, commits bool
		want            error
		outcome         Outcome
		runs            int
	}{
		{commits: true, outcome: OutcomeSettled, runs: 1},
		{commits: false, outcome: OutcomeExecuted, runs: 2},
		{repeat: true, commits: true, want: ErrCommitUnknown, outcome: OutcomeDuplicate, runs: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			db, c, w := newFake(t), counter{}, watcher{}
			if tt.repeat {
				db.putRow("orders.Place", "a", store.Row{State: store.Done, Result: []byte(`{}`)})
			}
			db.lose = loseFirst(lost{commits: tt.commits})
			called := 0
			h := NewHandler(db.guard(WithObserver(&w), WithShadow()), orderSpec(), func(ctx context.Context, tx fakeTx, o order) (receipt, error) {
				r, err := c.place(ctx, tx, o)
				return r, errors.Join(err, AfterCommit(ctx, func(context.Context) { called++ }))
			})
			_, err := h.Do(t.Context(), order{ID: "a"})
			if !errors.Is(err, tt.want) || c.runs() != tt.runs || (called == 1) != (tt.want == nil) {
				t.Errorf("%+v: got %v after %d runs, %d calls", tt, err, c.runs(), called)
			}
			if d := w.last(t); d.Outcome != tt.outcome {
				t.Errorf("%+v: observed as %+v", tt, d)
			}
		})
	}
}

// After a COMMIT that did not take place, a rival's row is no answer either: the handler runs.
func TestShadowAndARival(t *testing.T) {
	t.Parallel()
	db, c, w := newFake(t), counter{}, watcher{}
	db.lose = loseFirst(lost{})
	db.fault = func(step string, n int) error {
		if step == "acquire" && n == 2 {
			db.rows["orders.Place a"] = store.Row{State: store.Done, Result: []byte(`{"Ref":"theirs"}`)} // db.mu is held
		}
		return nil
	}
	r, err := NewHandler(db.guard(WithObserver(&w), WithShadow()), orderSpec(), c.place).Do(t.Context(), order{ID: "a"})
	if err != nil || r.Ref != "a#2" || db.effectsOf("a") != 1 || w.last(t).Outcome != OutcomeDuplicate {
		t.Errorf("got %v, %v, observed as %+v", r, err, w.last(t))
	}
}
