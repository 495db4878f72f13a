package idem

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

func TestRepeatGetsTheStoredResult(t *testing.T) {
	t.Parallel()
	for _, completes := range []bool{true, false} {
		t.Run(fmt.Sprintf("claim completes %t", completes), func(t *testing.T) {
			t.Parallel()
			db, c, w := newFake(t), counter{}, watcher{}
			db.claimCompletes = completes
			h := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place)

			for i, want := range []Outcome{OutcomeExecuted, OutcomeDuplicate, OutcomeDuplicate} {
				r, err := h.Do(t.Context(), order{ID: "a", Amount: 5, Try: i + 1})
				if err != nil || r.Ref != "a#1" {
					t.Fatalf("delivery %d: %v, %v", i, r, err)
				}
				if d := w.last(t); d.Outcome != want || d.Attempt != i+1 || d.Handler != "orders.Place" || d.Err != nil || d.Retries != 0 {
					t.Errorf("delivery %d was observed as %+v", i, d)
				}
			}
			if n := db.effectsOf("a"); n != 1 {
				t.Errorf("%d effects", n)
			}
			if got := db.claims[0].State; got != store.Open {
				t.Errorf("a claim with a result to come is %s", got)
			}
		})
	}
}

func TestNoResult(t *testing.T) {
	t.Parallel()
	for completes, state := range map[bool]store.State{true: store.Done, false: store.Open} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			db, c := newFake(t), counter{}
			db.claimCompletes = completes
			h := NewHandler(db.guard(), orderSpec(), NoResult(c.reserve))
			for range 2 {
				if _, err := h.Do(t.Context(), order{ID: "a"}); err != nil {
					t.Fatal(err)
				}
			}
			if n := db.effectsOf("a"); n != 1 {
				t.Errorf("%d effects", n)
			}
			claim := db.claims[0]
			if claim.State != state || (claim.Window != nil) != completes {
				t.Errorf("claimed as %+v", claim)
			}
			if row, _ := db.row("orders.Place", "a"); row.State != store.Done || row.Result != nil {
				t.Errorf("the row is %+v", row)
			}
		})
	}
}

func TestHandlersErrorComesBackAsItIs(t *testing.T) {
	t.Parallel()
	db, w := newFake(t), watcher{}
	boom := errors.New("boom")
	c := counter{fail: func(n int) error {
		if n == 1 {
			return boom
		}
		return nil
	}}
	h := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place)
	if _, err := h.Do(t.Context(), order{ID: "a"}); err != boom { //nolint:errorlint // As it is, not wrapped.
		t.Fatalf("got %v", err)
	}
	if d := w.last(t); d.Outcome != OutcomeError || d.Err != boom { //nolint:errorlint // As it is.
		t.Errorf("observed as %+v", d)
	}
	if _, there := db.row("orders.Place", "a"); there || db.effectsOf("a") != 0 {
		t.Error("something remains of the failed run")
	}
	if r, err := h.Do(t.Context(), order{ID: "a"}); err != nil || r.Ref != "a#2" {
		t.Errorf("the redelivery: %v, %v", r, err)
	}
}

func TestPanicGoesOn(t *testing.T) {
	t.Parallel()
	db, w := newFake(t), watcher{}
	c := counter{fail: func(int) error { panic("boom") }}
	h := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place)
	func() {
		defer func() {
			if r := recover(); r != "boom" {
				t.Errorf("recovered %v", r)
			}
		}()
		_, _ = h.Do(t.Context(), order{ID: "a"})
	}()
	if d := w.last(t); d.Outcome != OutcomeError || d.Err == nil {
		t.Errorf("observed as %+v", d)
	}
	if _, there := db.row("orders.Place", "a"); there || db.effectsOf("a") != 0 {
		t.Error("something remains")
	}
}

func TestGoexit(t *testing.T) {
	t.Parallel()
	db, w := newFake(t), watcher{}
	c := counter{fail: func(int) error { runtime.Goexit(); return nil }}
	h := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place)
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = h.Do(t.Context(), order{ID: "a"}) })
	wg.Wait()
	if d := w.last(t); d.Outcome != OutcomeError || d.Err == nil {
		t.Errorf("observed as %+v", d)
	}
	if db.effectsOf("a") != 0 {
		t.Error("something remains")
	}
}

func TestContextEndsWhileTheHandlerRuns(t *testing.T) {
	t.Parallel()
	db := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := counter{fail: func(int) error { cancel(); return nil }}
	h := NewHandler(db.guard(), orderSpec(), c.place)
	_, err := h.Do(ctx, order{ID: "a"})
	if !errors.Is(err, context.Canceled) || !errors.As(err, new(*Error)) {
		t.Errorf("got %v", err)
	}
	if db.effectsOf("a") != 0 || db.calls["commit"] != 0 {
		t.Error("it was committed")
	}
	if _, err := h.Do(ctx, order{ID: "b"}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a dead context: %v", err)
	}
}

func TestPayloadMismatch(t *testing.T) {
	t.Parallel()
	db, c, w := newFake(t), counter{}, watcher{}
	h := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place)
	if _, err := h.Do(t.Context(), order{ID: "a", Amount: 5}); err != nil {
		t.Fatal(err)
	}
	r, err := h.Do(t.Context(), order{ID: "a", Amount: 6})
	var e *Error
	if !errors.Is(err, ErrPayloadMismatch) || !errors.As(err, &e) || e.Handler != "orders.Place" || e.Key != "a" || r.Ref != "" {
		t.Errorf("got %v, %v", r, err)
	}
	if d := w.last(t); d.Outcome != OutcomeMismatch || d.Err == nil {
		t.Errorf("observed as %+v", d)
	}

	// After a deploy the fingerprint has another shape: not compared.
	spec := orderSpec()
	spec.Fingerprint = func(order) string {
		var f FingerprintBuilder
		f.String("Currency", "EUR")
		return f.Sum()
	}
	for _, h := range []*Handler[fakeTx, order, receipt]{
		NewHandler(db.guard(), spec, c.place),
		NewHandler(db.guard(), func() Spec[order] { spec.Fingerprint = nil; return spec }(), c.place),
	} {
		if r, err := h.Do(t.Context(), order{ID: "a", Amount: 6}); err != nil || r.Ref != "a#1" {
			t.Errorf("another shape: %v, %v", r, err)
		}
	}
}

func TestExpiredRowIsTakenOver(t *testing.T) {
	t.Parallel()
	db, c := newFake(t), counter{}
	h := NewHandler(db.guard(), orderSpec(), c.place)
	// The fingerprint of an expired row does not count.
	db.putRow("orders.Place", "a", store.Row{State: store.Done, Owner: store.Owner{1}, Expired: true, Fingerprint: "0.i:0"})
	r, err := h.Do(t.Context(), order{ID: "a"})
	if err != nil || r.Ref != "a#1" || db.effectsOf("a") != 1 {
		t.Fatalf("got %v, %v", r, err)
	}
	if row, _ := db.row("orders.Place", "a"); row.Expired || row.Owner == (store.Owner{1}) {
		t.Errorf("the row is %+v", row)
	}
	if r, err := h.Do(t.Context(), order{ID: "a"}); err != nil || r.Ref != "a#1" {
		t.Errorf("the repeat: %v, %v", r, err)
	}
}

func TestTakeOverIsLostToARival(t *testing.T) {
	t.Parallel()
	db, c := newFake(t), counter{}
	h := NewHandler(db.guard(), orderSpec(), c.place)
	db.putRow("orders.Place", "a", store.Row{State: store.Done, Owner: store.Owner{1}, Expired: true})
	db.fault = func(step string, _ int) error {
		if step == "takeover" { // db.mu is held
			db.rows["orders.Place a"] = store.Row{State: store.Done, Owner: store.Owner{2}, Result: []byte(`{"Ref":"rival"}`)}
		}
		return nil
	}
	if r, err := h.Do(t.Context(), order{ID: "a"}); err != nil || r.Ref != "rival" || c.runs() != 0 {
		t.Errorf("got %v, %v after %d runs", r, err, c.runs())
	}
}

func TestZeroKey(t *testing.T) {
	t.Parallel()
	db, c, w := newFake(t), counter{}, watcher{}
	h := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place)
	if _, err := h.Do(t.Context(), order{Amount: 3}); !errors.Is(err, ErrZeroKey) {
		t.Errorf("got %v", err)
	}
	if d := w.last(t); d.Outcome != OutcomeError {
		t.Errorf("observed as %+v", d)
	}
	if db.calls["acquire"] != 0 || c.runs() != 0 {
		t.Error("something was done")
	}
	if key, err := h.Key(order{ID: "x/y"}); err != nil || key != "x%2Fy" || h.Name() != "orders.Place" {
		t.Errorf("key %q, %v, name %q", key, err, h.Name())
	}
	if _, err := h.Key(order{}); !errors.Is(err, ErrZeroKey) || !errors.As(err, new(*Error)) {
		t.Errorf("got %v", err)
	}
}

func TestHowACommitCanEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fate driver.Fate
		want error
	}{
		{driver.Aborted, ErrTransactionAborted},
		{driver.Lost, ErrTransactionLost},
	} {
		for _, cause := range []error{nil, errBroken, errConflict} {
			t.Run(fmt.Sprint(tt.want, cause), func(t *testing.T) {
				t.Parallel()
				db, c, w := newFake(t), counter{}, watcher{}
				db.fault = func(step string, _ int) error {
					if step != "commit" {
						return nil
					}
					return &driver.CommitError{Fate: tt.fate, Err: cause}
				}
				h := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place)
				_, err := h.Do(t.Context(), order{ID: "a"})
				if !errors.Is(err, tt.want) || !errors.As(err, new(*Error)) || (cause != nil && !errors.Is(err, cause)) {
					t.Errorf("got %v", err)
				}
				if c.runs() != 1 {
					t.Errorf("ran %d times", c.runs())
				}
				if d := w.last(t); d.Outcome != OutcomeError || d.Err == nil {
					t.Errorf("observed as %+v", d)
				}
			})
		}
	}
}

func TestRowsThatAreNoResult(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		row  store.Row
		want error
	}{
		{"open", store.Row{State: store.Open}, ErrTransactionLost},
		{"omitted", store.Row{State: store.Done}, ErrResultOmitted},
		{"parked", store.Row{State: store.Parked}, ErrParked},
		{"of the future", store.Row{State: "halfway"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db, c := newFake(t), counter{}
			db.putRow("orders.Place", "a", tt.row)
			_, err := NewHandler(db.guard(), orderSpec(), c.place).Do(t.Context(), order{ID: "a"})
			if err == nil || !errors.As(err, new(*Error)) || (tt.want != nil && !errors.Is(err, tt.want)) {
				t.Errorf("got %v", err)
			}
			if c.runs() != 0 {
				t.Error("the handler ran")
			}
		})
	}
}

func TestErrorsOfTheDatabase(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"acquire", "claim", "lookup", "takeover", "commit"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			db, c, w := newFake(t), counter{}, watcher{}
			if at == "lookup" || at == "takeover" {
				db.putRow("orders.Place", "a", store.Row{State: store.Done, Expired: true})
			}
			db.fault = func(step string, _ int) error {
				if step == at {
					return errBroken
				}
				return nil
			}
			_, err := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place).Do(t.Context(), order{ID: "a"})
			if !errors.Is(err, errBroken) || !errors.As(err, new(*Error)) {
				t.Errorf("got %v", err)
			}
			if d := w.last(t); d.Outcome != OutcomeError || d.Retries != 0 {
				t.Errorf("observed as %+v", d)
			}
			if db.effectsOf("a") != 0 {
				t.Error("something remains")
			}
		})
	}
}

func TestManyDeliveriesOfOneKey(t *testing.T) {
	t.Parallel()
	db, c := newFake(t), counter{fail: func(n int) error {
		if n <= 3 {
			return errBroken
		}
		return nil
	}}
	h := NewHandler(db.guard(), orderSpec(), c.place)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for {
				r, err := h.Do(t.Context(), order{ID: "a"})
				if err == errBroken { //nolint:errorlint // As it is.
					continue
				}
				if err != nil || r.Ref != "a#4" {
					t.Errorf("got %v, %v", r, err)
				}
				return
			}
		})
	}
	wg.Wait()
	if n := db.effectsOf("a"); n != 1 {
		t.Errorf("%d effects", n)
	}
}
