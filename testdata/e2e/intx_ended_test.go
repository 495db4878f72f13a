package e2e

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/idemmysql"
	"github.com/idemgen/idemgen/runtime/idempgx"
	"github.com/idemgen/idemgen/runtime/idemsql"
	"github.com/idemgen/idemgen/runtime/idemtest"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	litedb "github.com/idemgen/idemgen/testdata/e2e/liteshop/idemdb"
	mydb "github.com/idemgen/idemgen/testdata/e2e/myshop/idemdb"
	pgxdb "github.com/idemgen/idemgen/testdata/e2e/pgxshop/idemdb"
	stddb "github.com/idemgen/idemgen/testdata/e2e/stdshop/idemdb"
)

// The caller's transaction has ended in the database, and the caller goes on. Claim and effects would be on their own there: on
// SQLite they would be committed before the caller commits, and without what the caller has written. Nothing is done, and
// nothing can be any more.
func TestInTx_CallersTransactionHasEnded(t *testing.T) {
	for _, end := range []string{"ROLLBACK", "COMMIT"} {
		t.Run(end, func(t *testing.T) {
			eachDriver(t, func(t *testing.T, d driver) {
				for _, name := range []string{"with a result", "without"} {
					s := d.open(t, setup{})
					c := s.Begin(t)
					_, err := c.tx.Exec(t.Context(), end)
					require.NoError(t, err)
					if name == "without" {
						err = c.audit(t.Context(), order())
					} else {
						_, err = c.place(t.Context(), order())
					}
					require.ErrorIs(t, err, idem.ErrTransactionLost)
					_, err = c.tx.Exec(t.Context(), `INSERT INTO effects (what, worker) VALUES ('on its own', 'the caller')`)
					require.Error(t, err)
					require.Error(t, c.commit(t.Context()))
					assert.Zero(t, s.runs.Load())
					s.clean(t)
					s.returned(t)
				}
			})
		})
	}
}

// A transaction that the caller has ended by its methods is the same.
func TestInTx_AfterTheCallersCommit(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		c := s.Begin(t)
		require.NoError(t, c.commit(t.Context()))
		_, err := c.place(t.Context(), order())
		require.ErrorIs(t, err, idem.ErrTransactionLost)
		s.clean(t)
		s.returned(t)
	})
}

// So it is with transitions.
func TestTransition_InTxOfAnEndedTransaction(t *testing.T) {
	eachOrders(t, func(t *testing.T, o *orders) {
		ctx, id := t.Context(), o.order(t, "pending")
		for i := range 2 {
			c := o.BeginOrders(t)
			_, err := c.tx.Exec(ctx, "ROLLBACK")
			require.NoError(t, err)
			deliver := []func(context.Context, events.Moved) error{c.confirm, c.justConfirm}[i]
			require.ErrorIs(t, deliver(ctx, moved(id)), idem.ErrTransactionLost)
			require.Error(t, c.commit(ctx))
			assert.Equal(t, "pending 1", o.found(t, id))
		}
	})
}

// A deadlock in the caller's transaction that the caller has swallowed has rolled back all of it.
func TestMaria_InTxAfterASwallowedDeadlock(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		s.exec(t, `INSERT INTO stock VALUES ('a', 1), ('b', 1)`)
		const take = `UPDATE stock SET on_hand = on_hand + 1 WHERE sku = $1`
		c, rival := s.Begin(t), s.Begin(t)
		require.NoError(t, s.effect(t.Context(), c.tx, "the caller's own"))
		_, err := c.tx.Exec(t.Context(), take, "a")
		require.NoError(t, err)
		// The one that has written more is spared.
		for range 20 {
			require.NoError(t, s.effect(t.Context(), rival.tx, "the rival's own"))
		}
		_, err = rival.tx.Exec(t.Context(), take, "b")
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() {
			_, err := rival.tx.Exec(t.Context(), take, "a")
			done <- err
		}()
		eventually(t, func() bool { return s.waiting(t) == 1 })
		_, err = c.tx.Exec(t.Context(), take, "b")
		require.EqualValues(t, 1213, myNumber(err))
		require.NoError(t, <-done)
		require.NoError(t, rival.rollback(t.Context()))

		_, err = c.place(t.Context(), order())
		require.ErrorIs(t, err, idem.ErrTransactionLost)
		require.Error(t, c.commit(t.Context()))
		assert.Zero(t, s.runs.Load())
		s.clean(t)
		s.returned(t)
	})
}

// A statement that commits the caller's transaction under the handler: what came before it is committed, with an open claim, and a
// repeat gets no result of such a run.
func TestMaria_EndedInTheCallersTransaction(t *testing.T) {
	for name, end := range map[string][]string{
		"DDL":         {`CREATE TABLE ddl (i int)`},
		"COMMIT":      {`COMMIT`},
		"BEGIN":       {`BEGIN`},
		"LOCK TABLES": {`LOCK TABLES effects WRITE, idempotency_keys WRITE`, `UNLOCK TABLES`},
	} {
		t.Run(name, func(t *testing.T) {
			eachMaria(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{})
				s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
					for _, text := range end {
						if _, err := tx.Exec(ctx, text); err != nil {
							return events.Receipt{}, err
						}
					}
					return s.answer(e), nil
				}
				e := order()
				c := s.Begin(t)
				_, err := c.place(t.Context(), e)
				require.ErrorIs(t, err, idem.ErrTransactionLost)
				require.Error(t, c.commit(t.Context()))
				_, err = s.PlaceOrder(t.Context(), e)
				require.ErrorIs(t, err, idem.ErrTransactionLost)
				assert.EqualValues(t, 1, s.runs.Load())
				s.returned(t)
			})
		})
	}
}

// Two guards in one transaction, which may have one table of keys, know of each other.
func TestInTx_OfTwoGuards(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		switch {
		case d.name == "pgx":
			twoGuards(t, s, s.beginPGX, func() *idem.Guard[pgx.Tx] { return idempgx.New(s.pool, pgxdb.Store) },
				func(tx pgx.Tx) Tx { return pgxTx{tx} })
		case d.mysql:
			twoGuards(t, s, s.beginTx, func() *idem.Guard[*sql.Tx] { return idemmysql.New(s.db, mydb.Store) }, s.asTx)
		case d.postgres:
			twoGuards(t, s, s.beginTx, func() *idem.Guard[*sql.Tx] { return idemsql.New(s.db, stddb.Store) }, s.asTx)
		default:
			twoGuards(t, s, s.beginTx, func() *idem.Guard[*sql.Tx] { return idemsql.New(s.db, litedb.Store) }, s.asTx)
		}
	})
}

func (s *shop) asTx(tx *sql.Tx) Tx { return asSQL(s.driver, tx) }

func twoGuards[T any](t *testing.T, s *shop, begin func(*testing.T) idemtest.Caller[T], guard func() *idem.Guard[T], as func(T) Tx) {
	spec := idem.Spec[string]{Name: "two", Window: time.Hour, Key: func(key string) (string, error) { return key, nil }}
	fails := errors.New("it fails")
	var wrong error
	inner := idem.NewHandler(guard(), spec, idem.NoResult(func(ctx context.Context, tx T, what string) error {
		return errors.Join(s.effect(ctx, as(tx), what), wrong)
	}))
	outer := idem.NewHandler(guard(), spec, idem.NoResult(func(ctx context.Context, tx T, what string) error {
		_, err := inner.InTx(ctx, tx, what+".inner")
		require.ErrorIs(t, err, wrong)
		return s.effect(ctx, as(tx), what)
	}))

	c := begin(t)
	_, err := outer.InTx(t.Context(), c.Tx, "a")
	require.NoError(t, err)
	wrong = fails
	_, err = outer.InTx(t.Context(), c.Tx, "b")
	require.NoError(t, err, "one within it was undone alone")
	wrong = nil
	for _, key := range []string{"a", "a.inner"} {
		_, err = inner.InTx(t.Context(), c.Tx, key)
		require.ErrorIs(t, err, idem.ErrReentrant, "claimed through the other guard")
	}
	require.NoError(t, c.Commit())
	assert.Equal(t, 3, s.effects(t), "a, a.inner, b")
	assert.Len(t, s.rows(t), 3)
	s.returned(t)
}

// The names of the columns in an error are those of the table, also where the driver puts the table's name before them.
func TestMaria_ColumnsWithAlias(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{mysql: func(c *mysql.Config) { c.ColumnsWithAlias = true }})
		s.exec(t, `ALTER TABLE idempotency_keys DROP COLUMN failure`)
		s.wrong(t, []string{"failure"}, "has no column failure")
	})
}
