package e2e

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// abroad is a database whose error texts nobody can go by.
func (s *shop) abroad() {
	switch {
	case s.postgres:
		s.proxy.Translate()
	case s.mysql:
		s.wire.Translate()
	default:
		s.hook.Translate()
	}
}

func TestEffects14_ErrorsInAnotherLanguage(t *testing.T) {
	t.Run("a rival that commits", func(t *testing.T) {
		eachLevel(t, func(t *testing.T, d driver, level sql.IsolationLevel) {
			s := d.open(t, setup{proxied: true, options: []idem.Option{idem.WithIsolation(level), long}})
			s.abroad()
			winner := s.park(t)
			e := order()
			first := s.deliver(t.Context(), e)
			<-winner.reached
			second := s.deliver(t.Context(), e)
			s.awaitRivals(t, 1)
			winner.letGo <- nil
			won, repeat := <-first, <-second
			require.NoError(t, won.err)
			require.NoError(t, repeat.err)
			assert.Equal(t, won.Receipt, repeat.Receipt)
			assert.Equal(t, 1, s.effects(t))
		})
	})
	t.Run("a rival that stays", func(t *testing.T) {
		eachLevel(t, func(t *testing.T, d driver, level sql.IsolationLevel) {
			s := d.open(t, setup{proxied: true, options: []idem.Option{idem.WithIsolation(level), idem.WithInFlightTimeout(50 * time.Millisecond)}})
			s.abroad()
			winner := s.park(t)
			e := order()
			first := s.deliver(t.Context(), e)
			<-winner.reached
			lost := <-s.deliver(t.Context(), e)
			var busy *idem.InProgressError
			require.ErrorAs(t, lost.err, &busy)
			assert.Contains(t, busy.Error(), "нечто пошло не так", "the database's own words")
			winner.letGo <- nil
			require.NoError(t, (<-first).err)
		})
	})
	t.Run("a conflict in the handler", func(t *testing.T) {
		eachPostgres(t, func(t *testing.T, d driver) {
			s := d.open(t, setup{proxied: true, options: []idem.Option{idem.WithIsolation(sql.LevelRepeatableRead)}})
			s.abroad()
			s.exec(t, `INSERT INTO stock (sku, on_hand) VALUES ('tea', 0)`)
			ran := 0
			s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				if ran++; ran == 1 {
					s.exec(t, `UPDATE stock SET on_hand = on_hand + 1`)
				}
				_, err := tx.Exec(ctx, `UPDATE stock SET on_hand = on_hand + 1`)
				return s.answer(e), err
			}
			_, err := s.PlaceOrder(t.Context(), order())
			require.NoError(t, err)
			assert.Equal(t, 2, ran)
			assert.Equal(t, 2, s.count(t, `SELECT on_hand FROM stock`))
		})
	})
	t.Run("a swallowed error", func(t *testing.T) {
		eachPostgres(t, func(t *testing.T, d driver) {
			s := d.open(t, setup{proxied: true})
			s.abroad()
			s.swallow(t)
			_, err := s.PlaceOrder(t.Context(), order())
			require.ErrorIs(t, err, idem.ErrTransactionAborted)
			s.clean(t)
		})
	})
}

// swallow has the handler go on after a statement that failed.
func (s *shop) swallow(t *testing.T) {
	s.exec(t, `INSERT INTO once (what) VALUES ('there already')`)
	s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
		r, err := s.receipt(ctx, tx, e)
		if err != nil {
			return r, err
		}
		_, err = tx.Exec(ctx, `INSERT INTO once (what) VALUES ('there already')`)
		assert.Error(t, err)
		return r, nil
	}
	s.auditOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) error {
		_, err := s.placeOrder(ctx, tx, e)
		return err
	}
}

// PostgreSQL answers COMMIT with ROLLBACK in an aborted transaction: no handler may look committed then.
func TestEffects15_SwallowedError(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		honest, honestAudit := s.placeOrder, s.auditOrder
		s.swallow(t)
		e := order()
		got, err := s.PlaceOrder(t.Context(), e)
		require.ErrorIs(t, err, idem.ErrTransactionAborted)
		assert.Zero(t, got)
		require.ErrorIs(t, s.AuditOrder(t.Context(), e), idem.ErrTransactionAborted, "without a result")
		s.clean(t)
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeError: 2}, s.outcomes())
		s.returned(t)

		s.placeOrder, s.auditOrder = honest, honestAudit
		_, err = s.PlaceOrder(t.Context(), e)
		require.NoError(t, err, "the redelivery runs, on a connection that is as new")
		require.NoError(t, s.AuditOrder(t.Context(), e))
		assert.Equal(t, 2, s.effects(t))
	})
}

// SQLite undoes the statement that failed and nothing else: what the handler goes on with is committed, as it would be
// without idemgen. Where the statement says OR ROLLBACK it ends the transaction, with the claim in it, under the handler.
func TestEffects15_SwallowedErrorOnSQLite(t *testing.T) {
	eachSQLite(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		s.swallow(t)
		e := order()
		first, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		again, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, first, again)
		assert.Equal(t, 1, s.effects(t))

		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			_, err := tx.Exec(ctx, `INSERT OR ROLLBACK INTO once (what) VALUES ('there already')`)
			assert.Error(t, err)
			return s.answer(e), nil
		}
		lost := order()
		for range 2 {
			_, err = s.PlaceOrder(t.Context(), lost)
			require.ErrorIs(t, err, idem.ErrTransactionLost)
		}
		assert.Equal(t, 1, s.effects(t))
		assert.Len(t, s.rows(t), 1, "no row of the lost one")
		s.returned(t)
	})
}

func TestEffects19_HandlerDoesNotReturn(t *testing.T) {
	for name, leave := range map[string]func(){
		"panic":       func() { panic("the handler's own") },
		"nil panic":   func() { panic(nil) }, //nolint:govet // Go turns it into a *runtime.PanicNilError
		"Goexit":      runtime.Goexit,
		"error":       nil,
		"ctx is over": nil,
	} {
		t.Run(name, func(t *testing.T) {
			eachDriver(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{})
				honest := s.placeOrder
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
					r, err := s.receipt(ctx, tx, e)
					if err != nil {
						return r, err
					}
					switch {
					case leave != nil:
						leave()
					case name == "error":
						return r, errBusiness
					default:
						cancel()
					}
					return r, nil
				}
				e := order()
				left, err := outside(func() error {
					_, err := s.PlaceOrder(ctx, e)
					return err
				})
				switch name {
				case "panic":
					assert.Equal(t, "the handler's own", left)
				case "nil panic":
					assert.IsType(t, &runtime.PanicNilError{}, left)
				case "Goexit":
					assert.Equal(t, exited, left)
				case "error":
					assert.Same(t, errBusiness, err)
				default:
					require.ErrorIs(t, err, context.Canceled)
				}
				s.clean(t)
				s.returned(t)
				assert.Equal(t, map[idem.Outcome]int{idem.OutcomeError: 1}, s.outcomes())

				s.placeOrder = honest
				got, err := s.PlaceOrder(t.Context(), e)
				require.NoError(t, err)
				assert.Equal(t, "run 2", got.PlacedBy)
				assert.Equal(t, 1, s.effects(t))
			})
		})
	}
}

// exited is what outside returns for a goroutine that ended without a panic.
const exited = "runtime.Goexit"

// outside calls f in a goroutine of its own and says how it was left: by nothing (nil), by Goexit, or by a panic, as
// recovered.
func outside(f func() error) (left any, err error) {
	done := make(chan struct{})
	go func() {
		left = exited
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				left = r
			}
		}()
		err = f()
		left = nil
	}()
	<-done
	return left, err
}

// A context that is over before the delivery claims nothing.
func TestEffects19_ContextOverBefore(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.PlaceOrder(ctx, order())
		require.ErrorIs(t, err, context.Canceled)
		s.clean(t)
		assert.Zero(t, s.runs.Load())
		s.returned(t)
	})
}

// A context that ends in a statement of the handler.
func TestEffects19_ContextOverInAStatement(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		honest := s.placeOrder
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			r, err := s.receipt(ctx, tx, e)
			if err != nil {
				return r, err
			}
			_, err = tx.Exec(ctx, `SELECT pg_sleep(600)`)
			return r, err
		}
		e := order()
		asleep := s.deliver(ctx, e)
		eventually(t, func() bool {
			return s.activity(t, `wait_event = 'PgSleep'`) == 1
		})
		cancel()
		err := (<-asleep).err
		var state interface{ SQLState() string }
		if d.name == "pq" && errors.As(err, &state) { // the handler's own error: lib/pq's is the server's word
			assert.Equal(t, "57014", state.SQLState())
		} else {
			require.ErrorIs(t, err, context.Canceled)
		}
		s.returned(t)

		s.placeOrder = honest
		_, err = s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, 1, s.effects(t))
		assert.Len(t, s.rows(t), 1)
	})
}
