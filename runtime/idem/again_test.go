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

func TestWaitsForTheRivalsEnd(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		t.Run(fmt.Sprintf("rival commits %t", commits), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, w := newFake(t), watcher{}
				leave := make(chan struct{})
				c := counter{fail: func(n int) error {
					if n > 1 {
						return nil
					}
					<-leave
					if commits {
						return nil
					}
					return errBroken
				}}
				first := NewHandler(db.guard(), orderSpec(), c.place)
				second := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place)
				go func() { _, _ = first.Do(t.Context(), order{ID: "a"}) }()
				synctest.Wait()
				done := make(chan receipt)
				go func() {
					r, err := second.Do(t.Context(), order{ID: "a"})
					if err != nil {
						t.Error(err)
					}
					done <- r
				}()
				synctest.Wait()
				close(leave)
				want, outcome := "a#1", OutcomeDuplicate
				if !commits {
					want, outcome = "a#2", OutcomeExecuted
				}
				if r := <-done; r.Ref != want || w.last(t).Outcome != outcome {
					t.Errorf("got %v, observed as %+v", r, w.last(t))
				}
				if n := db.effectsOf("a"); n != 1 {
					t.Errorf("%d effects", n)
				}
			})
		})
	}
}

func TestTheWaitIsBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		rule    InFlight
		timeout time.Duration // of ctx
		after   time.Duration
	}{
		{"by the in-flight timeout", Wait, 0, 2 * time.Second},
		{"by nothing to wait for", Fail, 0, 0},
		{"by the context, less what the answer takes", Wait, time.Second, time.Second - ctxReserve},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, w := newFake(t), watcher{}
				leave := make(chan struct{})
				c := counter{fail: func(int) error { <-leave; return nil }}
				spec := orderSpec()
				spec.InFlight = tt.rule
				h := NewHandler(db.guard(WithObserver(&w), WithInFlightTimeout(2*time.Second)), spec, c.place)
				go func() { _, _ = h.Do(t.Context(), order{ID: "a"}) }()
				synctest.Wait()

				ctx := t.Context()
				if tt.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.timeout)
					defer cancel()
				}
				start := time.Now()
				_, err := h.Do(ctx, order{ID: "a"})
				var busy *InProgressError
				if !errors.As(err, &busy) || !errors.Is(err, errBusy) || busy.RetryAfter != 2*time.Second {
					t.Errorf("got %v", err)
				}
				if d := time.Since(start); d != tt.after { // by synctest's clock
					t.Errorf("waited %s", d)
				}
				if d := w.last(t); d.Outcome != OutcomeInProgress {
					t.Errorf("observed as %+v", d)
				}
				close(leave)
				synctest.Wait()
			})
		})
	}
}

func TestTheCallersEndEndsTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := newFake(t)
		leave := make(chan struct{})
		c := counter{fail: func(int) error { <-leave; return nil }}
		h := NewHandler(db.guard(), orderSpec(), c.place)
		go func() { _, _ = h.Do(t.Context(), order{ID: "a"}) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := h.Do(ctx, order{ID: "a"}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(leave)
		synctest.Wait()
	})
}

// The rows of the table: what an error before the handler leads to.
func TestBeforeTheHandler(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		step       string
		err        error
		times      int // 0 for ever
		rule       InFlight
		inProgress bool
	}{
		{"conflict in the claim", "claim", errConflict, 3, Wait, false},
		{"conflict in the claim, failing fast", "claim", errConflict, 3, Fail, false},
		{"conflict for ever", "claim", errConflict, 0, Wait, true},
		{"conflict in the look-up", "lookup", errConflict, 3, Wait, false},
		{"conflict in the take-over", "takeover", errConflict, 3, Wait, false},
		{"locked", "claim", errLocked, 3, Wait, false},
		{"locked for ever", "claim", errLocked, 0, Wait, true},
		{"locked, failing fast", "claim", errLocked, 1, Fail, true},
		{"locked in the look-up, failing fast", "lookup", errLocked, 1, Fail, true},
		{"locked in the take-over", "takeover", errLocked, 3, Wait, false},
		{"busy in the take-over", "takeover", errBusy, 1, Wait, true},
		{"gone", "lookup", store.ErrNotFound, 3, Wait, false},
		{"gone for ever", "lookup", store.ErrNotFound, 0, Wait, true},
		{"gone for ever, failing fast", "lookup", store.ErrNotFound, 0, Fail, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, c, w := newFake(t), counter{}, watcher{}
				if tt.step != "claim" {
					db.putRow("orders.Place", "a", store.Row{State: store.Done, Expired: true})
				}
				db.fault = func(step string, n int) error {
					if step == tt.step && (tt.times == 0 || n <= tt.times) {
						return tt.err
					}
					return nil
				}
				spec := orderSpec()
				spec.InFlight = tt.rule
				h := NewHandler(db.guard(WithObserver(&w)), spec, c.place)
				start := time.Now()
				_, err := h.Do(t.Context(), order{ID: "a"})
				d := w.last(t)
				if !tt.inProgress {
					if err != nil || d.Outcome != OutcomeExecuted || d.Retries != tt.times || db.effectsOf("a") != 1 {
						t.Errorf("got %v, observed as %+v", err, d)
					}
					return
				}
				if !errors.As(err, new(*InProgressError)) || d.Outcome != OutcomeInProgress || c.runs() != 0 {
					t.Errorf("got %v, observed as %+v", err, d)
				}
				if !errors.Is(tt.err, store.ErrNotFound) && !errors.Is(err, tt.err) {
					t.Errorf("the cause is lost: %v", err)
				}
				if spent := time.Since(start); tt.times == 0 && (spent < DefaultInFlightTimeout || spent > DefaultInFlightTimeout+pauseMax) {
					t.Errorf("took %s", spent) // by synctest's clock
				}
			})
		})
	}
}

func TestALockedDatabaseStillAnswers(t *testing.T) {
	t.Parallel()
	db, c, w := newFake(t), counter{}, watcher{}
	db.putRow("orders.Place", "a", store.Row{State: store.Done, Result: []byte(`{"Ref":"stored"}`)})
	db.fault = func(step string, _ int) error {
		if step == "claim" {
			return errLocked
		}
		return nil
	}
	spec := orderSpec()
	spec.InFlight = Fail
	r, err := NewHandler(db.guard(WithObserver(&w)), spec, c.place).Do(t.Context(), order{ID: "a"})
	if err != nil || r.Ref != "stored" || w.last(t).Outcome != OutcomeDuplicate {
		t.Errorf("got %v, %v, observed as %+v", r, err, w.last(t))
	}
}

func TestAfterAConflictTheHandlerRunsAgain(t *testing.T) {
	t.Parallel()
	for _, conflict := range []error{errConflict, errLocked} {
		for _, at := range []string{"handler", "commit"} {
			for _, times := range []int{1, 3, 4} {
				t.Run(fmt.Sprint(conflict, at, times), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						db, w := newFake(t), watcher{}
						wrapped := fmt.Errorf("insert: %w", conflict)
						c := counter{fail: func(n int) error {
							if at == "handler" && n <= times {
								return wrapped
							}
							return nil
						}}
						db.fault = func(step string, n int) error {
							if step == at && n <= times {
								return conflict
							}
							return nil
						}
						keys := 0
						spec := orderSpec()
						key := spec.Key
						spec.Key = func(o order) (string, error) { keys++; return key(o) }
						h := NewHandler(db.guard(WithObserver(&w)), spec, c.place)
						r, err := h.Do(t.Context(), order{ID: "a"})
						d := w.last(t)
						if keys != 1 {
							t.Errorf("the key was built %d times", keys)
						}
						if times <= DefaultRetries {
							if err != nil || r.Ref != fmt.Sprintf("a#%d", times+1) || d.Retries != times || d.Outcome != OutcomeExecuted {
								t.Errorf("got %v, %v, observed as %+v", r, err, d)
							}
							if db.effectsOf("a") != 1 {
								t.Errorf("%d effects", db.effectsOf("a"))
							}
							owners := map[store.Owner]bool{}
							for _, c := range db.claims {
								owners[c.Owner] = true
							}
							if len(owners) != times+1 {
								t.Errorf("%d owners for %d attempts", len(owners), times+1)
							}
							return
						}
						if !errors.Is(err, conflict) || (at == "handler") != (err == wrapped) || c.runs() != DefaultRetries+1 { //nolint:errorlint // As it is.
							t.Errorf("got %v after %d runs", err, c.runs())
						}
						if d.Outcome != OutcomeError || d.Retries != DefaultRetries {
							t.Errorf("observed as %+v", d)
						}
					})
				})
			}
		}
	}
}

// The in-flight time is for waiting. What a run takes before it is undone does not count.
func TestARunIsNoWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, w := newFake(t), watcher{}
		var rival *Handler[fakeTx, order, receipt]
		leave := make(chan struct{})
		c := counter{fail: func(n int) error {
			switch n {
			case 1: // takes longer than the in-flight timeout, and loses
				time.Sleep(10 * time.Second)
				go func() { _, _ = rival.Do(t.Context(), order{ID: "a"}) }()
				return errConflict
			case 2: // the rival, which is waited for and rolls back
				<-leave
				return errBroken
			}
			return nil
		}}
		rival = NewHandler(db.guard(), orderSpec(), c.place)
		h := NewHandler(db.guard(WithObserver(&w), WithInFlightTimeout(2*time.Second)), orderSpec(), c.place)
		db.fault = func(step string, n int) error {
			if step == "claim" && n == 3 { // the second of h
				time.AfterFunc(time.Second, func() { close(leave) })
			}
			return nil
		}
		// The rival is first: it claims as soon as the claim of the run that lost is gone, and h pauses before it does.
		r, err := h.Do(t.Context(), order{ID: "a"})
		if err != nil || r.Ref != "a#3" || w.last(t).Outcome != OutcomeExecuted {
			t.Errorf("got %v, %v, observed as %+v", r, err, w.last(t))
		}
		<-leave
		synctest.Wait()
	})
}

func TestNoRetries(t *testing.T) {
	t.Parallel()
	db, c := newFake(t), counter{fail: func(int) error { return errConflict }}
	h := NewHandler(db.guard(WithRetries(0)), orderSpec(), c.place)
	if _, err := h.Do(t.Context(), order{ID: "a"}); err != errConflict || c.runs() != 1 { //nolint:errorlint // As it is.
		t.Errorf("got %v after %d runs", err, c.runs())
	}
}

func TestAPanicInTheSecondRunIsObserved(t *testing.T) {
	t.Parallel()
	db, w := newFake(t), watcher{}
	c := counter{fail: func(n int) error {
		if n == 1 {
			return errConflict
		}
		panic("boom")
	}}
	h := NewHandler(db.guard(WithObserver(&w)), orderSpec(), c.place)
	func() {
		defer func() { _ = recover() }()
		_, _ = h.Do(t.Context(), order{ID: "a"})
	}()
	if d := w.last(t); d.Outcome != OutcomeError || !errors.Is(d.Err, errAbandoned) || d.Retries != 1 {
		t.Errorf("observed as %+v", d)
	}
}
