package idem

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime/store"
)

// loseFirst loses the answer to the first commit.
func loseFirst(l lost) func(int) lost {
	l.gone = true
	return func(n int) lost {
		if n > 1 {
			return lost{}
		}
		return l
	}
}

func TestCommitWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		commits bool
		lingers time.Duration // of the old transaction
		row     *store.Row    // of an earlier run
		outcome Outcome
		ref     string
		runs    int
	}{
		{name: "committed", commits: true, outcome: OutcomeSettled, ref: "a#1", runs: 1},
		{name: "not committed", outcome: OutcomeExecuted, ref: "a#2", runs: 2},
		{name: "committed later", commits: true, lingers: time.Second, outcome: OutcomeSettled, ref: "a#1", runs: 1},
		{name: "rolled back later", lingers: time.Second, outcome: OutcomeExecuted, ref: "a#2", runs: 2},
		{name: "over an expired row, committed", row: &store.Row{State: store.Done, Expired: true}, commits: true, outcome: OutcomeSettled, ref: "a#1", runs: 1},
		{name: "over an expired row, not committed", row: &store.Row{State: store.Done, Expired: true}, outcome: OutcomeExecuted, ref: "a#2", runs: 2},
		{name: "over an expired row, committed later", row: &store.Row{State: store.Done, Expired: true}, commits: true, lingers: time.Second, outcome: OutcomeSettled, ref: "a#1", runs: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, c, w := newFake(t), counter{}, watcher{}
				if tt.row != nil {
					db.putRow("orders.Place", "a", *tt.row)
				}
				l := lost{commits: tt.commits}
				if tt.lingers > 0 {
					ended := make(chan struct{})
					l.until = ended
					db.fault = func(step string, n int) error {
						if step == "commit" && n == 1 {
							time.AfterFunc(tt.lingers, func() { close(ended) })
						}
						return nil
					}
				}
				db.lose = loseFirst(l)
				h := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place)
				start := time.Now()
				r, err := h.Do(t.Context(), order{ID: "a"})
				if err != nil || r.Ref != tt.ref {
					t.Errorf("got %v, %v", r, err)
				}
				if waited := time.Since(start); waited < tt.lingers {
					t.Errorf("answered after %s", waited) // by synctest's clock
				}
				if c.runs() != tt.runs || db.effectsOf("a") != 1 {
					t.Errorf("%d runs, %d effects", c.runs(), db.effectsOf("a"))
				}
				if d := w.last(t); d.Outcome != tt.outcome || d.Err != nil || d.Retries != tt.runs-1 {
					t.Errorf("observed as %+v", d)
				}
				if again, err := h.Do(t.Context(), order{ID: "a"}); err != nil || again != r || w.last(t).Outcome != OutcomeDuplicate {
					t.Errorf("the repeat: %v, %v, %+v", again, err, w.last(t))
				}
			})
		})
	}
}

// A rival's row after a COMMIT without answer is a repeat's answer: this run is gone.
func TestCommitWithoutAnswerAndARival(t *testing.T) {
	t.Parallel()
	other := order{ID: "a", Amount: 7}
	for _, tt := range []struct {
		name    string
		row     store.Row
		want    error
		outcome Outcome
	}{
		{"done", store.Row{State: store.Done, Result: []byte(`{"Ref":"theirs"}`)}, nil, OutcomeDuplicate},
		{"another payload", store.Row{State: store.Done, Fingerprint: orderSpec().Fingerprint(other)}, ErrPayloadMismatch, OutcomeMismatch},
		{"open", store.Row{State: store.Open}, ErrTransactionLost, OutcomeError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db, c, w := newFake(t), counter{}, watcher{}
			db.lose = loseFirst(lost{})
			db.fault = func(step string, n int) error {
				if step == "acquire" && n == 2 {
					db.rows["orders.Place a"] = tt.row // db.mu is held
				}
				return nil
			}
			r, err := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place).Do(t.Context(), order{ID: "a"})
			if !errors.Is(err, tt.want) || (tt.want == nil) != (r.Ref == "theirs") || w.last(t).Outcome != tt.outcome {
				t.Errorf("got %v, %v, observed as %+v", r, err, w.last(t))
			}
			if c.runs() != 1 || db.effectsOf("a") != 0 {
				t.Errorf("%d runs, %d effects", c.runs(), db.effectsOf("a"))
			}
		})
	}
}

// The claim's own row that was committed without its end is a lost transaction, and no success.
func TestCommitWithoutAnswerLeftOpen(t *testing.T) {
	t.Parallel()
	db, c := newFake(t), counter{}
	db.lose = loseFirst(lost{})
	db.fault = func(step string, n int) error {
		if step == "acquire" && n == 2 {
			db.rows["orders.Place a"] = store.Row{State: store.Open, Owner: db.claims[0].Owner}
		}
		return nil
	}
	if _, err := NewHandler(db.guard(), orderSpec(), c.place).Do(t.Context(), order{ID: "a"}); !errors.Is(err, ErrTransactionLost) || c.runs() != 1 {
		t.Errorf("got %v after %d runs", err, c.runs())
	}
}

// Whatever keeps the database from answering, for a while it does no harm, and for good it is ErrCommitUnknown after the
// in-flight timeout. The caller's end does not matter.
func TestCommitWithoutAnswerAskedAgain(t *testing.T) {
	t.Parallel()
	const bound = 2 * time.Second
	for _, tt := range []struct {
		step string
		err  error
	}{{"acquire", errBroken}, {"claim", errBroken}, {"claim", errBusy}, {"claim", errConflict}, {"lookup", errBroken}, {"lookup", store.ErrNotFound}} {
		for _, forever := range []bool{false, true} {
			name := tt.step + " " + tt.err.Error()
			if forever {
				name += " for ever"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					db, c, w := newFake(t), counter{}, watcher{}
					db.lose = loseFirst(lost{commits: true})
					db.fault = func(step string, n int) error {
						first := 1
						if step == "lookup" {
							first = 0
						}
						if step == tt.step && n > first && (forever || n < 6) {
							return tt.err
						}
						return nil
					}
					h := NewHandler(db.guard(WithObserver(&w), WithInFlightTimeout(bound)), orderSpec(), c.place)
					start := time.Now()
					r, err := h.Do(t.Context(), order{ID: "a"})
					if c.runs() != 1 || db.effectsOf("a") != 1 {
						t.Errorf("%d runs, %d effects", c.runs(), db.effectsOf("a"))
					}
					if !forever {
						if err != nil || r.Ref != "a#1" || w.last(t).Outcome != OutcomeSettled {
							t.Errorf("got %v, %v, observed as %+v", r, err, w.last(t))
						}
						return
					}
					if !errors.Is(err, ErrCommitUnknown) || !errors.Is(err, errBroken) || w.last(t).Outcome != OutcomeError {
						t.Errorf("got %v, observed as %+v", err, w.last(t))
					}
					if d := time.Since(start); d != bound || !strings.Contains(err.Error(), tt.err.Error()) { // by synctest's clock
						t.Errorf("after %s: %v", d, err)
					}
				})
			})
		}
	}
}

// A database that is locked can be read: it has the answer if the transaction committed, and none if it did not.
func TestCommitWithoutAnswerOnALockedDatabase(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		commits bool
		row     *store.Row
		want    error
	}{
		"committed":           {true, nil, nil},
		"perhaps":             {false, nil, ErrCommitUnknown},
		"over an expired row": {false, &store.Row{State: store.Done, Expired: true}, ErrCommitUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, c := newFake(t), counter{}
				if tt.row != nil {
					db.putRow("orders.Place", "a", *tt.row)
				}
				db.lose = loseFirst(lost{commits: tt.commits})
				db.fault = func(step string, n int) error {
					if step == "claim" && n > 1 {
						return errLocked
					}
					return nil
				}
				if _, err := NewHandler(db.guard(), orderSpec(), c.place).Do(t.Context(), order{ID: "a"}); !errors.Is(err, tt.want) || c.runs() != 1 {
					t.Errorf("got %v after %d runs", err, c.runs())
				}
			})
		})
	}
}
