package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// The level that a guard asks for is the one that its handlers get. What is tested at each level would hold at the default one
// too, and not tell the difference.
func TestIsolation_IsTheGuards(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		for level, want := range map[sql.IsolationLevel]string{
			sql.LevelDefault: "read committed", sql.LevelReadCommitted: "read committed",
			sql.LevelRepeatableRead: "repeatable read", sql.LevelSerializable: "serializable",
		} {
			s := d.open(t, setup{options: []idem.Option{idem.WithIsolation(level)}})
			s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				n, err := tx.Int(ctx, `SELECT count(*) FROM pg_settings WHERE name = 'transaction_isolation' AND setting = $1`, want)
				if err == nil && n != 1 {
					err = fmt.Errorf("%s is not %q", level, want)
				}
				if err != nil {
					return events.Receipt{}, err
				}
				return s.receipt(ctx, tx, e)
			}
			e := order()
			_, err := s.PlaceOrder(t.Context(), e)
			require.NoError(t, err)
			// Over an expired row the transaction is another one's.
			s.expire(t)
			_, err = s.PlaceOrder(t.Context(), e)
			require.NoError(t, err)
			assert.Equal(t, 2, s.effects(t))
		}
	})
}

// On MariaDB a transaction's level shows in what it reads: at READ COMMITTED what others have committed meanwhile, at REPEATABLE
// READ what was there at its first look.
func TestIsolation_IsTheGuardsOnMaria(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		for level, sees := range map[sql.IsolationLevel]int64{
			sql.LevelDefault: 1, sql.LevelReadCommitted: 1, sql.LevelRepeatableRead: 0,
		} {
			s := d.open(t, setup{options: []idem.Option{idem.WithIsolation(level)}})
			s.exec(t, `INSERT INTO stock (sku, on_hand) VALUES ('tea', 0)`)
			s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				const look = `SELECT on_hand FROM stock WHERE sku = 'tea'`
				if _, err := tx.Int(ctx, look); err != nil {
					return events.Receipt{}, err
				}
				s.exec(t, `UPDATE stock SET on_hand = 1 WHERE sku = 'tea'`)
				n, err := tx.Int(ctx, look)
				if err == nil && n != sees {
					err = fmt.Errorf("at %s it sees %d", level, n)
				}
				if err != nil {
					return events.Receipt{}, err
				}
				return s.receipt(ctx, tx, e)
			}
			_, err := s.PlaceOrder(t.Context(), order())
			require.NoError(t, err)
			assert.Equal(t, 1, s.effects(t))
		}
	})
}
