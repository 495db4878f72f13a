package idem

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime/store"
)

const lease = 30 * time.Second

func chargeSpec() Spec[order] {
	s := orderSpec()
	s.Name, s.Lease = "orders.Charge", lease
	return s
}

// acquirer is an outside system that dedupes by the key that it is given.
type acquirer struct {
	mu      sync.Mutex
	calls   int
	charged map[string]int
	// then, if set, is what the nth call does next.
	then func(ctx context.Context, n int) error
}

func (a *acquirer) charge(ctx context.Context, o order) (receipt, error) {
	run, ok := FromContext(ctx)
	if !ok {
		return receipt{}, errors.New("no run")
	}
	a.mu.Lock()
	a.calls++
	n := a.calls
	if a.charged == nil {
		a.charged = map[string]int{}
	}
	a.charged[run.ExternalKey()]++
	a.mu.Unlock()
	if a.then != nil {
		if err := a.then(ctx, n); err != nil {
			return receipt{}, err
		}
	}
	return receipt{fmt.Sprintf("%s#%d", o.ID, n)}, nil
}

func (a *acquirer) runs() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls
}

// untilDone is a handler that runs until its context ends.
func untilDone(ctx context.Context, _ int) error {
	<-ctx.Done()
	return ctx.Err()
}

func state(t *testing.T, db *fakeDB, want store.State) store.Row {
	t.Helper()
	row, there := db.row("orders.Charge", "a")
	if !there || row.State != want {
		t.Errorf("the row is %+v, want %s", row, want)
	}
	return row
}

func TestLeaseRunsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, a, w := newFake(t), acquirer{}, watcher{}
		l := NewLease(db.guard(WithObserver(&w)), chargeSpec(), a.charge)
		a.then = func(ctx context.Context, _ int) error {
			run, _ := FromContext(ctx)
			if run.Handler != "orders.Charge" || run.Key != "a" || run.Attempt != 7 || run.Fence != 1 || len(run.ExternalKey()) != 64 {
				t.Errorf("the run is %+v", run)
			}
			if err := AfterCommit(ctx, func(context.Context) {}); !errors.Is(err, ErrNoCommitHook) {
				t.Errorf("AfterCommit: %v", err)
			}
			if _, err := l.Do(ctx, order{ID: "a"}); !errors.Is(err, ErrReentrant) {
				t.Errorf("its own key: %v", err)
			}
			time.Sleep(10 * lease) // renewed all the while
			return nil
		}
		first, err := l.Do(t.Context(), order{ID: "a", Try: 7})
		if err != nil || first.Ref != "a#1" || w.last(t).Outcome != OutcomeExecuted {
			t.Fatalf("got %v, %v, %+v", first, err, w.last(t))
		}
		state(t, db, store.Done)
		again, err := l.Do(t.Context(), order{ID: "a"})
		if err != nil || again != first || w.last(t).Outcome != OutcomeDuplicate {
			t.Errorf("got %v, %v, %+v", again, err, w.last(t))
		}
		if _, err := l.Do(t.Context(), order{ID: "a", Amount: 1}); !errors.Is(err, ErrPayloadMismatch) {
			t.Errorf("got %v", err)
		}
		if _, err := l.Do(t.Context(), order{}); !errors.Is(err, ErrZeroKey) {
			t.Errorf("got %v", err)
		}
		if a.runs() != 1 {
			t.Errorf("ran %d times", a.runs())
		}
	})
}

func TestLeaseManyRivals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, a := newFake(t), acquirer{then: func(context.Context, int) error { time.Sleep(time.Second); return nil }}
		l := NewLease(db.guard(), chargeSpec(), a.charge)
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				if got, err := l.Do(t.Context(), order{ID: "a"}); err != nil || got.Ref != "a#1" {
					t.Errorf("got %v, %v", got, err)
				}
			})
		}
		wg.Wait()
		if a.runs() != 1 {
			t.Errorf("ran %d times", a.runs())
		}
	})
}

func TestLeaseInProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, a, w := newFake(t), acquirer{}, watcher{}
		g := db.guard(WithObserver(&w))
		l := NewLease(g, chargeSpec(), a.charge)
		failing := chargeSpec()
		failing.InFlight = Fail
		fast := NewLease(g, failing, a.charge)
		tx := orderSpec()
		tx.Name = failing.Name
		c := counter{}
		moved := NewHandler(g, tx, c.place)
		tx.InFlight = Fail
		fastMoved := NewHandler(g, tx, c.place)

		gate := make(chan struct{})
		a.then = func(context.Context, int) error { <-gate; return nil }
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = l.Do(t.Context(), order{ID: "a"}) })
		synctest.Wait()
		for _, tt := range []struct {
			name   string
			do     func(context.Context, order) (receipt, error)
			waited time.Duration
		}{
			{"fail", fast.Do, 0},
			{"fail, with a transaction", fastMoved.Do, 0},
			{"wait", l.Do, DefaultInFlightTimeout},
			{"wait, with a transaction", moved.Do, DefaultInFlightTimeout},
		} {
			start := time.Now()
			_, err := tt.do(t.Context(), order{ID: "a"})
			var busy *InProgressError
			if !errors.As(err, &busy) || busy.RetryAfter <= 0 || busy.RetryAfter > lease || w.last(t).Outcome != OutcomeInProgress {
				t.Errorf("%s: got %v, %+v", tt.name, err, w.last(t))
			}
			if took := time.Since(start); took < tt.waited || took > tt.waited+time.Second {
				t.Errorf("%s: it took %s", tt.name, took)
			}
		}
		close(gate)
		wg.Wait()
		if got, err := moved.Do(t.Context(), order{ID: "a"}); err != nil || got.Ref != "a#1" || c.runs() != 0 {
			t.Errorf("a repeat with a transaction: %v, %v", got, err)
		}
	})
}

// A lease whose owner is gone is taken over when it has passed and not when the window has, by either kind of handler; or it
// is parked.
func TestLeaseOfTheDead(t *testing.T) {
	t.Parallel()
	dead := func(db *fakeDB) {
		db.putRow("orders.Charge", "a", store.Row{State: store.Running, Owner: store.Owner{1}, Fence: 3, Fingerprint: orderSpec().Fingerprint(order{})})
		db.leases["orders.Charge a"] = time.Now().Add(time.Second)
	}
	t.Run("retry", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			db, a := newFake(t), acquirer{}
			dead(db)
			a.then = func(ctx context.Context, _ int) error {
				if run, _ := FromContext(ctx); run.Fence != 4 {
					t.Errorf("fence %d", run.Fence)
				}
				return nil
			}
			l := NewLease(db.guard(), chargeSpec(), a.charge)
			if _, err := l.Do(t.Context(), order{ID: "a", Amount: 1}); !errors.Is(err, ErrPayloadMismatch) {
				t.Errorf("another payload: %v", err)
			}
			if _, err := l.Do(t.Context(), order{ID: "a"}); err != nil || a.runs() != 1 {
				t.Errorf("got %v, %d runs", err, a.runs())
			}
		})
	})
	t.Run("another payload", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			db, a, c := newFake(t), acquirer{}, counter{}
			dead(db)
			time.Sleep(2 * time.Second)
			tx := orderSpec()
			tx.Name = "orders.Charge"
			_, err := NewLease(db.guard(), chargeSpec(), a.charge).Do(t.Context(), order{ID: "a", Amount: 1})
			_, terr := NewHandler(db.guard(), tx, c.place).Do(t.Context(), order{ID: "a", Amount: 1})
			if !errors.Is(err, ErrPayloadMismatch) || !errors.Is(terr, ErrPayloadMismatch) || a.runs()+c.runs() != 0 {
				t.Errorf("got %v, %v", err, terr)
			}
		})
	})
	t.Run("by a transaction", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			db, c := newFake(t), counter{}
			dead(db)
			tx := orderSpec()
			tx.Name = "orders.Charge"
			if _, err := NewHandler(db.guard(), tx, c.place).Do(t.Context(), order{ID: "a"}); err != nil || c.runs() != 1 {
				t.Errorf("got %v, %d runs", err, c.runs())
			}
			state(t, db, store.Done)
		})
	})
	t.Run("park", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			db, a, w := newFake(t), acquirer{}, watcher{}
			dead(db)
			spec := chargeSpec()
			spec.Expired = Park
			l := NewLease(db.guard(WithObserver(&w)), spec, a.charge)
			for range 2 {
				if _, err := l.Do(t.Context(), order{ID: "a"}); !errors.Is(err, ErrParked) || w.last(t).Outcome != OutcomeError {
					t.Errorf("got %v", err)
				}
				state(t, db, store.Parked)
			}
			if err := l.Mark(t.Context(), order{ID: "a"}, receipt{}); !errors.Is(err, ErrParked) {
				t.Errorf("Mark: %v", err)
			}
			if a.runs() != 0 {
				t.Error("it ran")
			}
		})
	})
}

// A failed run gives the key back and keeps the row, whose fence only grows.
func TestLeaseFails(t *testing.T) {
	t.Parallel()
	own := errors.New("declined")
	for _, tt := range []struct {
		name string
		then func(context.Context, int) error
		err  error
	}{
		{"error", func(context.Context, int) error { return own }, own},
		{"panic", func(context.Context, int) error { panic(own) }, nil},
		{"exit", func(context.Context, int) error { runtime.Goexit(); return nil }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, a, w := newFake(t), acquirer{}, watcher{}
				l := NewLease(db.guard(WithObserver(&w)), chargeSpec(), a.charge)
				for fence := range int64(2) {
					a.then = tt.then
					var wg sync.WaitGroup
					wg.Go(func() {
						defer func() { _ = recover() }()
						if _, err := l.Do(t.Context(), order{ID: "a"}); !errors.Is(err, tt.err) {
							t.Errorf("got %v", err)
						}
					})
					wg.Wait()
					if row := state(t, db, store.Released); row.Fence != fence+1 || w.last(t).Outcome != OutcomeError {
						t.Errorf("got %+v, %+v", row, w.last(t))
					}
				}
				a.then = nil
				if _, err := l.Do(t.Context(), order{ID: "a"}); err != nil || a.runs() != 3 {
					t.Errorf("got %v, %d runs", err, a.runs())
				}
				if len(a.charged) != 1 {
					t.Errorf("the outside has seen %v", a.charged)
				}
			})
		})
	}
}

func TestLeasePermanent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		own := errors.New("card stolen")
		db, a, w := newFake(t), acquirer{then: func(context.Context, int) error { return Permanent(own) }}, watcher{}
		l := NewLease(db.guard(WithObserver(&w)), chargeSpec(), a.charge)
		for range 2 {
			_, err := l.Do(t.Context(), order{ID: "a"})
			var f *FailedError
			if !errors.As(err, &f) || f.Failure != "card stolen" || w.last(t).Outcome != OutcomeFailed {
				t.Errorf("got %v, %+v", err, w.last(t))
			}
		}
		if state(t, db, store.Failed); a.runs() != 1 {
			t.Errorf("ran %d times", a.runs())
		}
	})
}

// Effects 22: whoever has lost the lease cannot complete, release or record, and its context ends.
func TestLeaseLost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		end  error
	}{
		{"complete", nil}, {"release", errors.New("declined")}, {"record", Permanent(errors.New("stolen"))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, a, w := newFake(t), acquirer{}, watcher{}
				// The first owner's renewals are held up until the second one is done.
				gate := make(chan struct{})
				db.gate = func(step string) {
					if step == "renew" {
						<-gate
					}
				}
				l := NewLease(db.guard(WithObserver(&w)), chargeSpec(), a.charge)
				a.then = func(ctx context.Context, n int) error {
					if n > 1 {
						return nil
					}
					<-ctx.Done()
					if context.Cause(ctx) != ErrLeaseLost {
						t.Errorf("the cause is %v", context.Cause(ctx))
					}
					time.Sleep(lease)
					if got, err := l.Do(t.Context(), order{ID: "a"}); err != nil || got.Ref != "a#2" {
						t.Errorf("the second owner: %v, %v", got, err)
					}
					close(gate)
					return tt.end
				}
				_, err := l.Do(t.Context(), order{ID: "a"})
				if !errors.Is(err, ErrLeaseLost) || (tt.end != nil && !errors.Is(err, tt.end)) || w.last(t).Outcome != OutcomeLeaseLost {
					t.Errorf("the first owner: %v, %+v", err, w.last(t))
				}
				if row := state(t, db, store.Done); row.Fence != 2 {
					t.Errorf("got %+v", row)
				}
				if len(a.charged) != 1 || a.runs() != 2 {
					t.Errorf("the outside has seen %v", a.charged)
				}
			})
		})
	}
}

// The handler's context ends when a renewal says that the lease is lost; and when none is answered, by this machine's clock,
// before the lease has passed.
func TestLeaseEndsTheContext(t *testing.T) {
	t.Parallel()
	t.Run("told", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			db, a := newFake(t), acquirer{then: untilDone}
			l := NewLease(db.guard(), chargeSpec(), a.charge)
			start := time.Now()
			time.AfterFunc(lease/2, func() {
				db.putRow("orders.Charge", "a", store.Row{State: store.Running, Owner: store.Owner{9}, Fence: 2})
			})
			if _, err := l.Do(t.Context(), order{ID: "a"}); !errors.Is(err, ErrLeaseLost) || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			if took := time.Since(start); took != lease/3*2 {
				t.Errorf("it took %s", took)
			}
		})
	})
	for _, answers := range []int{0, 2} {
		t.Run(fmt.Sprintf("unanswered after %d", answers), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, a := newFake(t), acquirer{then: untilDone}
				db.fault = func(step string, n int) error {
					if step == "renew" && n > answers {
						return errBroken
					}
					return nil
				}
				l := NewLease(db.guard(), chargeSpec(), a.charge)
				start := time.Now()
				if _, err := l.Do(t.Context(), order{ID: "a"}); !errors.Is(err, ErrLeaseLost) {
					t.Errorf("got %v", err)
				}
				want := lease/3*time.Duration(answers) + lease - lease/10
				if took := time.Since(start); took != want {
					t.Errorf("it took %s, want %s", took, want)
				}
				state(t, db, store.Released)
			})
		})
	}
}

// A handler that has had its effect before the lease seemed to be lost is recorded, if nobody has taken over.
func TestLeaseStillOurs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, a := newFake(t), acquirer{then: func(ctx context.Context, _ int) error { <-ctx.Done(); return nil }}
		db.fault = func(step string, _ int) error {
			if step == "renew" {
				return errBroken
			}
			return nil
		}
		got, err := NewLease(db.guard(), chargeSpec(), a.charge).Do(t.Context(), order{ID: "a"})
		if err != nil || got.Ref != "a#1" {
			t.Errorf("got %v, %v", got, err)
		}
		state(t, db, store.Done)
	})
}

// The caller's end reaches the handler; what it has done by then is recorded all the same.
func TestLeaseCallerGone(t *testing.T) {
	t.Parallel()
	for _, end := range []error{nil, context.Canceled} {
		t.Run(fmt.Sprint(end), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				db, a := newFake(t), acquirer{then: func(ctx context.Context, _ int) error { cancel(); <-ctx.Done(); return end }}
				_, err := NewLease(db.guard(), chargeSpec(), a.charge).Do(ctx, order{ID: "a"})
				if err != end {
					t.Errorf("got %v", err)
				}
				if end == nil {
					state(t, db, store.Done)
				} else {
					state(t, db, store.Released)
				}
			})
		})
	}
}

// The end of a run whose answer is lost is asked for again.
func TestLeaseFinishUnanswered(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		arrived bool // the first try's statement has taken place
		fails   int  // tries that fail
		outcome Outcome
		err     error
	}{
		{"arrived", true, 1, OutcomeSettled, nil},
		{"did not", false, 1, OutcomeExecuted, nil},
		{"never", false, 1 << 20, OutcomeError, ErrCommitUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, a, w := newFake(t), acquirer{}, watcher{}
				db.fault = func(step string, n int) error {
					if step != "finish" || n > tt.fails {
						return nil
					}
					if row := db.rows["orders.Charge a"]; tt.arrived {
						row.State, row.Result = store.Done, packResult([]byte(`{"Ref":"a#1"}`))
						db.rows["orders.Charge a"] = row
						delete(db.leases, "orders.Charge a")
					}
					return errBroken
				}
				l := NewLease(db.guard(WithObserver(&w)), chargeSpec(), a.charge)
				_, err := l.Do(t.Context(), order{ID: "a"})
				if !errors.Is(err, tt.err) || (tt.err == nil) != (err == nil) || w.last(t).Outcome != tt.outcome {
					t.Errorf("got %v, %+v", err, w.last(t))
				}
				if tt.err == nil {
					state(t, db, store.Done)
				}
			})
		})
	}
}

func TestLeaseErrorsOfTheDatabase(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		step    string
		err     error
		outcome Outcome
		is      func(error) bool
		runs    int
	}{
		{"lease", errBroken, OutcomeExecuted, func(err error) bool { return err == nil }, 1},
		{"lease", errBusy, OutcomeInProgress, func(err error) bool { return errors.As(err, new(*InProgressError)) }, 0},
		{"lease", errMisfit, OutcomeError, func(err error) bool { return errors.As(err, new(*TableError)) }, 0},
		{"lease", errConflict, OutcomeExecuted, func(err error) bool { return err == nil }, 1},
		{"lease", errLocked, OutcomeExecuted, func(err error) bool { return err == nil }, 1},
		{"finish", errLocked, OutcomeExecuted, func(err error) bool { return err == nil }, 1},
		{"finish", errDenied, OutcomeExecuted, func(err error) bool { return err == nil }, 1},
	} {
		t.Run(tt.step+" "+tt.err.Error(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, a, w := newFake(t), acquirer{}, watcher{}
				db.fault = func(step string, n int) error {
					if step == tt.step && n == 1 {
						return tt.err
					}
					return nil
				}
				_, err := NewLease(db.guard(WithObserver(&w)), chargeSpec(), a.charge).Do(t.Context(), order{ID: "a"})
				if !tt.is(err) || w.last(t).Outcome != tt.outcome || a.runs() != tt.runs {
					t.Errorf("got %v, %+v, %d runs", err, w.last(t), a.runs())
				}
			})
		})
	}
}

func TestLeaseMark(t *testing.T) {
	t.Parallel()
	db, a := newFake(t), acquirer{}
	l := NewLease(db.guard(), chargeSpec(), a.charge)
	for _, r := range []string{"before", "again"} {
		if err := l.Mark(t.Context(), order{ID: "a"}, receipt{r}); err != nil {
			t.Error(err)
		}
	}
	if got, err := l.Do(t.Context(), order{ID: "a"}); err != nil || got.Ref != "before" || a.runs() != 0 {
		t.Errorf("got %v, %v", got, err)
	}
	if err := l.Mark(t.Context(), order{ID: "a", Amount: 1}, receipt{}); !errors.Is(err, ErrPayloadMismatch) {
		t.Errorf("got %v", err)
	}
	if err := l.Mark(t.Context(), order{}, receipt{}); !errors.Is(err, ErrZeroKey) {
		t.Errorf("got %v", err)
	}
}

func TestLeaseShadow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, a, w := newFake(t), acquirer{}, watcher{}
		l := NewLease(db.guard(WithShadow(), WithObserver(&w)), chargeSpec(), a.charge)
		for n, want := range []struct {
			e       order
			outcome Outcome
		}{
			{order{ID: "a"}, OutcomeExecuted}, {order{ID: "a"}, OutcomeDuplicate}, {order{ID: "a", Amount: 1}, OutcomeMismatch},
		} {
			got, err := l.Do(t.Context(), want.e)
			if err != nil || got.Ref != fmt.Sprintf("a#%d", n+1) || w.last(t).Outcome != want.outcome {
				t.Errorf("got %v, %v, %+v", got, err, w.last(t))
			}
		}
	})
}

// Shadow mode says of a key whose lease has passed that it would be parked, and leaves the row as it is: also where the lease
// passes between the claim and the look-up.
func TestLeaseShadowDoesNotPark(t *testing.T) {
	t.Parallel()
	for _, left := range []time.Duration{-time.Second, time.Millisecond} {
		t.Run(left.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, a, w := newFake(t), acquirer{}, watcher{}
				dead := store.Row{State: store.Running, Owner: store.Owner{1}, Fence: 3}
				db.putRow("orders.Charge", "a", dead)
				db.leases["orders.Charge a"] = time.Now().Add(left)
				db.gate = func(string) { time.Sleep(2 * time.Millisecond) }
				spec := chargeSpec()
				spec.Expired = Park
				l := NewLease(db.guard(WithShadow(), WithObserver(&w)), spec, a.charge)
				if _, err := l.Do(t.Context(), order{ID: "a"}); err != nil || a.runs() != 1 {
					t.Errorf("got %v, %d runs", err, a.runs())
				}
				if d := w.last(t); d.Outcome != OutcomeError || !errors.Is(d.Err, ErrParked) {
					t.Errorf("got %+v", d)
				}
				if row := state(t, db, store.Running); row.Owner != dead.Owner || row.Fence != 3 {
					t.Errorf("got %+v", row)
				}
				if db.calls["park"] != 0 {
					t.Error("it was parked")
				}
			})
		})
	}
}

func TestLeaseSpec(t *testing.T) {
	t.Parallel()
	db, a, c := newFake(t), acquirer{}, counter{}
	short, odd := chargeSpec(), chargeSpec()
	short.Lease = time.Second - 1
	odd.Expired = 9
	for name, do := range map[string]func(context.Context, order) (receipt, error){
		"no lease":                   NewLease(db.guard(), orderSpec(), a.charge).Do,
		"too short":                  NewLease(db.guard(), short, a.charge).Do,
		"no such rule":               NewLease(db.guard(), odd, a.charge).Do,
		"no guard":                   NewLease((*Guard[fakeTx])(nil), chargeSpec(), a.charge).Do,
		"no function":                NewLease[fakeTx, order, receipt](db.guard(), chargeSpec(), nil).Do,
		"a lease with a transaction": NewHandler(db.guard(), chargeSpec(), c.place).Do,
	} {
		if _, err := do(t.Context(), order{ID: "a"}); !errors.As(err, new(*Error)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if NoLeaseResult[order](nil) != nil {
		t.Error("a function out of none")
	}
}

// The key for the outside depends on handler and key and on nothing else, also with a transaction.
func TestExternalKey(t *testing.T) {
	t.Parallel()
	if _, ok := FromContext(t.Context()); ok {
		t.Error("a run outside of a handler")
	}
	db := newFake(t)
	var run Run
	h := NewHandler(db.guard(), orderSpec(), func(ctx context.Context, _ fakeTx, _ order) (receipt, error) {
		run, _ = FromContext(ctx)
		return receipt{}, nil
	})
	if _, err := h.Do(t.Context(), order{ID: "a", Try: 3}); err != nil {
		t.Fatal(err)
	}
	if run.Handler != "orders.Place" || run.Key != "a" || run.Attempt != 3 || run.Fence != 1 {
		t.Errorf("got %+v", run)
	}
	const want = "459aceb0"
	if run.ExternalKey() != (Run{Handler: "orders.Place", Key: "a", Fence: 5}).ExternalKey() {
		t.Error("it depends on the run")
	}
	if got := (Run{Handler: "orders.Place"}).ExternalKey(); got != "" {
		t.Errorf("no event has the key %s", got)
	}
	if got := run.ExternalKey(); got[:8] != want {
		t.Errorf("got %s: outside systems have seen another one", got)
	}
	if run.ExternalKey() == (Run{Handler: "orders.Placea", Key: ""}).ExternalKey() {
		t.Error("not injective")
	}
}
