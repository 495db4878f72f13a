package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// pgxHandler is a PlaceOrder that gets the transaction as it is.
type pgxHandler func(ctx context.Context, tx pgx.Tx) error

// openHandler opens a shop on pgx whose PlaceOrder calls handle after its effect.
func openHandler(t *testing.T, handle pgxHandler) *shop {
	t.Helper()
	driverOf("pgx").need(t)
	s := openPGX(t, setup{})
	s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
		r, err := s.receipt(ctx, tx, e)
		if err != nil {
			return r, err
		}
		return r, handle(ctx, tx.(pgxTx).tx.(pgx.Tx))
	}
	s.auditOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) error {
		_, err := s.placeOrder(ctx, tx, e)
		return err
	}
	return s
}

// twice delivers an order twice, to a handler with a result and to one without, and wants one effect of each.
func (s *shop) twice(t *testing.T) {
	t.Helper()
	e := order()
	first, err := s.PlaceOrder(t.Context(), e)
	require.NoError(t, err)
	again, err := s.PlaceOrder(t.Context(), e)
	require.NoError(t, err)
	assert.Equal(t, first, again)
	for range 2 {
		require.NoError(t, s.AuditOrder(t.Context(), e))
	}
	assert.Equal(t, 2, s.effects(t))
	assert.Len(t, s.rows(t), 2)
	s.returned(t)
}

func TestPGXTx_NestedTransactions(t *testing.T) {
	t.Parallel()
	s := openHandler(t, func(ctx context.Context, tx pgx.Tx) error {
		kept, err := tx.Begin(ctx)
		if err != nil {
			return err
		}
		if _, err := kept.Exec(ctx, `INSERT INTO once VALUES (gen_random_uuid()::text)`); err != nil {
			return err
		}
		if err := kept.Commit(ctx); err != nil {
			return err
		}
		return errors.Join(
			pgx.BeginFunc(ctx, tx, func(deep pgx.Tx) error {
				_, err := deep.Exec(ctx, `INSERT INTO once VALUES (gen_random_uuid()::text)`)
				return err
			}),
			undo(ctx, tx),
		)
	})
	s.twice(t)
	assert.Equal(t, 4, s.count(t, `SELECT count(*) FROM once`), "two of each run, and not the one undone")
}

// undo rolls back to a savepoint, past a failed statement: the transaction goes on.
func undo(ctx context.Context, tx pgx.Tx) error {
	gone, err := tx.Begin(ctx)
	if err != nil {
		return err
	}
	if _, err := gone.Exec(ctx, `INSERT INTO once VALUES (gen_random_uuid()::text)`); err != nil {
		return err
	}
	if _, err := gone.Exec(ctx, `SELECT 1/0`); err == nil {
		return errors.New("a division by zero went well")
	}
	return gone.Rollback(ctx)
}

func TestPGXTx_LargeObjects(t *testing.T) {
	t.Parallel()
	var stored []uint32
	s := openHandler(t, func(ctx context.Context, tx pgx.Tx) error {
		objects := tx.LargeObjects()
		id, err := objects.Create(ctx, 0)
		if err != nil {
			return err
		}
		stored = append(stored, id)
		object, err := objects.Open(ctx, id, pgx.LargeObjectModeWrite|pgx.LargeObjectModeRead)
		if err != nil {
			return err
		}
		if _, err := object.Write([]byte("a receipt as an image")); err != nil {
			return err
		}
		if _, err := object.Seek(0, io.SeekStart); err != nil {
			return err
		}
		have, err := io.ReadAll(object)
		if err == nil && string(have) != "a receipt as an image" {
			err = errors.New("another text than was written")
		}
		return err
	})
	s.twice(t)
	require.Len(t, stored, 2)
	assert.Equal(t, 2, s.count(t, `SELECT sum(lo_unlink(oid)) FROM pg_largeobject_metadata WHERE oid IN ($1, $2)`, stored[0], stored[1]))
}

func TestPGXTx_CopyBatchPrepareRows(t *testing.T) {
	t.Parallel()
	s := openHandler(t, func(ctx context.Context, tx pgx.Tx) error {
		n, err := tx.CopyFrom(ctx, pgx.Identifier{"stock"}, []string{"sku", "on_hand"}, pgx.CopyFromSlice(500, func(i int) ([]any, error) {
			return []any{randomText(), int64(i)}, nil
		}))
		if err != nil || n != 500 {
			return errors.Join(err, errors.New("a copy that was cut short"))
		}
		return errors.Join(sendBatch(ctx, tx), prepare(ctx, tx))
	})
	s.twice(t)
	assert.Equal(t, 1000, s.count(t, `SELECT count(*) FROM stock`))
	assert.Equal(t, 4, s.count(t, `SELECT count(*) FROM once`))
}

func sendBatch(ctx context.Context, tx pgx.Tx) error {
	var b pgx.Batch
	b.Queue(`INSERT INTO once VALUES (gen_random_uuid()::text)`)
	b.Queue(`INSERT INTO once VALUES (gen_random_uuid()::text)`)
	b.Queue(`SELECT count(*) FROM stock`)
	return tx.SendBatch(ctx, &b).Close()
}

func prepare(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Prepare(ctx, "counted", `SELECT count(*) FROM stock WHERE on_hand >= $1`); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, "counted", 250)
	if err != nil {
		return err
	}
	_, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
	return err
}

func randomText() string { return order().OrderID.String() }

// The guard ends the transaction, not the handler; a Rollback deferred by habit does no harm.
func TestPGXTx_CommitIsRefused(t *testing.T) {
	t.Parallel()
	s := openHandler(t, func(ctx context.Context, tx pgx.Tx) error {
		if err := tx.Commit(ctx); err == nil || errors.Is(err, pgx.ErrTxClosed) {
			return errors.New("the handler could commit")
		}
		if err := tx.Rollback(ctx); err == nil || errors.Is(err, pgx.ErrTxClosed) {
			return errors.New("the handler could roll back")
		}
		_, err := tx.Exec(ctx, `INSERT INTO once VALUES (gen_random_uuid()::text)`)
		return err
	})
	s.twice(t)
	assert.Equal(t, 2, s.count(t, `SELECT count(*) FROM once`))
}

// What a handler keeps of its transaction is closed when it has returned, whether it was committed or not: nothing of it
// may reach the connection, which somebody else has by then.
func TestPGXTx_ClosedAfterReturn(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]error{"committed": nil, "rolled back": errBusiness} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var kept, nested pgx.Tx
			var objects pgx.LargeObjects
			s := openHandler(t, func(ctx context.Context, tx pgx.Tx) (err error) {
				kept, objects = tx, tx.LargeObjects()
				if nested, err = tx.Begin(ctx); err != nil {
					return err
				}
				return end
			})
			ctx := t.Context()
			for _, deliver := range []func() error{
				func() error { _, err := s.PlaceOrder(ctx, order()); return err },
				func() error { return s.AuditOrder(ctx, order()) },
			} {
				err := deliver()
				require.True(t, errors.Is(err, end), err)
				before := s.effects(t)
				for _, tx := range []pgx.Tx{kept, nested} {
					_, err = tx.Exec(ctx, `INSERT INTO effects (what, worker) VALUES ('late', 'handler')`)
					require.ErrorIs(t, err, pgx.ErrTxClosed)
					_, err = tx.Query(ctx, `SELECT 1`)
					require.ErrorIs(t, err, pgx.ErrTxClosed)
					require.ErrorIs(t, tx.QueryRow(ctx, `SELECT 1`).Scan(new(int)), pgx.ErrTxClosed)
					_, err = tx.Begin(ctx)
					require.ErrorIs(t, err, pgx.ErrTxClosed)
					require.ErrorIs(t, tx.SendBatch(ctx, &pgx.Batch{}).Close(), pgx.ErrTxClosed)
					_, err = tx.CopyFrom(ctx, pgx.Identifier{"once"}, []string{"what"}, pgx.CopyFromRows([][]any{{"late"}}))
					require.ErrorIs(t, err, pgx.ErrTxClosed)
					_, err = tx.Prepare(ctx, "late", `SELECT 1`)
					require.ErrorIs(t, err, pgx.ErrTxClosed)
					require.ErrorIs(t, tx.Commit(ctx), pgx.ErrTxClosed)
					require.ErrorIs(t, tx.Rollback(ctx), pgx.ErrTxClosed)
				}
				_, err = objects.Create(ctx, 0)
				require.ErrorIs(t, err, pgx.ErrTxClosed)
				assert.Equal(t, before, s.effects(t))
				s.returned(t)
			}
		})
	}
}

// A handler that leaves rows open would have the guard's statements fail in a way that hides why.
func TestPGXTx_RowsLeftOpen(t *testing.T) {
	t.Parallel()
	s := openHandler(t, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Query(ctx, `SELECT generate_series(1, 100000)`)
		return err
	})
	_, err := s.PlaceOrder(t.Context(), order())
	require.ErrorContains(t, err, "open")
	require.Error(t, s.AuditOrder(t.Context(), order()))
	s.clean(t)
	s.returned(t)
}

// A transaction that a handler ends behind the guard's back, by SQL text, is lost and said to be.
func TestPGXTx_EndedBySQLText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"COMMIT", "ROLLBACK"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			s := openHandler(t, func(ctx context.Context, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, text)
				return err
			})
			e := order()
			_, err := s.PlaceOrder(t.Context(), e)
			require.ErrorIs(t, err, idem.ErrTransactionLost)
			require.ErrorIs(t, s.AuditOrder(t.Context(), e), idem.ErrTransactionLost)
			s.returned(t)
			if text == "ROLLBACK" {
				s.clean(t)
				return
			}
			_, err = s.PlaceOrder(t.Context(), e)
			require.ErrorIs(t, err, idem.ErrTransactionLost, "a visible open row is no result")
			assert.Equal(t, 2, s.effects(t))
		})
	}
}

// The same on database/sql, where the handler can call Commit itself.
func TestSQLTx_EndedByTheHandler(t *testing.T) {
	t.Parallel()
	for _, d := range onSQL() {
		for _, end := range []string{"Commit", "Rollback"} {
			t.Run(d.name+" "+end, func(t *testing.T) {
				t.Parallel()
				d.need(t)
				s := d.open(t, setup{})
				s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
					r, err := s.receipt(ctx, tx, e)
					if err != nil {
						return r, err
					}
					ending := tx.(sqlTx).tx.(interface {
						Commit() error
						Rollback() error
					})
					if end == "Commit" {
						return r, ending.Commit()
					}
					return r, ending.Rollback()
				}
				e := order()
				_, err := s.PlaceOrder(t.Context(), e)
				require.ErrorIs(t, err, idem.ErrTransactionLost)
				s.returned(t)
				if end == "Rollback" {
					s.clean(t)
					return
				}
				_, err = s.PlaceOrder(t.Context(), e)
				require.ErrorIs(t, err, idem.ErrTransactionLost, "a visible open row is no result")
				assert.Equal(t, 1, s.effects(t))
			})
		}
	}
}

// The user's own lock_timeout holds in the handler, not the one of the claim's wait.
func TestPGXTx_LockTimeoutIsTheUsers(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{conn: func(c *pgx.ConnConfig) { c.RuntimeParams["lock_timeout"] = "17min" }})
		var in int64
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (_ events.Receipt, err error) {
			in, err = tx.Int(ctx, `SELECT setting::bigint FROM pg_settings WHERE name = 'lock_timeout'`)
			return s.answer(e), err
		}
		_, err := s.PlaceOrder(t.Context(), order())
		require.NoError(t, err)
		assert.EqualValues(t, 17*60*1000, in)
	})
}

// What a constraint says at COMMIT is definite, and the connection is as good as before. The isolation level is the
// guard's, whatever the server's default is.
func TestDeferredConstraint(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{conn: func(c *pgx.ConnConfig) {
			c.RuntimeParams["default_transaction_isolation"] = "serializable"
		}})
		s.exec(t, `CREATE TABLE late (what text UNIQUE DEFERRABLE INITIALLY DEFERRED)`)
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			r, err := s.receipt(ctx, tx, e)
			if err != nil {
				return r, err
			}
			serializable, err := tx.Int(ctx, `SELECT count(*) FROM pg_settings WHERE name = 'transaction_isolation' AND setting <> 'read committed'`)
			if err != nil || serializable != 0 {
				return r, errors.Join(err, errors.New("another isolation level"))
			}
			_, err = tx.Exec(ctx, `INSERT INTO late VALUES ('same')`)
			return r, err
		}
		s.auditOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) error {
			_, err := s.placeOrder(ctx, tx, e)
			return err
		}
		_, err := s.PlaceOrder(t.Context(), order())
		require.NoError(t, err)
		e := order()
		_, err = s.PlaceOrder(t.Context(), e)
		for _, err := range []error{err, s.AuditOrder(t.Context(), e)} {
			var state interface{ SQLState() string }
			require.ErrorAs(t, err, &state)
			assert.Equal(t, "23505", state.SQLState())
			assert.NotErrorIs(t, err, idem.ErrCommitUnknown)
		}
		assert.Equal(t, 1, s.effects(t))
		assert.Len(t, s.rows(t), 1)
		assert.LessOrEqual(t, s.activity(t, `true`), 1, "one connection has done for all")
	})
}

// Bytes that are no UTF-8, NUL and the like never get as far as the database in a key.
func TestKeysAreASCII(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		e := order()
		for _, tenant := range []string{"a/b", "ä\xff\x00", string(bytes.Repeat([]byte("é"), 300))} {
			e.TenantID = tenant
			for range 2 {
				_, err := s.PlaceOrder(t.Context(), e)
				require.NoError(t, err)
			}
		}
		rows := s.rows(t)
		require.Len(t, rows, 3)
		for _, r := range rows {
			assert.Regexp(t, `^[!-~]{1,265}$`, r.key)
		}
		assert.Equal(t, 3, s.effects(t))
	})
}
