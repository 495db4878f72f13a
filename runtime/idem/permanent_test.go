package idem

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/idemgen/idemgen/runtime/store"
)

var errNoSuchOrder = errors.New("no such order")

// failingForGood is a counter whose first run fails for good.
func failingForGood() *counter {
	return &counter{fail: func(n int) error {
		if n == 1 {
			return fmt.Errorf("place: %w", Permanent(errNoSuchOrder))
		}
		return nil
	}}
}

func TestPermanentIsTransparent(t *testing.T) {
	t.Parallel()
	if Permanent(nil) != nil {
		t.Error("of nil it is not nil")
	}
	if err := Permanent(errBroken); !errors.Is(err, errBroken) || err.Error() != errBroken.Error() {
		t.Errorf("got %v", err)
	}
}

func TestPermanentFailureIsRecorded(t *testing.T) {
	t.Parallel()
	for _, completes := range []bool{true, false} {
		t.Run(fmt.Sprintf("claim completes %t", completes), func(t *testing.T) {
			t.Parallel()
			db, c, w := newFake(t), failingForGood(), watcher{}
			db.claimCompletes = completes
			h := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place)
			for i := range 3 {
				_, err := h.Do(t.Context(), order{ID: "a"})
				var failed *FailedError
				if !errors.As(err, &failed) || !errors.As(err, new(*Error)) || failed.Failure != "place: no such order" {
					t.Fatalf("delivery %d: %v", i, err)
				}
				if own := errors.Is(err, errNoSuchOrder); own != (i == 0) {
					t.Errorf("delivery %d has the handler's error: %t", i, own)
				}
				if d := w.last(t); d.Outcome != OutcomeFailed || d.Err == nil {
					t.Errorf("delivery %d was observed as %+v", i, d)
				}
			}
			if c.runs() != 1 || db.effectsOf("a") != 0 {
				t.Errorf("%d runs, %d effects", c.runs(), db.effectsOf("a"))
			}
			claim := db.claims[1]
			if row, _ := db.row("orders.Place", "a"); row.State != store.Failed || claim.Window == nil || claim.Owner == db.claims[0].Owner {
				t.Errorf("the row is %+v, claimed as %+v", row, claim)
			}
			if _, err := h.Do(t.Context(), order{ID: "a", Amount: 1}); !errors.Is(err, ErrPayloadMismatch) {
				t.Errorf("with another payload: %v", err)
			}
		})
	}
}

// The record of an expired row is a take-over.
func TestPermanentFailureOverAnExpiredRow(t *testing.T) {
	t.Parallel()
	db, c := newFake(t), failingForGood()
	db.putRow("orders.Place", "a", store.Row{State: store.Done, Expired: true})
	_, err := NewHandler(db.guard(), orderSpec(), c.place).Do(t.Context(), order{ID: "a"})
	if row, _ := db.row("orders.Place", "a"); !errors.As(err, new(*FailedError)) || row.State != store.Failed || row.Failure == "" {
		t.Errorf("got %v and %+v", err, row)
	}
}

// A failure that was recorded longer than its window ago is forgotten like a success.
func TestPermanentFailureExpires(t *testing.T) {
	t.Parallel()
	db, c := newFake(t), counter{}
	db.putRow("orders.Place", "a", store.Row{State: store.Failed, Failure: "then", Expired: true})
	if r, err := NewHandler(db.guard(), orderSpec(), c.place).Do(t.Context(), order{ID: "a"}); err != nil || r.Ref != "a#1" {
		t.Errorf("got %v, %v", r, err)
	}
}

// A record that another delivery was faster than is not made: the row answers.
func TestPermanentFailureThatDoesNotWin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		row     store.Row
		outcome Outcome
		want    error
	}{
		{"success", store.Row{State: store.Done, Result: []byte(`{"Ref":"theirs"}`)}, OutcomeDuplicate, nil},
		{"failure", store.Row{State: store.Failed, Failure: "theirs"}, OutcomeFailed, nil},
		{"another payload", store.Row{State: store.Done, Fingerprint: orderSpec().Fingerprint(order{Amount: 9})}, OutcomeMismatch, ErrPayloadMismatch},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db, c, w := newFake(t), failingForGood(), watcher{}
			db.fault = func(step string, n int) error {
				if step == "acquire" && n == 2 {
					db.rows["orders.Place a"] = tt.row // db.mu is held
				}
				return nil
			}
			r, err := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place).Do(t.Context(), order{ID: "a"})
			var failed *FailedError
			switch {
			case w.last(t).Outcome != tt.outcome, errors.Is(err, errNoSuchOrder):
				t.Errorf("%v, observed as %+v", err, w.last(t))
			case tt.outcome == OutcomeDuplicate && (err != nil || r.Ref != "theirs"):
				t.Errorf("got %v, %v", r, err)
			case tt.outcome == OutcomeFailed && (!errors.As(err, &failed) || failed.Failure != "theirs"):
				t.Errorf("got %v", err)
			case tt.outcome == OutcomeMismatch && !errors.Is(err, tt.want):
				t.Errorf("got %v", err)
			}
		})
	}
}

// What cannot be recorded is no FailedError: the event must come again.
func TestPermanentFailureThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"acquire", "claim", "commit"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			db, c, w := newFake(t), failingForGood(), watcher{}
			db.fault = func(s string, n int) error {
				nth := 2 // the run's own was the first
				if step == "commit" {
					nth = 1 // the run had none
				}
				if s == step && n == nth {
					return errBroken
				}
				return nil
			}
			h := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place)
			_, err := h.Do(t.Context(), order{ID: "a"})
			if errors.As(err, new(*FailedError)) || !errors.Is(err, errNoSuchOrder) || !errors.Is(err, errBroken) || w.last(t).Outcome != OutcomeError {
				t.Errorf("got %v, observed as %+v", err, w.last(t))
			}
			if strings.Count(err.Error(), "orders.Place") != 1 {
				t.Errorf("said more than once: %v", err)
			}
			if r, err := h.Do(t.Context(), order{ID: "a"}); err != nil || r.Ref != "a#2" {
				t.Errorf("the redelivery: %v, %v", r, err)
			}
		})
	}
}

// A record is asked about like any COMMIT, and is made again if it did not take place.
func TestPermanentFailureCommitWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		t.Run(fmt.Sprintf("commits %t", commits), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, c, w := newFake(t), failingForGood(), watcher{}
				db.lose = loseFirst(lost{commits: commits})
				_, err := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place).Do(t.Context(), order{ID: "a"})
				if !errors.As(err, new(*FailedError)) || c.runs() != 1 || w.last(t).Outcome != OutcomeFailed {
					t.Errorf("got %v after %d runs, observed as %+v", err, c.runs(), w.last(t))
				}
				if row, _ := db.row("orders.Place", "a"); row.State != store.Failed {
					t.Errorf("the row is %+v", row)
				}
			})
		})
	}
}

// A transaction that lost against another one is run again whatever the handler says; a context that is over records
// nothing.
func TestNotPermanentAfterAll(t *testing.T) {
	t.Parallel()
	t.Run("conflict", func(t *testing.T) {
		t.Parallel()
		db := newFake(t)
		c := counter{fail: func(n int) error {
			if n == 1 {
				return Permanent(errConflict)
			}
			return nil
		}}
		if r, err := NewHandler(db.guard(), orderSpec(), c.place).Do(t.Context(), order{ID: "a"}); err != nil || r.Ref != "a#2" {
			t.Errorf("got %v, %v", r, err)
		}
	})
	t.Run("conflict for ever", func(t *testing.T) {
		t.Parallel()
		db := newFake(t)
		c := counter{fail: func(int) error { return Permanent(errConflict) }}
		_, err := NewHandler(db.guard(WithRetries(1)), orderSpec(), c.place).Do(t.Context(), order{ID: "a"})
		if _, there := db.row("orders.Place", "a"); !errors.Is(err, errConflict) || there || c.runs() != 2 {
			t.Errorf("got %v after %d runs, recorded: %t", err, c.runs(), there)
		}
	})
	t.Run("context", func(t *testing.T) {
		t.Parallel()
		db := newFake(t)
		ctx, cancel := context.WithCancel(t.Context())
		c := counter{fail: func(int) error { cancel(); return Permanent(errNoSuchOrder) }}
		_, err := NewHandler(db.guard(), orderSpec(), c.place).Do(ctx, order{ID: "a"})
		if _, there := db.row("orders.Place", "a"); !errors.Is(err, errNoSuchOrder) || errors.As(err, new(*FailedError)) || there {
			t.Errorf("got %v, recorded: %t", err, there)
		}
	})
}

func TestFailureText(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"short":      {"no", "no"},
		"not UTF-8":  {"a\xff\xfeb\x00c", "a\uFFFDb\uFFFDc"},
		"long":       {strings.Repeat("x", failureLimit+1), strings.Repeat("x", failureLimit)},
		"long runes": {strings.Repeat("x", failureLimit-1) + "é", strings.Repeat("x", failureLimit-1)},
		"exact":      {strings.Repeat("x", failureLimit), strings.Repeat("x", failureLimit)},
	} {
		got := failureText(errors.New(tt.text))
		if got != tt.want || !utf8.ValidString(got) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// What another handler has marked, in an event that this one's run delivers, is not marked for this one: its repeat would not
// show the mark either. A mark of one's own on top of it counts.
func TestPermanentIsTheHandlersOwn(t *testing.T) {
	t.Parallel()
	nested := &Error{Handler: "orders.Other", Key: "b", Err: &FailedError{Err: Permanent(errNoSuchOrder)}}
	for name, tt := range map[string]struct {
		err       error
		permanent bool
	}{
		"another one's":         {nested, false},
		"another one's, joined": {errors.Join(errBroken, fmt.Errorf("other: %w", nested)), false},
		"one's own":             {fmt.Errorf("other: %w", Permanent(nested)), true},
		"one's own beside it":   {errors.Join(nested, Permanent(errBroken)), true},
		"none":                  {errBroken, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, c := newFake(t), counter{fail: func(int) error { return tt.err }}
			_, err := NewHandler(db.guard(), orderSpec(), c.place).Do(t.Context(), order{ID: "a"})
			row, recorded := db.row("orders.Place", "a")
			if recorded != tt.permanent || recorded && row.State != store.Failed || !errors.Is(err, tt.err) {
				t.Errorf("got %v and %+v", err, row)
			}
		})
	}
}
