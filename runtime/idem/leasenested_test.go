package idem

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime/store"
)

// A handler with a lease delivers another event, with a lease of its own. The outer lease is lost, which ends both handlers'
// contexts: the inner delivery has lost nothing, and its error is its handler's own, or it is a success.
func TestLeaseNested(t *testing.T) {
	t.Parallel()
	for name, stops := range map[string]bool{"the inner one stops": true, "the inner one goes on": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, inner, w := newFake(t), acquirer{}, watcher{}
				spec := chargeSpec()
				spec.Name = "mails.Send"
				send := NewLease(db.guard(WithObserver(&w)), spec, inner.charge)
				outer := acquirer{then: func(ctx context.Context, _ int) error {
					time.AfterFunc(lease/2, func() {
						db.putRow("orders.Charge", "a", store.Row{State: store.Running, Owner: store.Owner{9}, Fence: 2})
					})
					_, err := send.Do(ctx, order{ID: "a"})
					return err
				}}
				inner.then = func(ctx context.Context, _ int) error {
					<-ctx.Done()
					if context.Cause(ctx) != ErrLeaseLost {
						t.Errorf("the cause is %v", context.Cause(ctx))
					}
					if stops {
						return ctx.Err()
					}
					return nil
				}
				// Only the outer one's lease is asked of the row that another has.
				_, err := NewLease(db.guard(WithObserver(&w)), chargeSpec(), outer.charge).Do(t.Context(), order{ID: "a"})

				got, want := w.seen[0], Delivery{Handler: "mails.Send", Outcome: OutcomeExecuted}
				if stops {
					want.Outcome, want.Err = OutcomeError, context.Canceled
				}
				if got.Handler != want.Handler || got.Outcome != want.Outcome || got.Err != want.Err {
					t.Errorf("the inner delivery: %+v", got)
				}
				row, _ := db.row("mails.Send", "a")
				if stops && row.State != store.Released || !stops && row.State != store.Done {
					t.Errorf("the inner row: %+v", row)
				}
				if !errors.Is(err, ErrLeaseLost) || w.last(t).Outcome != OutcomeLeaseLost {
					t.Errorf("the outer delivery: %v, %+v", err, w.last(t))
				}
			})
		})
	}
}

// The inner lease is lost, the outer one is not, and its handler returns what it got: that is an error of its own, and the
// outer delivery's outcome does not speak of a lease.
func TestLeaseNestedLostInside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, inner, w := newFake(t), acquirer{then: untilDone}, watcher{}
		spec := chargeSpec()
		spec.Name = "mails.Send"
		send := NewLease(db.guard(WithObserver(&w)), spec, inner.charge)
		outer := acquirer{then: func(ctx context.Context, _ int) error {
			time.AfterFunc(lease/2, func() {
				db.putRow("mails.Send", "a", store.Row{State: store.Running, Owner: store.Owner{9}, Fence: 2})
			})
			_, err := send.Do(ctx, order{ID: "a"})
			if ctx.Err() != nil {
				t.Error("the outer context has ended")
			}
			return err
		}}
		_, err := NewLease(db.guard(WithObserver(&w)), chargeSpec(), outer.charge).Do(t.Context(), order{ID: "a"})
		var told *Error
		if !errors.As(err, &told) || told.Handler != "mails.Send" || !errors.Is(err, ErrLeaseLost) {
			t.Errorf("got %v", err)
		}
		if w.seen[0].Outcome != OutcomeLeaseLost || w.seen[1].Outcome != OutcomeError {
			t.Errorf("got %+v", w.seen)
		}
		state(t, db, store.Released)
	})
}
