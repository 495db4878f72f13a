package idem

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
)

// diary keeps what was done in which order.
type diary struct{ lines []string }

func (d *diary) note(line string) func(context.Context) {
	return func(context.Context) { d.lines = append(d.lines, line) }
}

// placing is a handler that notes its runs and wants something done after each one's commit.
func (d *diary) placing(t *testing.T, fail func(n int) error) func(context.Context, fakeTx, order) (receipt, error) {
	n := 0
	return func(ctx context.Context, tx fakeTx, o order) (receipt, error) {
		n++
		for _, what := range []string{"first", "second"} {
			if err := AfterCommit(ctx, d.note(fmt.Sprintf("%s of run %d", what, n))); err != nil {
				t.Error(err)
			}
		}
		tx.effect(o.ID)
		return receipt{fmt.Sprintf("#%d", n)}, fail(n)
	}
}

func TestAfterCommit(t *testing.T) {
	t.Parallel()
	twice := []string{"first of run 2", "second of run 2"}
	for _, tt := range []struct {
		name string
		fail error // of the first run
		lose *lost
		want []string
	}{
		{name: "committed", want: []string{"first of run 1", "second of run 1"}},
		{name: "failed", fail: errBroken},
		{name: "failed for good", fail: Permanent(errBroken)},
		{name: "run again", fail: errConflict, want: twice},
		{name: "settled", lose: &lost{commits: true}, want: []string{"first of run 1", "second of run 1"}},
		{name: "did not commit", lose: &lost{}, want: twice},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, d := newFake(t), diary{}
				if tt.lose != nil {
					db.lose = loseFirst(*tt.lose)
				}
				h := NewHandler(db.guard(), orderSpec(), d.placing(t, func(n int) error {
					if n == 1 {
						return tt.fail
					}
					return nil
				}))
				_, err := h.Do(t.Context(), order{ID: "a"})
				if (err == nil) != (tt.want != nil) || !slices.Equal(d.lines, tt.want) {
					t.Errorf("got %v and %q", err, d.lines)
				}
				if tt.want == nil {
					return
				}
				if _, err := h.Do(t.Context(), order{ID: "a"}); err != nil || !slices.Equal(d.lines, tt.want) {
					t.Errorf("a repeat: %v and %q", err, d.lines)
				}
			})
		})
	}
}

// At the time of the call the commit is visible and the connection is back.
func TestAfterCommitIsAfterAll(t *testing.T) {
	t.Parallel()
	type key struct{}
	db := newFake(t)
	called := false
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	defer cancel()
	h := NewHandler(db.guard(), orderSpec(), func(hctx context.Context, tx fakeTx, o order) (receipt, error) {
		tx.effect(o.ID)
		return receipt{}, AfterCommit(hctx, func(cctx context.Context) {
			called = true
			cancel()
			if cctx.Err() != nil || cctx.Value(key{}) != "value" {
				t.Errorf("its context: %v, %v", cctx.Err(), cctx.Value(key{}))
			}
			db.mu.Lock()
			defer db.mu.Unlock()
			if db.effects["a"] != 1 || db.open != 0 {
				t.Errorf("%d effects, %d connections in use", db.effects["a"], db.open)
			}
			if err := AfterCommit(cctx, func(context.Context) {}); !errors.Is(err, ErrNoCommitHook) {
				t.Errorf("in a callback: %v", err)
			}
			if err := AfterCommit(hctx, func(context.Context) {}); !errors.Is(err, ErrNoCommitHook) {
				t.Errorf("after the handler: %v", err)
			}
		})
	})
	if _, err := h.Do(ctx, order{ID: "a"}); err != nil || !called {
		t.Errorf("called %t, %v", called, err)
	}
}

func TestAfterCommitWithoutOne(t *testing.T) {
	t.Parallel()
	if err := AfterCommit(t.Context(), func(context.Context) {}); !errors.Is(err, ErrNoCommitHook) {
		t.Errorf("got %v", err)
	}
	if err := AfterCommit(t.Context(), nil); err == nil || errors.Is(err, ErrNoCommitHook) {
		t.Errorf("of nothing: %v", err)
	}
}

// A callback's panic is the caller's, after the other callbacks; the event is done and seen as done.
func TestAfterCommitPanics(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, d, w := newFake(t), diary{}, watcher{}
			h := NewHandler(db.guard(WithObserver(&w)), orderSpec(), func(ctx context.Context, _ fakeTx, _ order) (receipt, error) {
				return receipt{}, errors.Join(
					AfterCommit(ctx, d.note("before")),
					AfterCommit(ctx, func(context.Context) { leave() }),
					AfterCommit(ctx, d.note("behind")),
				)
			})
			var recovered any
			left := make(chan bool)
			go func() {
				returned := false
				defer func() {
					recovered = recover()
					left <- returned
				}()
				_, _ = h.Do(t.Context(), order{ID: "a"})
				returned = true
			}()
			if <-left {
				t.Error("the delivery returned")
			}
			if (name == "panic") != (recovered == "boom") {
				t.Errorf("recovered %v", recovered)
			}
			if !slices.Equal(d.lines, []string{"before", "behind"}) {
				t.Errorf("called %q", d.lines)
			}
			if seen := w.last(t); seen.Outcome != OutcomeExecuted || seen.Err != nil {
				t.Errorf("observed as %+v", seen)
			}
			if _, err := h.Do(t.Context(), order{ID: "a"}); err != nil || w.last(t).Outcome != OutcomeDuplicate {
				t.Errorf("the repeat: %v, %+v", err, w.last(t))
			}
		})
	}
}
