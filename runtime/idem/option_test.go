package idem

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestWhatIsWrongIsReturnedByEveryDelivery(t *testing.T) {
	t.Parallel()
	change := func(f func(*Spec[order])) Spec[order] {
		s := orderSpec()
		f(&s)
		return s
	}
	for _, tt := range []struct {
		name string
		opts []Option
		spec Spec[order]
		want string
	}{
		{"retries", []Option{WithRetries(-1)}, orderSpec(), "WithRetries(-1)"},
		{"in-flight timeout", []Option{WithInFlightTimeout(0)}, orderSpec(), "WithInFlightTimeout(0s)"},
		{"codec", []Option{WithCodec(nil)}, orderSpec(), "WithCodec(nil)"},
		{"observer", []Option{WithObserver(nil)}, orderSpec(), "WithObserver(nil)"},
		{"result limit", []Option{WithResultLimit(-1)}, orderSpec(), "WithResultLimit(-1)"},
		{"nil option", []Option{nil}, orderSpec(), "option is nil"},
		{"two at once", []Option{WithRetries(-1), WithCodec(nil)}, orderSpec(), "WithCodec(nil)"},
		{"driver", []Option{WithIsolation(sql.LevelLinearizable)}, orderSpec(), "no such level"},
		{"no name", nil, change(func(s *Spec[order]) { s.Name = "" }), "no name"},
		{"no key", nil, change(func(s *Spec[order]) { s.Key = nil }), "no key function"},
		{"short window", nil, change(func(s *Spec[order]) { s.Window = time.Second }), "at least 1m0s"},
		{"negative window", nil, change(func(s *Spec[order]) { s.Window = -time.Hour }), "at least 1m0s"},
		{"in-flight rule", nil, change(func(s *Spec[order]) { s.InFlight = 7 }), "InFlight(7)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db, c := newFake(t), counter{}
			h := NewHandler(db.guard(tt.opts...), tt.spec, c.place)
			for range 2 {
				_, err := h.Do(t.Context(), order{ID: "a"})
				if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.As(err, new(*Error)) {
					t.Errorf("got %v", err)
				}
			}
			if db.calls["acquire"] != 0 || c.runs() != 0 {
				t.Error("something was done")
			}
		})
	}
}

func TestHandlerWithoutItsParts(t *testing.T) {
	t.Parallel()
	db := newFake(t)
	for _, h := range []*Handler[fakeTx, order, struct{}]{
		NewHandler[fakeTx, order, struct{}](nil, orderSpec(), NoResult((&counter{}).reserve)),
		NewHandler(db.guard(), orderSpec(), NoResult[fakeTx, order](nil)),
		NewHandler(db.guard(), Spec[order]{}, NoResult((&counter{}).reserve)),
	} {
		if _, err := h.Do(t.Context(), order{ID: "a"}); !errors.As(err, new(*Error)) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := NewHandler(db.guard(), Spec[order]{}, NoResult((&counter{}).reserve)).Key(order{}); err == nil {
		t.Error("a key without a key function")
	}
}

func TestAnObserverSeesABrokenHandler(t *testing.T) {
	t.Parallel()
	db, w := newFake(t), watcher{}
	f := ObserverFunc(func(ctx context.Context, d Delivery) { w.Observe(ctx, d) })
	h := NewHandler(db.guard(WithObserver(f)), Spec[order]{Name: "x"}, (&counter{}).place)
	if _, err := h.Do(t.Context(), order{ID: "a"}); err == nil {
		t.Fatal("no error")
	}
	if d := w.last(t); d.Outcome != OutcomeError || d.Handler != "x" || d.Err == nil {
		t.Errorf("observed as %+v", d)
	}
}
