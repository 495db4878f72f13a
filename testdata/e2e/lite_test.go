package e2e

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// journals are SQLite's two ways to keep readers and the writer apart.
var journals = []string{"delete", "wal"}

// eachJournal runs a test once for each, and for each driver.
func eachJournal(t *testing.T, test func(*testing.T, *shop)) {
	eachSQLite(t, func(t *testing.T, d driver) {
		for _, journal := range journals {
			t.Run(journal, func(t *testing.T) {
				t.Parallel()
				test(t, d.open(t, setup{journal: journal, options: []idem.Option{long}}))
			})
		}
	})
}

// With a rollback journal COMMIT has to wait for readers: the guard waits too, and does not run the handler again.
func TestLite_ReaderHoldsUpCommit(t *testing.T) {
	eachJournal(t, func(t *testing.T, s *shop) {
		s.exec(t, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
			INSERT INTO effects (what, worker) SELECT i, 'nobody' FROM n`)
		reader, err := s.look.QueryContext(t.Context(), `SELECT what FROM effects`)
		require.NoError(t, err)
		require.True(t, reader.Next())

		mode, met := s.mode(t), s.hook.Busy()
		placed := s.deliver(t.Context(), order())
		if mode == "delete" {
			eventually(t, func() bool { return s.hook.Busy() > met })
		} else {
			require.NoError(t, (<-placed).err, "with a write-ahead log nobody waits")
			placed = s.deliver(t.Context(), order())
		}
		require.NoError(t, reader.Close())
		require.NoError(t, reader.Err())
		require.NoError(t, (<-placed).err)
		assert.EqualValues(t, len(s.rows(t)), s.runs.Load(), "each ran once")
	})
}

// mode is the journal's mode.
func (s *shop) mode(t *testing.T) (mode string) {
	t.Helper()
	require.NoError(t, s.look.QueryRowContext(t.Context(), `PRAGMA journal_mode`).Scan(&mode))
	return mode
}

// A handler that leaves rows open is none of the guard's business where SQLite commits all the same; where it does not,
// nothing is left. Either way the connection is good for the next.
func TestLite_RowsLeftOpen(t *testing.T) {
	eachJournal(t, func(t *testing.T, s *shop) {
		for _, query := range []string{
			`SELECT what FROM effects`,
			`INSERT INTO once (what) VALUES ('a'), ('b') RETURNING what`,
		} {
			s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				r, err := s.receipt(ctx, tx, e)
				if err != nil {
					return r, err
				}
				rows, err := tx.(sqlTx).tx.(*sql.Tx).QueryContext(ctx, query)
				if err == nil {
					rows.Next()
				}
				return r, err
			}
			before, e := s.effects(t), order()
			_, first := s.PlaceOrder(t.Context(), e)
			s.returned(t)
			if first != nil {
				assert.Equal(t, before, s.effects(t), "an error, and no effect")
			} else {
				assert.Equal(t, before+1, s.effects(t))
				_, err := s.PlaceOrder(t.Context(), e)
				require.NoError(t, err)
				assert.Equal(t, before+1, s.effects(t))
			}
		}
	})
}

// In memory there is one connection, which nobody may lose.
func TestLite_Memory(t *testing.T) {
	eachSQLite(t, testMemory)
}

func testMemory(t *testing.T, d driver) {
	s := d.open(t, setup{memory: true, options: []idem.Option{long}})
	honest := s.placeOrder
	s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
		_, err := tx.Exec(ctx, `INSERT OR ROLLBACK INTO effects (what) VALUES (NULL)`)
		assert.Error(t, err)
		return s.answer(e), nil
	}
	e := order()
	_, err := s.PlaceOrder(t.Context(), e)
	require.ErrorIs(t, err, idem.ErrTransactionLost)

	s.placeOrder = honest
	var all []<-chan answered
	for range 64 {
		all = append(all, s.deliver(t.Context(), e))
	}
	first := <-all[0]
	require.NoError(t, first.err)
	for _, one := range all[1:] {
		repeat := <-one
		require.NoError(t, repeat.err)
		assert.Equal(t, first.Receipt, repeat.Receipt)
	}
	assert.Equal(t, 1, s.effects(t))
}

// A repeat needs no lock: it gets its answer while another connection writes, even with inflight=fail. A new event is in
// progress for all that one can tell.
func TestLite_RepeatWhileAnotherWrites(t *testing.T) {
	eachJournal(t, func(t *testing.T, s *shop) {
		e := order()
		first, err := s.RushOrder(t.Context(), &e)
		require.NoError(t, err)
		writer, err := s.look.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = writer.ExecContext(t.Context(), `INSERT INTO once (what) VALUES ('written')`)
		require.NoError(t, err)

		again, err := s.RushOrder(t.Context(), &e)
		require.NoError(t, err)
		assert.Equal(t, first, again)
		fresh := order()
		_, err = s.RushOrder(t.Context(), &fresh)
		var busy *idem.InProgressError
		require.ErrorAs(t, err, &busy)
		require.NoError(t, writer.Rollback())
		_, err = s.RushOrder(t.Context(), &fresh)
		require.NoError(t, err)
		assert.Equal(t, 2, s.effects(t))
	})
}

// A context that ends in a statement of the handler.
func TestLite_ContextOverInAStatement(t *testing.T) {
	eachJournal(t, func(t *testing.T, s *shop) {
		honest := s.placeOrder
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			r, err := s.receipt(ctx, tx, e)
			if err != nil {
				return r, err
			}
			s.hook.Before("endless", cancel)
			_, err = tx.Int(ctx, `WITH RECURSIVE endless(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM endless) SELECT max(x) FROM endless`)
			return r, err
		}
		e := order()
		_, err := s.PlaceOrder(ctx, e)
		require.ErrorIs(t, err, context.Canceled)
		s.clean(t)
		s.returned(t)

		s.placeOrder = honest
		_, err = s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, 1, s.effects(t))
	})
}
