package orders

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/idemtest"

	"example.com/shop/orders/idemdb"
)

// These tests deliver events as a bad queue does: again, at once, to workers that die, over connections that break. They are
// what "idemgen generate -tests" wrote, filled in.

// openShop returns a database with the shop's tables and keys.
func openShop(t *testing.T) *sql.DB {
	t.Helper()
	pragmas := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(wal)"}}
	file := filepath.ToSlash(filepath.Join(t.TempDir(), "shop.db"))
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: file, RawQuery: pragmas.Encode()}).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := db.ExecContext(t.Context(), Schema+idemdb.Schema); err != nil {
		t.Fatal(err)
	}
	return db
}

// openIdempotentService returns what makes an IdempotentService as a worker process does when it starts.
func openIdempotentService(db *sql.DB) func(...idem.Option) *IdempotentService {
	s := &Service{Log: slog.New(slog.DiscardHandler)}
	return func(opts ...idem.Option) *IdempotentService {
		return NewIdempotentService(s, db, opts...)
	}
}

func TestServicePlaceOrderReplay(t *testing.T) {
	t.Parallel()
	db := openShop(t)
	open := openIdempotentService(db)
	idemtest.Replay(t, idemtest.Case[OrderPlaced, Receipt]{
		Handler: func(opts ...idem.Option) idemtest.Handler[OrderPlaced, Receipt] {
			return open(opts...).PlaceOrderHandler()
		},
		// The same event each time for the same i, and for another one an event of another OrderID.
		Event: func(i int) OrderPlaced {
			return OrderPlaced{OrderID: fmt.Sprintf("order-%d", i), SKU: "tea", Quantity: 2, Total: 1200}
		},
		// How many rows that Service.PlaceOrder writes are there for e.
		Effects: func(ctx context.Context, e OrderPlaced) (n int, err error) {
			err = db.QueryRowContext(ctx, `SELECT count(*) FROM orders WHERE order_id = ?`, e.OrderID).Scan(&n)
			return n, err
		},
	})
}

func TestServiceConfirmPaymentReplay(t *testing.T) {
	t.Parallel()
	db := openShop(t)
	open := openIdempotentService(db)
	idemtest.Replay(t, idemtest.Case[PaymentCaptured, struct{}]{
		Handler: func(opts ...idem.Option) idemtest.Handler[PaymentCaptured, struct{}] {
			return open(opts...).ConfirmPaymentHandler()
		},
		// The same event each time for the same i, and for another one an event of another PaymentID.
		Event: func(i int) PaymentCaptured {
			return PaymentCaptured{PaymentID: fmt.Sprintf("payment-%d", i), Customer: "customer-1", Amount: 1200}
		},
		// How many rows that Service.ConfirmPayment writes are there for e: one in the ledger, one in the outbox.
		Effects: func(ctx context.Context, e PaymentCaptured) (n int, err error) {
			err = db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM ledger WHERE payment_id = ?1) +
				(SELECT count(*) FROM outbox WHERE payment_id = ?1)`, e.PaymentID).Scan(&n)
			return n, err
		},
	})
}
