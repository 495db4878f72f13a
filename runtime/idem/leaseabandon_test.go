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

// free is a row that a run has given back, for a take-over instead of a claim.
func free(db *fakeDB, there bool) {
	if there {
		db.putRow("orders.Charge", "a", store.Row{State: store.Released, Owner: store.Owner{1}, Fence: 3, Fingerprint: orderSpec().Fingerprint(order{})})
	}
}

func asking(there bool) (step, name string) {
	if there {
		return "take", "take-over"
	}
	return "lease", "claim"
}

// A claim or a take-over without an answer is asked for again. If it had been executed, it is this delivery's; if it is never
// answered, the key is given back.
func TestLeaseAskedAgain(t *testing.T) {
	t.Parallel()
	for _, there := range []bool{false, true} {
		for _, executed := range []bool{false, true} {
			for _, times := range []int{1, askTries - 1, askTries} {
				step, name := asking(there)
				t.Run(fmt.Sprintf("%s, executed %t, unanswered %d times", name, executed, times), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						db, a, w := newFake(t), acquirer{}, watcher{}
						free(db, there)
						lost := 0
						lose := func(s string) error {
							if s != step || lost == times {
								return nil
							}
							lost++
							return errBroken
						}
						if executed {
							db.answer = lose
						} else {
							db.fault = func(step string, _ int) error { return lose(step) }
						}
						_, err := NewLease(db.guard(WithObserver(&w)), chargeSpec(), a.charge).Do(t.Context(), order{ID: "a"})
						if times < askTries {
							if err != nil || w.last(t).Outcome != OutcomeExecuted || a.runs() != 1 {
								t.Errorf("got %v, %+v, %d runs", err, w.last(t), a.runs())
							}
							state(t, db, store.Done)
							return
						}
						if !errors.Is(err, errBroken) || w.last(t).Outcome != OutcomeError || a.runs() != 0 {
							t.Errorf("got %v, %+v, %d runs", err, w.last(t), a.runs())
						}
						state(t, db, store.Released)
					})
				})
			}
		}
	}
}

// A statement that asks for the key is executed twice, and only the second answer is given: the row is this delivery's, and
// its lease counts from the first time on.
func TestLeaseAskedTwice(t *testing.T) {
	t.Parallel()
	for _, there := range []bool{false, true} {
		for _, slow := range []time.Duration{0, lease / 2, 2 * lease} {
			step, name := asking(there)
			t.Run(name+" "+slow.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					db, a, w := newFake(t), acquirer{}, watcher{}
					free(db, there)
					db.twice = func(s string) bool {
						if s == step {
							time.Sleep(slow)
						}
						return s == step
					}
					fence := int64(1)
					if there {
						fence = 4
					}
					a.then = func(ctx context.Context, _ int) error {
						if run, _ := FromContext(ctx); run.Fence != fence {
							t.Errorf("fence %d", run.Fence)
						}
						if row := state(t, db, store.Running); row.LeaseLeft < lease/3*2 {
							t.Errorf("the handler begins with %s of its lease", row.LeaseLeft)
						}
						return ctx.Err()
					}
					spec := chargeSpec()
					spec.Expired = Park // which is for the rows of others
					start := time.Now()
					if _, err := NewLease(db.guard(WithObserver(&w)), spec, a.charge).Do(t.Context(), order{ID: "a"}); err != nil || w.last(t).Outcome != OutcomeExecuted {
						t.Errorf("got %v, %+v", err, w.last(t))
					}
					if took := time.Since(start); took > slow+time.Second {
						t.Errorf("it took %s", took)
					}
					state(t, db, store.Done)
				})
			})
		}
	}
}

// A delivery whose context ends while its claim is under way does not leave the key held: not if the claim has been executed
// and its answer got lost, nor if it is executed only after the delivery has ended.
func TestLeaseAbandoned(t *testing.T) {
	t.Parallel()
	for _, there := range []bool{false, true} {
		step, name := asking(there)
		for when, executed := range map[string]bool{"executed": true, "on its way": false} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					db, a := newFake(t), acquirer{}
					free(db, there)
					arrives := make(chan struct{})
					first := true
					db.answer = func(s string) error {
						if s != step || !first || !executed {
							return nil
						}
						first = false
						cancel()
						return context.Canceled
					}
					db.late = func(s string) <-chan struct{} {
						if s != step || !first || executed {
							return nil
						}
						first = false
						time.AfterFunc(time.Second, cancel)
						return arrives
					}
					l := NewLease(db.guard(), chargeSpec(), a.charge)
					if _, err := l.Do(ctx, order{ID: "a"}); !errors.Is(err, context.Canceled) {
						t.Errorf("got %v", err)
					}
					close(arrives)
					synctest.Wait()
					if row := state(t, db, store.Released); there && row.Fingerprint == "" {
						t.Error("the fingerprint of an earlier run is gone")
					}
					start := time.Now()
					if _, err := l.Do(t.Context(), order{ID: "a"}); err != nil || a.runs() != 1 || time.Since(start) > time.Second {
						t.Errorf("the next one: %v, %d runs, after %s", err, a.runs(), time.Since(start))
					}
				})
			})
		}
	}
}

// A claim that has not been executed when its delivery is over keeps nobody from sending another payload: nothing ran.
func TestLeaseAbandonedFingerprint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		db, a := newFake(t), acquirer{}
		db.fault = func(step string, n int) error {
			if step == "lease" && n == 1 {
				cancel()
				return context.Canceled
			}
			return nil
		}
		l := NewLease(db.guard(), chargeSpec(), a.charge)
		if _, err := l.Do(ctx, order{ID: "a"}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if _, err := l.Do(t.Context(), order{ID: "a", Amount: 1}); err != nil {
			t.Errorf("got %v", err)
		}
	})
}

// A context that is over before the delivery asks for nothing, and leaves nothing.
func TestLeaseContextOverBefore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	db, a, w := newFake(t), acquirer{}, watcher{}
	_, err := NewLease(db.guard(WithObserver(&w)), chargeSpec(), a.charge).Do(ctx, order{ID: "a"})
	if !errors.Is(err, context.Canceled) || w.last(t).Outcome != OutcomeError || len(db.rows) != 0 || len(db.calls) != 0 || a.runs() != 0 {
		t.Errorf("got %v, %+v, %v, %v", err, w.last(t), db.rows, db.calls)
	}
}

// A database that is away does not keep an abandoned delivery for longer than abandonTimeout; and a release is tried again,
// since the connection that the pool gives first may be dead.
func TestLeaseGivenBackLater(t *testing.T) {
	t.Parallel()
	t.Run("for good", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			db, a := newFake(t), acquirer{}
			db.fault = func(string, int) error { return errBroken }
			start := time.Now()
			_, err := NewLease(db.guard(), chargeSpec(), a.charge).Do(t.Context(), order{ID: "a"})
			if took := time.Since(start); !errors.Is(err, errBroken) || took > abandonTimeout+pauseMax {
				t.Errorf("got %v after %s", err, took)
			}
		})
	})
	for name, then := range map[string]func(context.Context, int) error{
		"after an error": func(context.Context, int) error { return errBroken },
		"after a panic":  func(context.Context, int) error { panic(errBroken) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, a := newFake(t), acquirer{then: then}
				db.fault = func(step string, n int) error {
					if step == "give" && n < 4 {
						return errBroken
					}
					return nil
				}
				func() {
					defer func() { _ = recover() }()
					_, _ = NewLease(db.guard(), chargeSpec(), a.charge).Do(t.Context(), order{ID: "a"})
				}()
				state(t, db, store.Released)
			})
		})
	}
}

// A mark is one statement: whatever is lost, the row is there as a whole or not at all, and calling again is safe.
func TestLeaseMarkIsOneStatement(t *testing.T) {
	t.Parallel()
	for _, there := range []bool{false, true} {
		step, name := asking(there)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, a := newFake(t), acquirer{}
				free(db, there)
				l := NewLease(db.guard(), chargeSpec(), a.charge)
				lost := 0
				db.answer = func(s string) error {
					if s != step || lost == askTries {
						return nil
					}
					lost++
					return errBroken
				}
				if err := l.Mark(t.Context(), order{ID: "a"}, receipt{"before"}); !errors.Is(err, errBroken) {
					t.Errorf("got %v", err)
				}
				if row := state(t, db, store.Done); len(row.Result) == 0 {
					t.Error("it has no result")
				}
				for _, step := range []string{"renew", "finish", "give"} {
					if db.calls[step] != 0 {
						t.Errorf("it needed a %s", step)
					}
				}
				if err := l.Mark(t.Context(), order{ID: "a"}, receipt{"again"}); err != nil {
					t.Error(err)
				}
				if got, err := l.Do(t.Context(), order{ID: "a"}); err != nil || got.Ref != "before" || a.runs() != 0 {
					t.Errorf("got %v, %v", got, err)
				}
			})
		})
		t.Run(name+" twice", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, a := newFake(t), acquirer{}
				free(db, there)
				db.twice = func(s string) bool { return s == step }
				if err := NewLease(db.guard(), chargeSpec(), a.charge).Mark(t.Context(), order{ID: "a"}, receipt{"before"}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A look-up without an answer is asked for again.
func TestLeaseLookedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, a := newFake(t), acquirer{}
		l := NewLease(db.guard(), chargeSpec(), a.charge)
		if _, err := l.Do(t.Context(), order{ID: "a"}); err != nil {
			t.Fatal(err)
		}
		db.fault = func(step string, n int) error {
			if step == "find" && n < askTries {
				return errBroken
			}
			return nil
		}
		if got, err := l.Do(t.Context(), order{ID: "a"}); err != nil || got.Ref != "a#1" || db.calls["find"] != askTries {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// A look-up or a parking that is never answered ends the delivery not long after the in-flight time, although its context has no
// end.
func TestLeaseLookUnanswered(t *testing.T) {
	t.Parallel()
	for _, hangs := range []string{"find", "park"} {
		t.Run(hangs, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, a, w := newFake(t), acquirer{}, watcher{}
				db.putRow("orders.Charge", "a", store.Row{State: store.Running, Owner: store.Owner{1}, Fence: 3})
				never := make(chan struct{})
				db.late = func(step string) <-chan struct{} {
					if step == hangs {
						return never
					}
					return nil
				}
				spec := chargeSpec()
				spec.Expired = Park
				start := time.Now()
				_, err := NewLease(db.guard(WithObserver(&w)), spec, a.charge).Do(t.Context(), order{ID: "a"})
				if !errors.As(err, new(*Error)) || !errors.Is(err, context.DeadlineExceeded) || w.last(t).Outcome != OutcomeError {
					t.Errorf("got %v, %+v", err, w.last(t))
				}
				if took := time.Since(start); took > DefaultInFlightTimeout+lookGrace+abandonTimeout {
					t.Errorf("it took %s", took)
				}
				close(never)
				synctest.Wait()
			})
		})
	}
}

// A mark that meets a key whose lease has passed, under expired=park, leaves it as it is.
func TestLeaseMarkDoesNotPark(t *testing.T) {
	t.Parallel()
	db, a := newFake(t), acquirer{}
	db.putRow("orders.Charge", "a", store.Row{State: store.Running, Owner: store.Owner{1}, Fence: 3})
	spec := chargeSpec()
	spec.Expired = Park
	for _, opts := range [][]Option{nil, {WithShadow()}} {
		if err := NewLease(db.guard(opts...), spec, a.charge).Mark(t.Context(), order{ID: "a"}, receipt{}); !errors.Is(err, ErrParked) {
			t.Errorf("got %v", err)
		}
		state(t, db, store.Running)
	}
}

// A claim or a take-over that was executed without an answer, and meets conflicts with others when it is asked for again, is not
// left held when the time for that is over.
func TestLeaseAbandonedAfterConflicts(t *testing.T) {
	t.Parallel()
	for _, there := range []bool{false, true} {
		for _, then := range []error{errConflict, errLocked} {
			step, name := asking(there)
			t.Run(name+", "+then.Error(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					db, a, w := newFake(t), acquirer{}, watcher{}
					free(db, there)
					asked := 0
					over := time.Now().Add(DefaultInFlightTimeout + 2*pauseMax)
					db.answer = func(s string) error {
						if s == step && asked == 1 {
							return errBroken
						}
						return nil
					}
					db.fault = func(s string, _ int) error {
						if s == step {
							asked++
						}
						if asked > 1 && (s == step || s == "find" || s == "lease") && time.Now().Before(over) {
							return then
						}
						return nil
					}
					_, err := NewLease(db.guard(WithObserver(&w)), chargeSpec(), a.charge).Do(t.Context(), order{ID: "a"})
					if !errors.As(err, new(*InProgressError)) || w.last(t).Outcome != OutcomeInProgress || a.runs() != 0 {
						t.Errorf("got %v, %+v, %d runs", err, w.last(t), a.runs())
					}
					state(t, db, store.Released)
				})
			})
		}
	}
}
