package orders

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"

	"github.com/idemgen/idemgen/runtime/idem"
)

// What a program does around its handlers, as docs/operating.md and docs/getting-started.md show it.

// outcomes counts deliveries by handler and outcome. In a program it is a counter with these two labels.
type outcomes struct {
	mu sync.Mutex
	n  map[string]int
}

func (o *outcomes) Observe(_ context.Context, d idem.Delivery) {
	outcome := string(d.Outcome)
	switch {
	case errors.Is(d.Err, idem.ErrParked):
		outcome = "parked"
	case errors.Is(d.Err, idem.ErrTransactionLost):
		outcome = "transaction_lost"
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.n[d.Handler+" "+outcome]++
}

// start guards the service for a program that begins: it does not begin without its table, and the janitor that it returns is
// to be run beside the deliveries.
func start(ctx context.Context, service *Service, db *sql.DB, o idem.Observer) (*IdempotentService, *idem.Janitor, error) {
	guarded := NewIdempotentService(service, db, idem.WithObserver(o))
	if err := guarded.Guard().Check(ctx); err != nil {
		return nil, nil, err
	}
	janitor := idem.NewJanitor(guarded.Guard(), idem.WithSweepReport(func(ctx context.Context, round idem.Sweep) {
		if round.Err != nil {
			service.Log.ErrorContext(ctx, "keys not cleared", "error", round.Err)
		}
	}))
	return guarded, janitor, nil
}

// backfill records the orders that were booked before there were keys.
func backfill(ctx context.Context, db *sql.DB, guarded *IdempotentService) (err error) {
	rows, err := db.QueryContext(ctx, `SELECT number, order_id, total FROM orders`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r Receipt
		var e OrderPlaced
		if err := rows.Scan(&r.Number, &e.OrderID, &e.Total); err != nil {
			return err
		}
		r.Total = e.Total
		if err := guarded.PlaceOrderHandler().Mark(ctx, e, r); err != nil {
			return fmt.Errorf("mark order %s: %w", e.OrderID, err)
		}
	}
	return rows.Err()
}

func TestStart(t *testing.T) {
	t.Parallel()
	db := openShop(t)
	service := &Service{Log: slog.New(slog.DiscardHandler)}
	seen := &outcomes{n: map[string]int{}}
	guarded, janitor, err := start(t.Context(), service, db, seen)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := guarded.PlaceOrder(t.Context(), OrderPlaced{OrderID: "a", SKU: "tea", Quantity: 1, Total: 600}); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]int{"orders.Service.PlaceOrder executed": 1, "orders.Service.PlaceOrder duplicate": 1}
	if !maps.Equal(seen.n, want) {
		t.Errorf("seen %v, want %v", seen.n, want)
	}

	// An hour past its window, the row goes.
	if _, err := db.ExecContext(t.Context(), `UPDATE idempotency_keys SET expires_at = expires_at - 25 * 3600 * 1000000`); err != nil {
		t.Fatal(err)
	}
	if round, err := janitor.Once(t.Context()); err != nil || round.Removed != 1 {
		t.Errorf("removed %d: %v", round.Removed, err)
	}

	if _, err := db.ExecContext(t.Context(), `DROP TABLE idempotency_keys`); err != nil {
		t.Fatal(err)
	}
	var table *idem.TableError
	if _, _, err := start(t.Context(), service, db, seen); !errors.As(err, &table) {
		t.Errorf("without the table: %v", err)
	}
}

// A program that has handled events without keys: first in the shadow, then with the old ones recorded, then guarded.
func TestAdoption(t *testing.T) {
	t.Parallel()
	db := openShop(t)
	service := &Service{Log: slog.New(slog.DiscardHandler)}
	seen := &outcomes{n: map[string]int{}}
	count := func() (n int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM orders`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	old := OrderPlaced{OrderID: "old", SKU: "tea", Quantity: 1, Total: 600}
	if err := (unguardedService{service, db}).place(t.Context(), old); err != nil {
		t.Fatal(err)
	}

	shadow := NewIdempotentService(service, db, idem.WithShadow(), idem.WithObserver(seen))
	for range 2 {
		if _, err := shadow.PlaceOrder(t.Context(), OrderPlaced{OrderID: "seen", SKU: "tea", Quantity: 1, Total: 600}); err != nil {
			t.Fatal(err)
		}
	}
	if count() != 3 || seen.n["orders.Service.PlaceOrder duplicate"] != 1 {
		t.Errorf("%d orders, seen %v", count(), seen.n)
	}

	guarded := NewIdempotentService(service, db)
	for range 2 {
		if err := backfill(t.Context(), db, guarded); err != nil {
			t.Fatal(err)
		}
	}
	receipt, err := guarded.PlaceOrder(t.Context(), old)
	if err != nil || receipt.Total != 600 {
		t.Errorf("%v, %v", receipt, err)
	}
	if count() != 3 {
		t.Errorf("%d orders", count())
	}
}

// unguardedService is how the program called the service before.
type unguardedService struct {
	*Service
	db *sql.DB
}

func (u unguardedService) place(ctx context.Context, e OrderPlaced) error {
	tx, err := u.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := u.PlaceOrder(ctx, tx, e); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
