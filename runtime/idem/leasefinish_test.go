package idem

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// Once the handler has run, a database that refuses to record it is asked again: it may have been the old primary. What is
// refused until the time is over is told with its reason, and as an end that may not be recorded: the event must not be given
// up for it.
func TestLeaseFinishRefused(t *testing.T) {
	t.Parallel()
	for _, refused := range []error{errDenied, errMisfit, errBroken, errBusy} {
		for _, own := range []error{nil, Permanent(errors.New("stolen"))} {
			name := refused.Error()
			if own != nil {
				name += ", of a failure"
			}
			for until, recorded := range map[time.Duration]bool{driver.EndTimeout - time.Second: true, time.Hour: false} {
				t.Run(name+" until "+until.String(), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						db, w := newFake(t), watcher{}
						a := acquirer{then: func(context.Context, int) error { return own }}
						start := time.Now()
						db.fault = func(step string, _ int) error {
							if step == "finish" && time.Since(start) < until {
								return refused
							}
							return nil
						}
						_, err := NewLease(db.guard(WithObserver(&w)), chargeSpec(), a.charge).Do(t.Context(), order{ID: "a"})
						if recorded {
							want := store.Done
							if own != nil {
								want = store.Failed
							}
							state(t, db, want)
							if errors.Is(err, ErrCommitUnknown) || (err == nil) != (own == nil) {
								t.Errorf("got %v", err)
							}
							return
						}
						table := refused == errDenied || refused == errMisfit
						if !errors.Is(err, ErrCommitUnknown) || !errors.Is(err, refused) || errors.As(err, new(*TableError)) != table || !errors.Is(err, own) && own != nil {
							t.Errorf("got %v", err)
						}
						if errors.As(err, new(*FailedError)) {
							t.Errorf("it is not recorded, and says so: %v", err)
						}
						if took := time.Since(start); took < driver.EndTimeout || took > driver.EndTimeout+diagnoseTimeout {
							t.Errorf("it took %s", took)
						}
						// It ran, and so it is not run again before the lease has passed.
						state(t, db, store.Running)
					})
				})
			}
		}
	}
}

// An end that was executed twice, and answered the second time, is this run's.
func TestLeaseFinishedTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, a, w := newFake(t), acquirer{}, watcher{}
		db.twice = func(step string) bool { return step == "finish" }
		got, err := NewLease(db.guard(WithObserver(&w)), chargeSpec(), a.charge).Do(t.Context(), order{ID: "a"})
		if err != nil || got.Ref != "a#1" || w.last(t).Outcome != OutcomeSettled {
			t.Errorf("got %v, %v, %+v", got, err, w.last(t))
		}
		state(t, db, store.Done)
	})
}

// textless is an error that cannot tell its text.
type textless struct{}

func (textless) Error() string { panic("no text") }

// A failure that panics when it is asked for its text gives the key back like any other panic.
func TestLeaseFailurePanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, a := newFake(t), acquirer{then: func(context.Context, int) error { return Permanent(textless{}) }}
		func() {
			defer func() {
				if recover() != "no text" {
					t.Error("the panic did not go on")
				}
			}()
			_, _ = NewLease(db.guard(), chargeSpec(), a.charge).Do(t.Context(), order{ID: "a"})
		}()
		state(t, db, store.Released)
	})
}

// A failure of another event, whatever it comes wrapped in, is not one of this event unless its handler says so; and then the
// record is this event's, with the other's text in it.
func TestLeaseNestedFailure(t *testing.T) {
	t.Parallel()
	unwrapped := func(err error) error {
		var f *FailedError
		if !errors.As(err, &f) {
			return errors.New("there is none")
		}
		return f
	}
	for name, tt := range map[string]struct {
		returns func(error) error
		marked  bool
	}{
		"as it is":             {func(err error) error { return err }, false},
		"taken out":            {unwrapped, false},
		"marked":               {Permanent, true},
		"taken out and marked": {func(err error) error { return Permanent(unwrapped(err)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, w := newFake(t), watcher{}
				spec := chargeSpec()
				spec.Name = "mails.Send"
				bad := errors.New("no such address")
				inner := acquirer{then: func(context.Context, int) error { return Permanent(bad) }}
				send := NewLease(db.guard(), spec, inner.charge)
				outer := acquirer{then: func(ctx context.Context, _ int) error {
					_, err := send.Do(ctx, order{ID: "a"})
					return tt.returns(err)
				}}
				l := NewLease(db.guard(WithObserver(&w)), chargeSpec(), outer.charge)
				for n := range 2 {
					_, err := l.Do(t.Context(), order{ID: "a"})
					var f *FailedError
					if !errors.As(err, &f) {
						t.Fatalf("got %v", err)
					}
					if !tt.marked {
						state(t, db, store.Released)
						if w.last(t).Outcome != OutcomeError || outer.runs() != n+1 {
							t.Errorf("got %+v after %d runs", w.last(t), outer.runs())
						}
						continue
					}
					state(t, db, store.Failed)
					var told *Error
					if !errors.As(err, &told) || told.Handler != "orders.Charge" || w.last(t).Outcome != OutcomeFailed || outer.runs() != 1 {
						t.Errorf("got %v, %+v after %d runs", err, w.last(t), outer.runs())
					}
					if n == 0 && (!errors.Is(err, bad) || f.Err == nil) {
						t.Errorf("the cause is gone: %v", err)
					}
				}
				if inner.runs() != 1 {
					t.Errorf("the inner one ran %d times", inner.runs())
				}
			})
		})
	}
}
