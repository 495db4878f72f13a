package idem

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime/store"
)

// rawCodec stores strings as they are.
type rawCodec struct{ err error }

func (c rawCodec) Encode(v any) ([]byte, error) {
	s := v.(string)
	if s == "" {
		return nil, c.err
	}
	return []byte(s), c.err
}

func (c rawCodec) Decode(data []byte, v any) error {
	*v.(*string) = string(data)
	return c.err
}

func TestResultsOfAnyBytes(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"", "a", "\x00", "\x00a", "\x00\x00", "{}"} {
		db := newFake(t)
		h := NewHandler(db.guard(WithCodec(rawCodec{})), orderSpec(), func(context.Context, fakeTx, order) (string, error) {
			return want, nil
		})
		for range 2 {
			if got, err := h.Do(t.Context(), order{ID: "a"}); err != nil || got != want {
				t.Errorf("%q came back as %q, %v", want, got, err)
			}
		}
		if row, _ := db.row("orders.Place", "a"); len(row.Result) == 0 {
			t.Errorf("%q is stored as nothing", want)
		}
	}
}

func TestResultLimit(t *testing.T) {
	t.Parallel()
	for limit, omitted := range map[int]bool{9: true, 10: false, 0: true} {
		db, w := newFake(t), watcher{}
		runs := 0
		h := NewHandler(db.guard(WithCodec(rawCodec{}), WithResultLimit(limit), WithObserver(&w)), orderSpec(), func(context.Context, fakeTx, order) (string, error) {
			runs++
			return strings.Repeat("x", 10), nil
		})
		if got, err := h.Do(t.Context(), order{ID: "a"}); err != nil || len(got) != 10 {
			t.Errorf("limit %d: the run returned %q, %v", limit, got, err)
		}
		got, err := h.Do(t.Context(), order{ID: "a"})
		if errors.Is(err, ErrResultOmitted) != omitted || (!omitted && len(got) != 10) || runs != 1 {
			t.Errorf("limit %d: the repeat returned %q, %v after %d runs", limit, got, err, runs)
		}
		if d := w.last(t); d.Outcome != OutcomeDuplicate || (d.Err != nil) != omitted {
			t.Errorf("limit %d: observed as %+v", limit, d)
		}
		if row, _ := db.row("orders.Place", "a"); row.State != store.Done {
			t.Errorf("limit %d: the row is %s", limit, row.State)
		}
	}
}

func TestResultThatDoesNotDecode(t *testing.T) {
	t.Parallel()
	db, c := newFake(t), counter{}
	db.putRow("orders.Place", "a", store.Row{State: store.Done, Result: []byte(`{"Ref":1}`)})
	r, err := NewHandler(db.guard(), orderSpec(), c.place).Do(t.Context(), order{ID: "a"})
	var bad *ResultError
	if !errors.As(err, &bad) || bad.Err == nil || c.runs() != 0 || r.Ref != "" {
		t.Errorf("got %v, %v after %d runs", r, err, c.runs())
	}
}

func TestResultThatDoesNotEncode(t *testing.T) {
	t.Parallel()
	db := newFake(t)
	h := NewHandler(db.guard(), orderSpec(), func(_ context.Context, tx fakeTx, o order) (func(), error) {
		tx.effect(o.ID)
		return func() {}, nil
	})
	if _, err := h.Do(t.Context(), order{ID: "a"}); err == nil || !errors.As(err, new(*Error)) {
		t.Errorf("got %v", err)
	}
	if db.effectsOf("a") != 0 || db.calls["commit"] != 0 {
		t.Error("it was committed")
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	for window, want := range map[time.Duration]bool{time.Minute: true, Forever: false} {
		db, c := newFake(t), counter{}
		spec := orderSpec()
		spec.Window = window
		if _, err := NewHandler(db.guard(), spec, NoResult(c.reserve)).Do(t.Context(), order{ID: "a"}); err != nil {
			t.Fatal(err)
		}
		if got := db.claims[0].Window; (got != nil) != want || (want && *got != window) {
			t.Errorf("the window %s is claimed as %v", window, got)
		}
	}
}
