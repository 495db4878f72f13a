package e2e

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/idemmysql"
	"github.com/idemgen/idemgen/runtime/idempgx"
	"github.com/idemgen/idemgen/runtime/idemsql"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	litedb "github.com/idemgen/idemgen/testdata/e2e/liteshop/idemdb"
	mydb "github.com/idemgen/idemgen/testdata/e2e/myshop/idemdb"
	pgxdb "github.com/idemgen/idemgen/testdata/e2e/pgxshop/idemdb"
	stddb "github.com/idemgen/idemgen/testdata/e2e/stdshop/idemdb"
)

// charging is a handler with a lease.
type charging = idem.Lease[events.OrderPlaced, events.Receipt]

// leased is a handler with a lease of a length that no generated one has: the shop's Charge, of another name.
func (s *shop) leased(t *testing.T, lease time.Duration, set setup) *charging {
	t.Helper()
	spec := idem.Spec[events.OrderPlaced]{
		Name: "own.Charge", Window: time.Hour, Lease: lease,
		Key: func(e events.OrderPlaced) (string, error) {
			var k idem.KeyBuilder
			k.String("TenantID", e.TenantID)
			k.UUID("OrderID", e.OrderID)
			return k.Key()
		},
		Fingerprint: func(e events.OrderPlaced) string {
			var f idem.FingerprintBuilder
			f.Int("Total", e.Total)
			return f.Sum()
		},
	}
	run := func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) { return s.cards.charge(ctx, e) }
	var onSQL *idem.Guard[*sql.Tx]
	switch {
	case s.mysql:
		onSQL = idemmysql.New(s.db, mydb.Store, s.options(set)...)
	case s.pool != nil:
		return idem.NewLease(idempgx.New(s.pool, pgxdb.Store, s.options(set)...), spec, run)
	case s.postgres:
		onSQL = idemsql.New(s.db, stddb.Store, s.options(set)...)
	case s.hook != nil:
		onSQL = idemsql.New(s.db, litedb.Store, s.options(set)...)
	default:
		require.FailNow(t, "no guard for "+s.name)
	}
	return idem.NewLease(onSQL, spec, run)
}

// charged delivers to a handler in another goroutine.
func charged(ctx context.Context, charge func(context.Context, events.OrderPlaced) (events.Receipt, error), e events.OrderPlaced) <-chan answered {
	done := make(chan answered, 1)
	go func() {
		r, err := charge(ctx, e)
		done <- answered{r, err}
	}()
	return done
}
