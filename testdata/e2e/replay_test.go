package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/idemtest"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/liteshop"
	"github.com/idemgen/idemgen/testdata/e2e/myshop"
	"github.com/idemgen/idemgen/testdata/e2e/pgxshop"
	"github.com/idemgen/idemgen/testdata/e2e/stdshop"
)

type (
	placing = idemtest.Handler[events.OrderPlaced, events.Receipt]
	audits  = idemtest.Handler[events.OrderPlaced, struct{}]
	rushes  = idemtest.Handler[*events.OrderPlaced, *events.Receipt]
)

// workers make handlers as a worker process does, with what the shop's handlers do.
type workers struct {
	place  func(...idem.Option) placing
	audit  func(...idem.Option) audits
	rush   func(...idem.Option) rushes
	charge func(...idem.Option) placing
	wire   func(...idem.Option) audits
}

func (s *shop) workers() workers {
	switch s.code {
	case "pgx":
		return s.pgxWorkers()
	case "std":
		return s.stdWorkers()
	case "my":
		return s.myWorkers()
	default:
		return s.liteWorkers()
	}
}

func (s *shop) pgxWorkers() workers {
	service := &pgxshop.Service{
		OnPlaceOrder: func(ctx context.Context, tx pgx.Tx, e events.OrderPlaced) (events.Receipt, error) {
			return s.placeOrder(ctx, pgxTx{tx}, e)
		},
		OnAuditOrder: func(ctx context.Context, tx pgx.Tx, e events.OrderPlaced) error {
			return s.auditOrder(ctx, pgxTx{tx}, e)
		},
		OnRushOrder: func(ctx context.Context, tx pgx.Tx, e *events.OrderPlaced) (*events.Receipt, error) {
			return s.rushOrder(ctx, pgxTx{tx}, e)
		},
	}
	return workers{
		place: func(opts ...idem.Option) placing {
			return pgxshop.NewIdempotentService(service, s.pool, opts...).PlaceOrderHandler()
		},
		audit: func(opts ...idem.Option) audits {
			return pgxshop.NewIdempotentService(service, s.pool, opts...).AuditOrderHandler()
		},
		rush: func(opts ...idem.Option) rushes {
			return pgxshop.NewIdempotentService(service, s.pool, opts...).RushOrderHandler()
		},
		charge: func(opts ...idem.Option) placing {
			return pgxshop.NewIdempotentCards(&s.cards, s.pool, opts...).ChargeHandler()
		},
		wire: func(opts ...idem.Option) audits {
			return pgxshop.NewIdempotentCards(&s.cards, s.pool, opts...).WireHandler()
		},
	}
}

func (s *shop) stdWorkers() workers {
	service := &stdshop.Service{OnPlaceOrder: s.placeSQL, OnAuditOrder: s.auditSQL, OnRushOrder: s.rushSQL}
	return workers{
		place: func(opts ...idem.Option) placing {
			return stdshop.NewIdempotentService(service, s.db, opts...).PlaceOrderHandler()
		},
		audit: func(opts ...idem.Option) audits {
			return stdshop.NewIdempotentService(service, s.db, opts...).AuditOrderHandler()
		},
		rush: func(opts ...idem.Option) rushes {
			return stdshop.NewIdempotentService(service, s.db, opts...).RushOrderHandler()
		},
		charge: func(opts ...idem.Option) placing {
			return stdshop.NewIdempotentCards(&s.cards, s.db, opts...).ChargeHandler()
		},
		wire: func(opts ...idem.Option) audits {
			return stdshop.NewIdempotentCards(&s.cards, s.db, opts...).WireHandler()
		},
	}
}

func (s *shop) liteWorkers() workers {
	service := &liteshop.Service{OnPlaceOrder: s.placeSQL, OnAuditOrder: s.auditSQL, OnRushOrder: s.rushSQL}
	return workers{
		place: func(opts ...idem.Option) placing {
			return liteshop.NewIdempotentService(service, s.db, opts...).PlaceOrderHandler()
		},
		audit: func(opts ...idem.Option) audits {
			return liteshop.NewIdempotentService(service, s.db, opts...).AuditOrderHandler()
		},
		rush: func(opts ...idem.Option) rushes {
			return liteshop.NewIdempotentService(service, s.db, opts...).RushOrderHandler()
		},
		charge: func(opts ...idem.Option) placing {
			return liteshop.NewIdempotentCards(&s.cards, s.db, opts...).ChargeHandler()
		},
		wire: func(opts ...idem.Option) audits {
			return liteshop.NewIdempotentCards(&s.cards, s.db, opts...).WireHandler()
		},
	}
}

func (s *shop) myWorkers() workers {
	service := &myshop.Service{OnPlaceOrder: s.placeSQL, OnAuditOrder: s.auditSQL, OnRushOrder: s.rushSQL}
	return workers{
		place: func(opts ...idem.Option) placing {
			return myshop.NewIdempotentService(service, s.db, opts...).PlaceOrderHandler()
		},
		audit: func(opts ...idem.Option) audits {
			return myshop.NewIdempotentService(service, s.db, opts...).AuditOrderHandler()
		},
		rush: func(opts ...idem.Option) rushes {
			return myshop.NewIdempotentService(service, s.db, opts...).RushOrderHandler()
		},
		charge: func(opts ...idem.Option) placing {
			return myshop.NewIdempotentCards(&s.cards, s.db, opts...).ChargeHandler()
		},
		wire: func(opts ...idem.Option) audits {
			return myshop.NewIdempotentCards(&s.cards, s.db, opts...).WireHandler()
		},
	}
}

func (s *shop) placeSQL(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) (events.Receipt, error) {
	return s.placeOrder(ctx, sqlTx{s.driver, tx}, e)
}

func (s *shop) auditSQL(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) error {
	return s.auditOrder(ctx, sqlTx{s.driver, tx}, e)
}

func (s *shop) rushSQL(ctx context.Context, tx *sql.Tx, e *events.OrderPlaced) (*events.Receipt, error) {
	return s.rushOrder(ctx, sqlTx{s.driver, tx}, e)
}

// replayed are the events of one replay.
func replayed() func(int) events.OrderPlaced {
	base := uuid.New()
	return func(i int) events.OrderPlaced {
		e := order()
		e.OrderID = uuid.NewSHA1(base, []byte{byte(i)})
		return e
	}
}

func pointers(make func(int) events.OrderPlaced) func(int) *events.OrderPlaced {
	return func(i int) *events.OrderPlaced {
		e := make(i)
		return &e
	}
}

// effectsOf counts an order's rows in effects.
func (s *shop) effectsOf(prefix string) func(context.Context, events.OrderPlaced) (int, error) {
	return func(ctx context.Context, e events.OrderPlaced) (n int, err error) {
		err = s.look.QueryRowContext(ctx, s.spell(`SELECT count(*) FROM effects WHERE what = $1`), prefix+e.OrderID.String()).Scan(&n)
		return n, err
	}
}

// Handlers as they should be: the harness has nothing to say, whatever they return, and whatever the database.
func TestReplay_Transactions(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		w := s.workers()
		idemtest.Replay(t, idemtest.Case[events.OrderPlaced, events.Receipt]{
			Handler: w.place, Event: replayed(), Effects: s.effectsOf(""), AtOnce: 4,
		})
		idemtest.Replay(t, idemtest.Case[events.OrderPlaced, struct{}]{
			Handler: w.audit, Event: replayed(), Effects: s.effectsOf("audit "), AtOnce: 4,
		})
		count := s.effectsOf("")
		idemtest.Replay(t, idemtest.Case[*events.OrderPlaced, *events.Receipt]{
			Handler: w.rush, Event: pointers(replayed()), AtOnce: 4,
			Effects: func(ctx context.Context, e *events.OrderPlaced) (int, error) { return count(ctx, *e) },
		})
		s.returned(t)
	})
}

// Leases as they should be, before an outside system that knows a charge by its key: one that is retried and one that is parked.
func TestReplay_Leases(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		w := s.workers()
		bank := &bank{charges: map[string]string{}}
		s.cards.charge = func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
			if err := bank.charge(ctx, e); err != nil {
				return events.Receipt{}, err
			}
			return s.answer(e), nil
		}
		s.cards.wire = bank.charge
		idemtest.Replay(t, idemtest.Case[events.OrderPlaced, events.Receipt]{
			Handler: w.charge, Event: replayed(), Effects: bank.count, AtOnce: 4,
		})
		require.Greater(t, bank.calls, len(bank.charges), "the outside is called again where a record is lost")
		idemtest.Replay(t, idemtest.Case[events.OrderPlaced, struct{}]{
			Handler: w.wire, Event: replayed(), Effects: bank.count, AtOnce: 4,
		})
		var parked int
		for _, r := range s.rows(t) {
			if r.state == "parked" {
				parked++
			}
		}
		require.Equal(t, 2, parked, "the worker that died, and the lease that was lost")
		s.returned(t)
	})
}

// A handler may leave as many effects as it likes, if they are always as many; here two.
func TestReplay_SeveralEffects(t *testing.T) {
	t.Parallel()
	s := openLite(t, setup{})
	s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
		if err := s.effect(ctx, tx, e.OrderID.String()); err != nil {
			return events.Receipt{}, fmt.Errorf("a second effect: %w", err)
		}
		return s.receipt(ctx, tx, e)
	}
	idemtest.Replay(t, idemtest.Case[events.OrderPlaced, events.Receipt]{
		Handler: s.workers().place, Event: replayed(), Effects: s.effectsOf(""),
	})
}
