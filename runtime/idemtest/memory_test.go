package idemtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/idempgx"
	"github.com/idemgen/idemgen/runtime/idemtest"
)

// charge is the event of the tests.
type charge struct {
	ID     string
	Amount int64
}

func spec() idem.Spec[charge] {
	return idem.Spec[charge]{
		Name:   "cards.Charge",
		Window: 24 * time.Hour,
		Lease:  30 * time.Second,
		Key: func(c charge) (string, error) {
			var k idem.KeyBuilder
			k.String("ID", c.ID)
			return k.Key()
		},
		Fingerprint: func(c charge) string {
			var f idem.FingerprintBuilder
			f.Int("Amount", c.Amount)
			return f.Sum()
		},
	}
}

// cards is what generated code makes of a handler with a lease, on pgx.
func cards(run func(context.Context, charge) (string, error), opts ...idem.Option) *idem.Lease[charge, string] {
	return idem.NewLease(idempgx.New(nil, nil, opts...), spec(), run)
}

// A handler with a lease is tested without a database: the pool is nil.
func ExampleInMemory() {
	calls := 0
	cards := cards(func(context.Context, charge) (string, error) {
		calls++
		return fmt.Sprintf("receipt %d", calls), nil
	}, idemtest.InMemory())

	ctx := context.Background()
	fmt.Println(cards.Do(ctx, charge{"c-1", 4200}))
	fmt.Println(cards.Do(ctx, charge{"c-1", 4200}))
	_, err := cards.Do(ctx, charge{"c-1", 9900})
	fmt.Println(errors.Is(err, idem.ErrPayloadMismatch))
	fmt.Println(calls)
	// Output:
	// receipt 1 <nil>
	// receipt 1 <nil>
	// true
	// 1
}

// In a bubble of testing/synctest a lease and a window pass at once. Two constructors with one option are two processes
// with one database.
func TestInMemory_Time(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keys := idemtest.InMemory()
		hung := make(chan struct{})
		first := cards(func(context.Context, charge) (string, error) {
			<-hung
			return "late", nil
		}, keys)
		second := cards(func(context.Context, charge) (string, error) { return "second", nil }, keys)
		c := charge{"c-1", 4200}

		done := make(chan error, 1)
		go func() {
			_, err := first.Do(t.Context(), c)
			done <- err
		}()
		time.Sleep(10 * time.Minute) // of twenty leases, each renewed
		var busy *idem.InProgressError
		if _, err := second.Do(t.Context(), c); !errors.As(err, &busy) || busy.RetryAfter <= 0 || busy.RetryAfter > 30*time.Second {
			t.Errorf("the lease is still held: %v", err)
		}
		close(hung)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got, err := second.Do(t.Context(), c); got != "late" || err != nil {
			t.Errorf("the repeat got %q, %v", got, err)
		}
		time.Sleep(24 * time.Hour)
		if got, err := second.Do(t.Context(), c); got != "second" || err != nil {
			t.Errorf("past the window: %q, %v", got, err)
		}
	})
}

// Each call of InMemory is another table.
func TestInMemory_Apart(t *testing.T) {
	t.Parallel()
	for range 2 {
		ran := false
		l := cards(func(context.Context, charge) (string, error) { ran = true; return "", nil }, idemtest.InMemory())
		if _, err := l.Do(t.Context(), charge{"c-1", 1}); err != nil || !ran {
			t.Errorf("ran: %t, %v", ran, err)
		}
	}
}

// A handler with a transaction says what to do, in each delivery, and does not run.
func TestInMemory_RefusesTransactions(t *testing.T) {
	t.Parallel()
	g := idempgx.New(nil, nil, idemtest.InMemory())
	s := spec()
	s.Lease = 0
	h := idem.NewHandler(g, s, func(context.Context, pgx.Tx, charge) (string, error) {
		t.Error("it ran")
		return "", nil
	})
	_, done := h.Do(t.Context(), charge{"c-1", 1})
	_, joined := h.InTx(t.Context(), nil, charge{"c-1", 1})
	for what, err := range map[string]error{"Do": done, "InTx": joined, "Mark": h.Mark(t.Context(), charge{"c-1", 1}, "")} {
		if err == nil || !strings.Contains(err.Error(), "idemtest.InMemory") || !strings.Contains(err.Error(), "against its database") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := g.Check(t.Context()); err != nil {
		t.Error("Check:", err)
	}
}

// Whoever is not package idemtest cannot reach below the guard.
func TestWithDriverConfig_IsForIdemtest(t *testing.T) {
	t.Parallel()
	l := cards(func(context.Context, charge) (string, error) { return "", nil }, idem.WithDriverConfig(nil))
	if _, err := l.Do(t.Context(), charge{"c-1", 1}); err == nil || !strings.Contains(err.Error(), "WithDriverConfig") {
		t.Error(err)
	}
}
