package idem

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// A result that the database has no room for does not undo the effect, any more than one over the limit does: the row says done,
// and the handler is not run again. Where the database says why, that is so at once; where it only breaks the connection, and the
// result is a large one, after half of the time.
func TestLeaseResultWithoutRoom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		refused error
		size    int
		within  time.Duration // 0: the result is not left out
	}{
		{errNoRoom, 1, time.Second},
		{errNoRoom, DefaultResultLimit + 1, time.Second},
		{errBroken, DefaultResultLimit + 1, driver.EndTimeout},
		{errBroken, 1, 0},
	} {
		t.Run(tt.refused.Error(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, w := newFake(t), watcher{}
				start, whole := time.Now(), 0
				db.room = func(result []byte, _ string) error {
					if result == nil {
						return nil
					}
					whole++
					return tt.refused
				}
				ran := 0
				l := NewLease(db.guard(WithObserver(&w), WithResultLimit(1<<20)), chargeSpec(), func(context.Context, order) (receipt, error) {
					ran++
					return receipt{Ref: strings.Repeat("x", tt.size)}, nil
				})
				got, err := l.Do(t.Context(), order{ID: "a"})
				if tt.within == 0 {
					if !errors.Is(err, ErrCommitUnknown) || !errors.Is(err, tt.refused) {
						t.Errorf("got %v", err)
					}
					state(t, db, store.Running)
					return
				}
				if err != nil || len(got.Ref) != tt.size || w.last(t).Outcome != OutcomeExecuted {
					t.Errorf("got %d bytes, %v, %+v", len(got.Ref), err, w.last(t))
				}
				took := time.Since(start)
				if took > tt.within || whole == 0 || tt.refused == errBroken && took < driver.EndTimeout/2 {
					t.Errorf("it took %s, with the result %d times", took, whole)
				}
				state(t, db, store.Done)
				if _, err := l.Do(t.Context(), order{ID: "a"}); !errors.Is(err, ErrResultOmitted) || ran != 1 {
					t.Errorf("the repeat: %v after %d runs", err, ran)
				}
			})
		})
	}
}

// A failure whose text the database cannot hold is recorded with one that every database can, in either mode.
func TestFailureWithoutRoom(t *testing.T) {
	t.Parallel()
	const plain = `declined: \u20ac 5`
	cause := errors.Join(errors.New("declined: € 5"), errNoRoom) // the cause's own class is no answer
	cause = Permanent(&texted{"declined: € 5", cause})
	check := func(t *testing.T, deliver func() error) {
		for n := range 2 {
			var f *FailedError
			err := deliver()
			if !errors.As(err, &f) || errors.Is(err, cause) != (n == 0) {
				t.Fatalf("delivery %d: %v", n, err)
			}
			if n == 1 && f.Failure != plain {
				t.Errorf("the repeat has %q", f.Failure)
			}
		}
	}
	setup := func(t *testing.T) (*fakeDB, *int) {
		db, tries := newFake(t), new(int)
		db.room = func(_ []byte, failure string) error {
			if failure == "" {
				return nil
			}
			*tries++
			for _, r := range failure {
				if r > 0x7f {
					return errNoRoom
				}
			}
			return nil
		}
		return db, tries
	}
	t.Run("lease", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			db, _ := setup(t)
			a := acquirer{then: func(context.Context, int) error { return cause }}
			l := NewLease(db.guard(), chargeSpec(), a.charge)
			check(t, func() error { _, err := l.Do(t.Context(), order{ID: "a"}); return err })
			if a.runs() != 1 {
				t.Errorf("%d runs", a.runs())
			}
			state(t, db, store.Failed)
		})
	})
	t.Run("transaction", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			db, tries := setup(t)
			runs := 0
			h := NewHandler(db.guard(), orderSpec(), NoResult(func(context.Context, fakeTx, order) error { runs++; return cause }))
			check(t, func() error { _, err := h.Do(t.Context(), order{ID: "a"}); return err })
			if runs != 1 || *tries != 2 {
				t.Errorf("%d runs, %d texts", runs, *tries)
			}
		})
	})
	t.Run("the caller's transaction", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			db, _ := setup(t)
			h := NewHandler(db.guard(), orderSpec(), NoResult(func(context.Context, fakeTx, order) error { return cause }))
			_, err := h.InTx(t.Context(), db.begin(t), order{ID: "a"})
			var f *FailedError
			if !errors.As(err, &f) || f.Failure != plain {
				t.Errorf("got %v", err)
			}
		})
	})
}

// texted is an error with a text of its own.
type texted struct {
	text string
	err  error
}

func (e *texted) Error() string { return e.text }
func (e *texted) Unwrap() error { return e.err }
