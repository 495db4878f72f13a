package e2e

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// A handler can end the transaction past its methods and begin another one in its place. What that one wrote has no claim,
// so it must not be committed: a redelivery would write it again.
func TestPGXTx_EndedAndBegunAgain(t *testing.T) {
	t.Parallel()
	run := func(texts ...string) pgxHandler {
		return func(ctx context.Context, tx pgx.Tx) error {
			for _, text := range texts {
				if _, err := tx.Exec(ctx, text); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for name, end := range map[string]pgxHandler{
		"statement by statement": run("ROLLBACK", "BEGIN"),
		"in a chain":             run("-- name: Undo :exec\nrollback and chain"),
		"in one text":            run("SELECT 1; ROLLBACK; BEGIN"),
		"behind a quoted text":   run("SELECT '; /*'; ROLLBACK; BEGIN"),
		"behind a comment":       run("SELECT 1 -- ; /*\n; ROLLBACK; BEGIN"),
		"by Query": func(ctx context.Context, tx pgx.Tx) error {
			rows, err := tx.Query(ctx, "ROLLBACK AND CHAIN")
			rows.Close()
			return err
		},
		"by QueryRow": func(ctx context.Context, tx pgx.Tx) error {
			if err := tx.QueryRow(ctx, "ROLLBACK AND CHAIN").Scan(); !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			return nil
		},
		"in a batch": func(ctx context.Context, tx pgx.Tx) error {
			var b pgx.Batch
			b.Queue("ROLLBACK AND CHAIN")
			return tx.SendBatch(ctx, &b).Close()
		},
		"prepared": func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Prepare(ctx, "undo", "ROLLBACK AND CHAIN"); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "undo")
			return err
		},
		"through a savepoint": func(ctx context.Context, tx pgx.Tx) error {
			nested, err := tx.Begin(ctx)
			if err != nil {
				return err
			}
			_, err = nested.Exec(ctx, "ROLLBACK AND CHAIN")
			return err
		},
		"on the connection": func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Conn().Exec(ctx, "ROLLBACK AND CHAIN")
			return err
		},
		"with large objects in hand": func(ctx context.Context, tx pgx.Tx) error {
			_ = tx.LargeObjects()
			return run("ROLLBACK AND CHAIN")(ctx, tx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openHandler(t, func(ctx context.Context, tx pgx.Tx) error {
				if err := end(ctx, tx); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, `INSERT INTO effects (what, worker) VALUES ('without a claim', 'a handler')`)
				return err
			})
			for range 2 {
				_, err := s.PlaceOrder(t.Context(), order())
				require.ErrorIs(t, err, idem.ErrTransactionLost)
				require.ErrorIs(t, s.AuditOrder(t.Context(), order()), idem.ErrTransactionLost)
			}
			s.clean(t)
			s.returned(t)
		})
	}
}

// What looks as if it ended the transaction and does not costs nothing but a check.
func TestPGXTx_NotEnded(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]pgxHandler{
		"back to a savepoint": func(ctx context.Context, tx pgx.Tx) error {
			for _, text := range []string{"SAVEPOINT a", "INSERT INTO effects (what, worker) VALUES ('in vain', '')", "ROLLBACK TO a"} {
				if _, err := tx.Exec(ctx, text); err != nil {
					return err
				}
			}
			return nil
		},
		"a quoted text": func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT 'first; commit, then'")
			return err
		},
		"a look at the connection": func(ctx context.Context, tx pgx.Tx) error {
			if _, ok := tx.Conn().TypeMap().TypeForName("uuid"); !ok {
				return errors.New("no uuid")
			}
			return nil
		},
		"a look and large objects": func(ctx context.Context, tx pgx.Tx) error {
			_, _ = tx.Conn(), tx.LargeObjects()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openHandler(t, handle)
			s.twice(t)
		})
	}
}

// The error that a handler swallowed is named, whichever way the handler met it.
func TestEffects15_SwallowedErrorIsNamed(t *testing.T) {
	t.Parallel()
	const divide = `SELECT 1 / 0`
	for name, swallow := range map[string]func(context.Context, pgx.Tx){
		"Exec":     func(ctx context.Context, tx pgx.Tx) { _, _ = tx.Exec(ctx, divide) },
		"QueryRow": func(ctx context.Context, tx pgx.Tx) { _ = tx.QueryRow(ctx, divide).Scan(new(int)) },
		"a savepoint's QueryRow": func(ctx context.Context, tx pgx.Tx) {
			if nested, err := tx.Begin(ctx); err == nil {
				_ = nested.QueryRow(ctx, divide).Scan(new(int))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openHandler(t, func(ctx context.Context, tx pgx.Tx) error {
				swallow(ctx, tx)
				_, _ = tx.Exec(ctx, `SELECT 1`) // 25P02, which says nothing
				return nil
			})
			_, err := s.PlaceOrder(t.Context(), order())
			var cause *pgconn.PgError
			require.ErrorIs(t, err, idem.ErrTransactionAborted)
			require.ErrorAs(t, err, &cause)
			assert.Equal(t, "22012", cause.Code)
			s.clean(t)
		})
	}
}

// A wait longer than lock_timeout can hold is a long wait, not an error.
func TestEffects18_EndlessWait(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		for _, wait := range []time.Duration{30 * 24 * time.Hour, math.MaxInt64} {
			s := d.open(t, setup{options: []idem.Option{idem.WithInFlightTimeout(wait)}})
			p := s.park(t)
			e := order()
			first := s.deliver(t.Context(), e)
			select {
			case <-p.reached:
			case got := <-first:
				require.FailNow(t, "it did not run", "%v", got.err)
			}
			second := s.deliver(t.Context(), e)
			s.awaitRivals(t, 1)
			p.letGo <- nil
			got := <-first
			require.NoError(t, got.err)
			again := <-second
			require.NoError(t, again.err)
			assert.Equal(t, got.Receipt, again.Receipt)
			assert.Equal(t, 1, s.effects(t))
		}
	})
}

// Rows of a writing statement that the handler left open make SQLite's COMMIT BUSY. They are the handler's own: nobody has
// to be waited for, and the connection keeps the patience that it had.
func TestLite_WritingRowsLeftOpen(t *testing.T) {
	eachSQLite(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			rows, err := tx.(sqlTx).tx.(interface {
				QueryContext(context.Context, string, ...any) (*sql.Rows, error)
			}).QueryContext(ctx, `INSERT INTO effects (what, worker) VALUES ('a', ''), ('b', '') RETURNING what`)
			if err == nil && !rows.Next() {
				err = errors.New("no row")
			}
			return s.answer(e), err
		}
		e := order()
		first, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, 1, s.hook.Busy(), "COMMIT is tried again in vain")
		again, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, first, again)
		assert.Equal(t, 2, s.effects(t))
		var patience int
		require.NoError(t, s.db.QueryRowContext(t.Context(), `PRAGMA busy_timeout`).Scan(&patience))
		assert.Zero(t, patience)
	})
}

// With a rollback journal COMMIT waits for those who read. The handler does not run again for them.
func TestLite_ReadersAreWaitedFor(t *testing.T) {
	eachSQLite(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{journal: "delete"})
		s.exec(t, `INSERT INTO effects (what, worker) VALUES ('a', ''), ('b', '')`)
		reader, err := s.look.QueryContext(t.Context(), `SELECT what FROM effects`)
		require.NoError(t, err)
		require.True(t, reader.Next())
		done := s.deliver(t.Context(), order())
		eventually(t, func() bool { return s.hook.Busy() > 0 })
		require.NoError(t, reader.Close())
		got := <-done
		require.NoError(t, got.err)
		assert.Equal(t, "run 1", got.PlacedBy)
		assert.Equal(t, 3, s.effects(t))
	})
}
