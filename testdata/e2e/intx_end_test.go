package e2e

import (
	"context"
	"database/sql"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/idempgx"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	pgxdb "github.com/idemgen/idemgen/testdata/e2e/pgxshop/idemdb"
)

// lateTx is a transaction whose user's context is over when a savepoint is to be released, and not before.
type lateTx struct {
	pgx.Tx
	cancel context.CancelFunc
}

func (l lateTx) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	if strings.HasPrefix(query, "release") {
		l.cancel()
	}
	return l.Tx.Exec(ctx, query, args...)
}

// A context that is over between the handler's return and the savepoint's end no longer counts: an error would say that
// nothing of the run is in the caller's transaction.
func TestInTx_ContextOverAtTheEnd(t *testing.T) {
	t.Parallel()
	driverOf("pgx").need(t)
	s := driverOf("pgx").open(t, setup{})
	spec := idem.Spec[string]{Name: "late", Window: time.Hour, Key: func(key string) (string, error) { return key, nil }}
	handler := idem.NewHandler(idempgx.New(s.pool, pgxdb.Store), spec, idem.NoResult(func(ctx context.Context, tx pgx.Tx, what string) error {
		return s.effect(ctx, pgxTx{tx}, what)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tx, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = handler.InTx(ctx, lateTx{tx, cancel}, "a")
	require.NoError(t, err)
	require.Error(t, ctx.Err())
	require.NoError(t, tx.Commit(t.Context()))
	assert.Equal(t, 1, s.effects(t))
	assert.Len(t, s.rows(t), 1)
}

// openRows makes both handlers leave rows open, after their effect. They are closed by the function that it returns.
func (s *shop) openRows() (closeRows func()) {
	var left []io.Closer
	s.auditOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) error {
		if err := s.effect(ctx, tx, e.OrderID.String()); err != nil {
			return err
		}
		const query = `SELECT generate_series(1, 100000)`
		switch tx := tx.(type) {
		case pgxTx:
			rows, err := tx.tx.(pgx.Tx).Query(ctx, query)
			left = append(left, closing(rows.Close))
			return err
		default:
			rows, err := tx.(sqlTx).tx.(*sql.Tx).QueryContext(ctx, query)
			left = append(left, closing(func() { _ = rows.Close() }))
			return err
		}
	}
	s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
		return s.answer(e), s.auditOrder(ctx, tx, e)
	}
	return func() {
		for _, rows := range left {
			_ = rows.Close()
		}
	}
}

// closing is a function as an io.Closer.
type closing func()

func (c closing) Close() error { c(); return nil }

// A handler that left rows open cannot be undone alone, since nothing can be sent: then all of the caller's transaction is,
// and it cannot be committed with the run in it that has returned an error.
func TestInTx_RowsLeftOpen(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		for _, name := range []string{"with a result", "without"} {
			t.Run(name, func(t *testing.T) {
				s := d.open(t, setup{})
				closeRows := s.openRows()
				c := s.Begin(t)
				require.NoError(t, s.effect(t.Context(), c.tx, "the caller's own"))
				var err error
				if name == "without" {
					err = c.audit(t.Context(), order())
				} else {
					_, err = c.place(t.Context(), order())
				}
				require.Error(t, err)
				closeRows()
				require.Error(t, c.commit(t.Context()))
				s.clean(t)
				s.returned(t)
			})
		}
	})
}

// A handler that ends the caller's transaction by SQL text and begins another one is found out, and what it has begun is not
// committed.
func TestInTx_EndedAndBegunAgain(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		for _, name := range []string{"with a result", "without"} {
			t.Run(name, func(t *testing.T) {
				s := d.open(t, setup{})
				s.auditOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) error {
					for _, text := range []string{"ROLLBACK", "BEGIN"} {
						if _, err := tx.Exec(ctx, text); err != nil {
							return err
						}
					}
					return s.effect(ctx, tx, e.OrderID.String())
				}
				s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
					return s.answer(e), s.auditOrder(ctx, tx, e)
				}
				c := s.Begin(t)
				var err error
				if name == "without" {
					err = c.audit(t.Context(), order())
				} else {
					_, err = c.place(t.Context(), order())
				}
				require.ErrorIs(t, err, idem.ErrTransactionLost)
				require.Error(t, c.commit(t.Context()))
				s.clean(t)
				s.returned(t)
			})
		}
	})
}

// Many repeats in one transaction leave no savepoints behind: each would be one more level of it.
func TestInTx_RepeatsLeaveNoSavepoints(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		e := order()
		_, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		c := s.Begin(t)
		_, err = c.tx.Exec(t.Context(), `SAVEPOINT mine`)
		require.NoError(t, err)
		levels := func() int64 {
			// A subtransaction gets its number when it first writes, and its parents get theirs before it: nothing between
			// the two numbers means that there is nothing between the two levels.
			require.NoError(t, s.effect(t.Context(), c.tx, "levels"))
			n, err := c.tx.Int(t.Context(), `SELECT max(xmin::text::bigint) - min(xmin::text::bigint) FROM effects WHERE what = 'levels'`)
			require.NoError(t, err)
			return n
		}
		require.Zero(t, levels())
		for range 3 {
			_, err := c.place(t.Context(), e)
			require.NoError(t, err)
		}
		assert.Zero(t, levels())
		require.NoError(t, c.commit(t.Context()))
		s.returned(t)
	})
}
