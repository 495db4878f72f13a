package e2e

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/bouncer"
	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// poolerModes are the ways in which a driver can speak through a PgBouncer that pools transactions: what one statement prepares,
// the next one may not find.
func (d driver) poolerModes() []pgx.QueryExecMode {
	if d.name == "pq" {
		return []pgx.QueryExecMode{pgx.QueryExecModeExec}
	}
	return []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol}
}

// eachPooled runs a test once for each driver of PostgreSQL and mode, through PgBouncer.
func eachPooled(t *testing.T, test func(*testing.T, driver, setup)) {
	eachPostgres(t, func(t *testing.T, d driver) {
		if pooler == nil {
			t.Skip("left out: no PgBouncer")
		}
		for _, mode := range d.poolerModes() {
			t.Run(mode.String(), func(t *testing.T) {
				t.Parallel()
				test(t, d, setup{pooler: pooler, options: []idem.Option{long}, conn: inMode(mode)})
			})
		}
	})
}

// All that a row can be to a delivery, and a crowd of deliveries that is larger than the pool.
func TestEffects31_TransactionPooling(t *testing.T) {
	eachPooled(t, func(t *testing.T, d driver, set setup) {
		s := d.open(t, set)
		s.everything(t)
	})
}

func TestEffects31_TransactionPooling_Crowd(t *testing.T) {
	eachPooled(t, func(t *testing.T, d driver, set setup) {
		d.open(t, set).crowd(t)
	})
}

func TestEffects31_TransactionPooling_Leases(t *testing.T) {
	eachPooled(t, func(t *testing.T, d driver, set setup) {
		s := d.open(t, set)
		a := s.charging(t)
		orders := []events.OrderPlaced{order(), order(), order()}
		var all sync.WaitGroup
		for range 8 {
			for _, e := range orders {
				all.Go(func() {
					_, err := s.Charge(t.Context(), e)
					assert.NoError(t, err)
				})
			}
		}
		all.Wait()
		assert.Equal(t, len(orders), a.count(t, "call"))

		// One that lasts for several leases is renewed on whichever connections there are.
		reached, letGo := make(chan struct{}), make(chan struct{})
		s.cards.charge = parkedCharge(s.cards.charge, reached, letGo)
		done := make(chan error, 1)
		go func() {
			_, err := s.Charge(t.Context(), order())
			done <- err
		}()
		<-reached
		running := `SELECT coalesce(max((extract(epoch FROM lease_until) * 1000000)::bigint), 0) FROM idempotency_keys WHERE state = 'running'`
		first := s.count(t, running)
		eventually(t, func() bool { return s.count(t, running) > first+1_500_000 })
		close(letGo)
		require.NoError(t, <-done)
		assert.Equal(t, len(orders)+1, a.count(t, "call"))
		_, fences := s.states(t)
		assert.Equal(t, len(orders)+1, fences)
		s.returned(t)
	})
}

// A COMMIT whose answer is lost on its way from PgBouncer is asked about through PgBouncer.
func TestEffects31_TransactionPooling_CommitWithoutAnswer(t *testing.T) {
	eachPooled(t, func(t *testing.T, d driver, set setup) {
		set.proxied = true
		s := d.open(t, set)
		for i, deliver := range s.both(order()) {
			s.loseCommit()
			first, err := deliver(t.Context())
			require.NoError(t, err)
			again, err := deliver(t.Context())
			require.NoError(t, err)
			assert.Equal(t, first, again)
			assert.Equal(t, i+1, s.effects(t))
		}
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeSettled: 2, idem.OutcomeDuplicate: 2}, s.outcomes())
		s.returned(t)
	})
}

// Nothing of a delivery stays on a connection that the next client gets, however the delivery ended. There is one connection to
// the server, so that a bystander gets the one that the delivery had; its lock_timeout is the database's.
func TestEffects31_NothingLeaksToOtherClients(t *testing.T) {
	eachPooled(t, func(t *testing.T, d driver, set setup) {
		single, err := bouncer.Start(t.Context(), server.DSN, 1)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, single.Stop()) })
		set.pooler, set.database = single, []string{"SET lock_timeout = '47s'"}
		set.options = []idem.Option{idem.WithInFlightTimeout(300 * time.Millisecond)}
		s := d.open(t, set)
		bystander := s.bystander(t, single)

		ends := map[string]func(context.Context, Tx, events.OrderPlaced) (events.Receipt, error){
			"commit": s.placeOrder,
			"error": func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				r, err := s.receipt(ctx, tx, e)
				if err == nil {
					err = errBusiness
				}
				return r, err
			},
			"permanent": func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				return events.Receipt{}, idem.Permanent(errBusiness)
			},
			"a statement that fails": func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				_, err := tx.Exec(ctx, `INSERT INTO effects (what) VALUES (NULL)`)
				return events.Receipt{}, err
			},
			"swallowed": func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				_, err := tx.Exec(ctx, `INSERT INTO effects (what) VALUES (NULL)`)
				assert.Error(t, err)
				return events.Receipt{}, nil
			},
		}
		for name, end := range ends {
			s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				n, err := tx.Int(ctx, `SELECT setting::bigint FROM pg_settings WHERE name = 'lock_timeout'`)
				assert.NoError(t, err)
				assert.EqualValues(t, 47_000, n, "in the handler")
				return end(ctx, tx, e)
			}
			e := order()
			for range 2 { // the second is a repeat where the first was recorded
				_, _ = s.PlaceOrder(t.Context(), e)
				assert.Equal(t, 47_000, bystander(), name)
			}
		}
		s.placeOrder = ends["commit"]

		// A rival that has waited in vain, with its own bound on the wait.
		blocker := order()
		_, err = s.PlaceOrder(t.Context(), blocker)
		require.NoError(t, err)
		s.expire(t)
		lock, err := s.look.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = lock.ExecContext(t.Context(), `UPDATE idempotency_keys SET fence = fence`)
		require.NoError(t, err)
		_, err = s.RushOrder(t.Context(), &blocker)
		require.NoError(t, err, "another handler's key")
		waiting := s.deliver(t.Context(), blocker)
		require.ErrorAs(t, (<-waiting).err, new(*idem.InProgressError))
		require.NoError(t, lock.Rollback())
		assert.Equal(t, 47_000, bystander(), "a wait that was over")

		a := s.charging(t)
		_, err = s.Charge(t.Context(), order())
		require.NoError(t, err)
		assert.Equal(t, 1, a.count(t, "call"))
		c := s.Begin(t)
		_, err = c.place(t.Context(), order())
		require.NoError(t, err)
		require.NoError(t, c.commit(t.Context()))
		assert.Equal(t, 47_000, bystander(), "a lease and a joined delivery")
		s.returned(t)
	})
}

// bystander returns what another client of the PgBouncer sees as its lock_timeout, in the shop's database.
func (s *shop) bystander(t *testing.T, b *bouncer.Server) func() int {
	t.Helper()
	config, err := pgx.ParseConfig(server.DSN)
	require.NoError(t, err)
	config.Host, config.Port, config.Fallbacks, config.Database = b.Host, b.Port, nil, s.place
	inMode(pgx.QueryExecModeSimpleProtocol)(config)
	db := eyes(t, config)
	return func() (n int) {
		t.Helper()
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT setting::bigint FROM pg_settings WHERE name = 'lock_timeout'`).Scan(&n))
		return n
	}
}
