package idem

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime/store"
)

func TestInTx(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		db, c, w := newFake(t), counter{}, watcher{}
		h := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place)
		tx := db.begin(t)
		r, err := h.InTx(t.Context(), tx, order{ID: "a", Try: 2})
		if err != nil || r.Ref != "a#1" || db.effectsOf("a") != 0 {
			t.Fatalf("got %v, %v, %d effects", r, err, db.effectsOf("a"))
		}
		if d := w.last(t); d.Outcome != OutcomeJoined || d.Err != nil || d.Attempt != 2 {
			t.Errorf("observed as %+v", d)
		}
		if commits {
			tx.s.commitAll()
		} else {
			tx.s.abort()
		}
		want, outcome := "a#1", OutcomeDuplicate
		if !commits {
			want, outcome = "a#2", OutcomeJoined
		}
		again := db.begin(t)
		if r, err := h.InTx(t.Context(), again, order{ID: "a"}); err != nil || r.Ref != want || w.last(t).Outcome != outcome {
			t.Errorf("the next: %v, %v, %+v", r, err, w.last(t))
		}
		again.s.commitAll()
		if db.effectsOf("a") != 1 {
			t.Errorf("%d effects", db.effectsOf("a"))
		}
	}
}

// An error is the caller's, once, and the caller's transaction goes on without the run.
func TestInTxRunsOnce(t *testing.T) {
	t.Parallel()
	for _, own := range []error{errBroken, errConflict, errLocked} {
		db, w := newFake(t), watcher{}
		c := counter{fail: func(int) error { return own }}
		h := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place)
		tx := db.begin(t)
		if _, err := h.InTx(t.Context(), tx, order{ID: "a"}); err != own || c.runs() != 1 || w.last(t).Outcome != OutcomeError { //nolint:errorlint // As it is.
			t.Errorf("got %v after %d runs, observed as %+v", err, c.runs(), w.last(t))
		}
		c.fail = nil
		if _, err := h.InTx(t.Context(), tx, order{ID: "a"}); err != nil {
			t.Errorf("in the same transaction: %v", err)
		}
		tx.s.commitAll()
		if db.effectsOf("a") != 1 {
			t.Errorf("%d effects", db.effectsOf("a"))
		}
	}
}

func TestInTxRowsThatAnswer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		row     store.Row
		outcome Outcome
		ok      func(receipt, error) bool
	}{
		"done":     {store.Row{State: store.Done, Result: []byte(`{"Ref":"theirs"}`)}, OutcomeDuplicate, func(r receipt, err error) bool { return err == nil && r.Ref == "theirs" }},
		"failed":   {store.Row{State: store.Failed}, OutcomeFailed, func(_ receipt, err error) bool { return errors.As(err, new(*FailedError)) }},
		"mismatch": {store.Row{State: store.Done, Fingerprint: orderSpec().Fingerprint(order{Amount: 1})}, OutcomeMismatch, func(_ receipt, err error) bool { return errors.Is(err, ErrPayloadMismatch) }},
		"expired":  {store.Row{State: store.Done, Expired: true}, OutcomeJoined, func(r receipt, err error) bool { return err == nil && r.Ref == "a#1" }},
	} {
		db, c, w := newFake(t), counter{}, watcher{}
		db.putRow("orders.Place", "a", tt.row)
		r, err := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place).InTx(t.Context(), db.begin(t), order{ID: "a"})
		if !tt.ok(r, err) || w.last(t).Outcome != tt.outcome {
			t.Errorf("%s: %v, %v, observed as %+v", name, r, err, w.last(t))
		}
	}
}

// What goes wrong with the claim is an error, without another try; but a row that has gone is claimed again.
func TestInTxMeetsErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		step    string
		fault   error
		outcome Outcome
		ok      func(error) bool
	}{
		{"claim", errBroken, OutcomeError, func(err error) bool { return errors.Is(err, errBroken) }},
		{"claim", errConflict, OutcomeError, func(err error) bool { return errors.Is(err, errConflict) }},
		{"claim", errBusy, OutcomeInProgress, func(err error) bool { return errors.As(err, new(*InProgressError)) }},
		{"claim", errMisfit, OutcomeError, func(err error) bool { return errors.As(err, new(*TableError)) }},
		{"lookup", errBroken, OutcomeError, func(err error) bool { return errors.Is(err, errBroken) }},
		{"lookup", store.ErrNotFound, OutcomeJoined, func(err error) bool { return err == nil }},
		{"release", errBroken, OutcomeError, func(err error) bool { return errors.Is(err, errBroken) }},
		{"release", errMisfit, OutcomeError, func(err error) bool { return errors.As(err, new(*TableError)) }},
	} {
		synctest.Test(t, func(t *testing.T) {
			db, c, w := newFake(t), counter{}, watcher{}
			if tt.step == "lookup" {
				db.putRow("orders.Place", "a", store.Row{State: store.Done})
			}
			db.fault = func(step string, n int) error {
				if step != tt.step || n > 1 {
					return nil
				}
				delete(db.rows, "orders.Place a") // db.mu is held
				return tt.fault
			}
			_, err := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place).InTx(t.Context(), db.begin(t), order{ID: "a"})
			if !tt.ok(err) || w.last(t).Outcome != tt.outcome || db.calls["acquire"] != 0 {
				t.Errorf("%s %v: %v, observed as %+v", tt.step, tt.fault, err, w.last(t))
			}
		})
	}
}

func TestInTxWaitsForARivalWithinBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, c, w := newFake(t), counter{}, watcher{}
		h := NewHandler(db.guard(WithObserver(&w), WithInFlightTimeout(time.Second)), orderSpec(), c.place)
		if _, err := h.InTx(t.Context(), db.begin(t), order{ID: "a"}); err != nil {
			t.Error(err)
		}
		start := time.Now()
		_, err := h.InTx(t.Context(), db.begin(t), order{ID: "a"})
		if !errors.As(err, new(*InProgressError)) || time.Since(start) != time.Second || w.last(t).Outcome != OutcomeInProgress { // by synctest's clock
			t.Errorf("after %s: %v", time.Since(start), err)
		}
	})
}

func TestInTxPermanentFailure(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		db, c, w := newFake(t), failingForGood(), watcher{}
		h := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place)
		tx := db.begin(t)
		_, err := h.InTx(t.Context(), tx, order{ID: "a"})
		if !errors.As(err, new(*FailedError)) || !errors.Is(err, errNoSuchOrder) || w.last(t).Outcome != OutcomeFailed {
			t.Errorf("got %v, observed as %+v", err, w.last(t))
		}
		if commits {
			tx.s.commitAll()
		} else {
			tx.s.abort()
		}
		_, err = h.Do(t.Context(), order{ID: "a"})
		if commits != errors.As(err, new(*FailedError)) || commits != (c.runs() == 1) || db.effectsOf("a") == 1 == commits {
			t.Errorf("commits %t: %v after %d runs", commits, err, c.runs())
		}
	}
	db, c := newFake(t), failingForGood()
	db.fault = func(step string, n int) error {
		if step == "claim" && n == 2 {
			return errBroken
		}
		return nil
	}
	_, err := NewHandler(db.guard(), orderSpec(), c.place).InTx(t.Context(), db.begin(t), order{ID: "a"})
	if errors.As(err, new(*FailedError)) || !errors.Is(err, errNoSuchOrder) || !errors.Is(err, errBroken) {
		t.Errorf("what is not recorded: %v", err)
	}
}

func TestInTxIsNotReentrant(t *testing.T) {
	t.Parallel()
	t.Run("one after the other", func(t *testing.T) {
		t.Parallel()
		db, c, w := newFake(t), counter{}, watcher{}
		h := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place)
		tx := db.begin(t)
		if _, err := h.InTx(t.Context(), tx, order{ID: "a"}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.InTx(t.Context(), tx, order{ID: "a"}); !errors.Is(err, ErrReentrant) || c.runs() != 1 || w.last(t).Outcome != OutcomeError {
			t.Errorf("got %v after %d runs", err, c.runs())
		}
		if _, err := h.InTx(t.Context(), tx, order{ID: "b"}); err != nil {
			t.Errorf("another key: %v", err)
		}
	})
	// A handler that delivers its own event again would wait for itself.
	for _, joined := range []bool{true, false} {
		db := newFake(t)
		var h *Handler[fakeTx, order, receipt]
		h = NewHandler(db.guard(), orderSpec(), func(ctx context.Context, tx fakeTx, o order) (receipt, error) {
			if o.ID != "a" {
				return receipt{}, nil
			}
			if _, err := h.InTx(ctx, db.begin(t), order{ID: "b"}); err != nil {
				t.Errorf("another key inside: %v", err)
			}
			return h.InTx(ctx, db.begin(t), o)
		})
		var err error
		if joined {
			_, err = h.InTx(t.Context(), db.begin(t), order{ID: "a"})
		} else {
			_, err = h.Do(t.Context(), order{ID: "a"})
		}
		if !errors.Is(err, ErrReentrant) {
			t.Errorf("joined %t: got %v", joined, err)
		}
	}
}

func TestInTxHasNoCommitHook(t *testing.T) {
	t.Parallel()
	db := newFake(t)
	inner := NewHandler(db.guard(), orderSpec(), func(ctx context.Context, _ fakeTx, _ order) (receipt, error) {
		return receipt{}, AfterCommit(ctx, func(context.Context) { t.Error("called") })
	})
	if _, err := inner.InTx(t.Context(), db.begin(t), order{ID: "a"}); !errors.Is(err, ErrNoCommitHook) {
		t.Errorf("got %v", err)
	}
	// Nor does it get the one of a delivery around it.
	spec := orderSpec()
	spec.Name = "outer"
	outer := NewHandler(db.guard(), spec, func(ctx context.Context, _ fakeTx, o order) (receipt, error) {
		return inner.InTx(ctx, db.begin(t), o)
	})
	if _, err := outer.Do(t.Context(), order{ID: "b"}); !errors.Is(err, ErrNoCommitHook) {
		t.Errorf("inside of another: %v", err)
	}
}

func TestInTxPanicGoesOn(t *testing.T) {
	t.Parallel()
	db, w := newFake(t), watcher{}
	c := counter{fail: func(int) error { panic("boom") }}
	tx := db.begin(t)
	func() {
		defer func() {
			if r := recover(); r != "boom" {
				t.Errorf("recovered %v", r)
			}
		}()
		_, _ = NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place).InTx(t.Context(), tx, order{ID: "a"})
	}()
	tx.s.commitAll()
	if _, there := db.row("orders.Place", "a"); there || db.effectsOf("a") != 0 || w.last(t).Outcome != OutcomeError {
		t.Errorf("a row: %t, observed as %+v", there, w.last(t))
	}
}

func TestInTxSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	db, c := newFake(t), counter{}
	h := NewHandler(db.guard(), orderSpec(), c.place)
	if _, err := h.InTx(t.Context(), fakeTx{}, order{ID: "a"}); err == nil || !errors.As(err, new(*Error)) {
		t.Errorf("without a transaction: %v", err)
	}
	if _, err := h.InTx(t.Context(), db.begin(t), order{}); !errors.Is(err, ErrZeroKey) {
		t.Errorf("without a key: %v", err)
	}
	if _, err := NewHandler(db.guard(WithRetries(-1)), orderSpec(), c.place).InTx(t.Context(), db.begin(t), order{ID: "a"}); err == nil {
		t.Error("with a wrong option")
	}
	if c.runs() != 0 {
		t.Errorf("%d runs", c.runs())
	}
}

func TestInTxShadow(t *testing.T) {
	t.Parallel()
	db, c, w := newFake(t), counter{}, watcher{}
	h := NewHandler(db.guard(WithObserver(&w), WithShadow()), orderSpec(), c.place)
	for i, want := range []Outcome{OutcomeJoined, OutcomeDuplicate} {
		tx := db.begin(t)
		if _, err := h.InTx(t.Context(), tx, order{ID: "a"}); err != nil || w.last(t).Outcome != want {
			t.Errorf("got %v, observed as %+v", err, w.last(t))
		}
		tx.s.commitAll()
		if db.effectsOf("a") != i+1 {
			t.Errorf("%d effects", db.effectsOf("a"))
		}
	}
	if _, err := h.InTx(t.Context(), db.begin(t), order{}); err != nil || c.runs() != 3 || !errors.Is(w.last(t).Err, ErrZeroKey) {
		t.Errorf("without a key: %v, observed as %+v", err, w.last(t))
	}
}
