package idem

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime/store"
)

// A claim that is answered when its lease has passed, or is about to, is renewed before the handler begins; if that is not
// possible, nothing runs.
func TestLeaseClaimedLate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		late    time.Duration
		then    func(*fakeDB) // what happens to the key before it is renewed
		renewed error
		runs    int
		outcome Outcome
	}{
		{"renewed", 2 * lease, nil, nil, 1, OutcomeExecuted},
		{"taken over", 2 * lease, func(db *fakeDB) {
			db.putRow("orders.Charge", "a", store.Row{State: store.Running, Owner: store.Owner{9}, Fence: 2})
		}, nil, 0, OutcomeInProgress},
		{"unanswered", 2 * lease, nil, errBroken, 0, OutcomeError},
		{"locked", 2 * lease, nil, errLocked, 0, OutcomeError},
		{"unanswered in time", lease / 2, nil, errBroken, 1, OutcomeExecuted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, w := newFake(t), watcher{}
				a := acquirer{then: func(ctx context.Context, _ int) error { return ctx.Err() }}
				db.gate = func(step string) {
					switch step {
					case "lease":
						time.Sleep(tt.late)
					case "renew":
						if tt.then != nil {
							tt.then(db)
						}
					}
				}
				db.fault = func(step string, _ int) error {
					if step == "renew" {
						return tt.renewed
					}
					return nil
				}
				l := NewLease(db.guard(WithObserver(&w)), chargeSpec(), a.charge)
				_, err := l.Do(t.Context(), order{ID: "a"})
				if err != nil && !errors.As(err, new(*Error)) {
					t.Errorf("got %#v", err)
				}
				if (err == nil) != (tt.runs == 1) || (tt.renewed != nil && err != nil && !errors.Is(err, tt.renewed)) || w.last(t).Outcome != tt.outcome || a.runs() != tt.runs {
					t.Errorf("got %v, %+v, %d runs", err, w.last(t), a.runs())
				}
			})
		})
	}
}

// A renewal before the handler that is not answered, or that another writer is in the way of, is tried again while there is
// time, as the claim is: the database is there, and only slow.
func TestLeaseClaimedLateOnASlowDatabase(t *testing.T) {
	t.Parallel()
	for _, slow := range []error{errBroken, errLocked, errConflict} {
		t.Run(slow.Error(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, w, a := newFake(t), watcher{}, acquirer{}
				db.gate = func(step string) {
					if step == "lease" {
						time.Sleep(lease)
					}
				}
				db.fault = func(step string, n int) error {
					if step == "renew" && n < 4 {
						return slow
					}
					return nil
				}
				l := NewLease(db.guard(WithObserver(&w), WithInFlightTimeout(2*lease)), chargeSpec(), a.charge)
				if _, err := l.Do(t.Context(), order{ID: "a"}); err != nil || w.last(t).Outcome != OutcomeExecuted {
					t.Errorf("got %v, %+v", err, w.last(t))
				}
			})
		})
	}
}

// A renewal that is due when the lease has ended ends the handler's context, and does not leave that to the watch that it
// stops.
func TestLeaseEndsWithoutTheWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, a := newFake(t), acquirer{}
		l := NewLease(db.guard(), chargeSpec(), a.charge)
		running, lose := context.WithCancelCause(t.Context())
		defer lose(nil)
		watch := time.NewTimer(time.Hour)
		defer watch.Stop()
		l.renew(t.Context(), held{sent: time.Now().Add(-lease)}, watch, func() { lose(ErrLeaseLost) })
		if context.Cause(running) != ErrLeaseLost {
			t.Errorf("the cause is %v", context.Cause(running))
		}
	})
}

// A run whose lease is over may say anything: that its failure is permanent does not count, as with a context that the caller
// has ended.
func TestLeasePermanentTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, w := newFake(t), watcher{}
		a := acquirer{then: func(ctx context.Context, n int) error {
			if n > 1 {
				return nil
			}
			return Permanent(untilDone(ctx, n))
		}}
		db.fault = func(step string, _ int) error {
			if step == "renew" {
				return errBroken
			}
			return nil
		}
		l := NewLease(db.guard(WithObserver(&w)), chargeSpec(), a.charge)
		if _, err := l.Do(t.Context(), order{ID: "a"}); !errors.Is(err, ErrLeaseLost) || w.last(t).Outcome != OutcomeLeaseLost {
			t.Errorf("got %v, %+v", err, w.last(t))
		}
		state(t, db, store.Released)
		if _, err := l.Do(t.Context(), order{ID: "a"}); err != nil || a.runs() != 2 {
			t.Errorf("got %v, %d runs", err, a.runs())
		}
	})
}

type panickyCodec struct{ jsonCodec }

func (panickyCodec) Encode(any) ([]byte, error) { panic("codec") }

// A codec that panics does not undo the effect.
func TestLeaseCodecPanics(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]Option{nil, {WithShadow()}} {
		synctest.Test(t, func(t *testing.T) {
			db, a := newFake(t), acquirer{}
			l := NewLease(db.guard(append(opts, WithCodec(panickyCodec{}))...), chargeSpec(), a.charge)
			func() {
				defer func() {
					if recover() != "codec" {
						t.Error("the panic did not go on")
					}
				}()
				_, _ = l.Do(t.Context(), order{ID: "a"})
			}()
			state(t, db, store.Done)
			if opts != nil {
				return
			}
			if _, err := l.Do(t.Context(), order{ID: "a"}); !errors.Is(err, ErrResultOmitted) || a.runs() != 1 {
				t.Errorf("got %v, %d runs", err, a.runs())
			}
		})
	}
}
