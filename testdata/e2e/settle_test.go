package e2e

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// seen has a statement's text go with its execution, where the proxy can see it.
func seen(set setup) setup {
	set.proxied, set.conn = true, inMode(pgx.QueryExecModeExec)
	return set
}

// loseCommit has the answer to the next COMMIT get lost; the transaction has committed by then.
func (s *shop) loseCommit() {
	switch {
	case s.postgres:
		s.proxy.Lose(commit)
	case s.mysql:
		s.wire.Lose(myCommit)
	default:
		s.hook.Lose("COMMIT")
	}
}

// breakCommit has the next COMMIT not reach the database, and its connection break. The channel is closed when that has
// happened.
func (s *shop) breakCommit(t *testing.T) <-chan struct{} {
	done := make(chan struct{})
	if s.postgres || s.mysql {
		s.beforeCommit(func() {
			defer close(done)
			s.endAll(t)
		})
		return done
	}
	s.hook.Before("COMMIT", func() {
		defer close(done)
		s.hook.Fail("COMMIT")
		s.hook.Fail("ROLLBACK")
	})
	return done
}

// beforeCommit has do run once, before the next COMMIT goes to the database server.
func (s *shop) beforeCommit(do func()) {
	if s.mysql {
		s.wire.Before(myCommit, do)
	} else {
		s.proxy.Before(commit, do)
	}
}

// beforeClaim has do run once, before the next claim goes to the database server.
func (s *shop) beforeClaim(do func()) {
	if s.mysql {
		s.wire.Before("-- name: Claim", do)
	} else {
		s.proxy.Before("ON CONFLICT", do)
	}
}

// stickInCommit has the next transaction lose its connection in COMMIT, and live on until it is let go: then it commits.
func (s *shop) stickInCommit(t *testing.T) (letGo func()) {
	t.Helper()
	if s.mysql {
		held := s.wire.Hold(myCommit)
		return func() { require.NoError(t, held.Send()) }
	}
	g := s.hold(t)
	s.proxy.CutAfter(commit)
	return g.letGo
}

// closed is a channel that nobody has to wait for.
var closed = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// both are two handlers, one with a result and one without.
func (s *shop) both(e events.OrderPlaced) []func(context.Context) (events.Receipt, error) {
	return []func(context.Context) (events.Receipt, error){
		func(ctx context.Context) (events.Receipt, error) { return s.PlaceOrder(ctx, e) },
		func(ctx context.Context) (events.Receipt, error) { return events.Receipt{}, s.AuditOrder(ctx, e) },
	}
}

// A COMMIT whose answer is lost took place: the row says so, and the delivery is a success with its own result.
func TestEffects16_CommittedWithoutAnswer(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, seen(setup{}))
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

// A COMMIT that never arrived did not take place: the key can be claimed, and the handler runs again at once.
func TestCommitNeverArrived(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, seen(setup{}))
		for i, deliver := range s.both(order()) {
			broken := s.breakCommit(t)
			_, err := deliver(t.Context())
			require.NoError(t, err)
			<-broken
			assert.Equal(t, i+1, s.effects(t))
			assert.Equal(t, 1, s.deliveries()[i].Retries)
		}
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeExecuted: 2}, s.outcomes())
		s.returned(t)
	})
}

// The row of an earlier run, past its window, is not taken for this run's, whether it is still there or replaced.
func TestCommitWithoutAnswerOverAnExpiredRow(t *testing.T) {
	for name, committed := range map[string]bool{"committed": true, "not committed": false} {
		t.Run(name, func(t *testing.T) {
			eachDriver(t, func(t *testing.T, d driver) {
				s := d.open(t, seen(setup{}))
				for i, deliver := range s.both(order()) {
					first, err := deliver(t.Context())
					require.NoError(t, err)
					s.expire(t)
					broken := closed
					if committed {
						s.loseCommit()
					} else {
						broken = s.breakCommit(t)
					}
					second, err := deliver(t.Context())
					require.NoError(t, err)
					<-broken
					if i == 0 {
						assert.NotEqual(t, first, second)
					}
					assert.Equal(t, 2*(i+1), s.effects(t))
				}
				want := map[idem.Outcome]int{idem.OutcomeExecuted: 2, idem.OutcomeSettled: 2}
				if !committed {
					want = map[idem.Outcome]int{idem.OutcomeExecuted: 4}
				}
				assert.Equal(t, want, s.outcomes())
				s.returned(t)
			})
		})
	}
}

// gate keeps transactions from their end, as a standby does that has not answered: in COMMIT, a deferred trigger wants a
// row that the gate's transaction has locked.
type gate struct {
	t  *testing.T
	tx *sql.Tx
}

// hold has the orders' transactions wait in COMMIT.
func (s *shop) hold(t *testing.T) gate {
	t.Helper()
	for _, statement := range []string{
		`CREATE TABLE gate (opened int)`,
		`INSERT INTO gate VALUES (0)`,
		`CREATE FUNCTION pass_gate() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN PERFORM 1 FROM gate FOR SHARE; RETURN NULL; END $$`,
		`CREATE CONSTRAINT TRIGGER pass_gate AFTER INSERT ON effects DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION pass_gate()`,
	} {
		s.exec(t, statement)
	}
	tx, err := s.look.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), `UPDATE gate SET opened = opened + 1`)
	require.NoError(t, err)
	return gate{t, tx}
}

func (g gate) letGo() {
	g.t.Helper()
	require.NoError(g.t, g.tx.Commit())
}

// The old transaction is still in its COMMIT when its connection breaks: asking waits for its end, and then knows. With an
// expired row under it, too.
func TestCommitWithoutAnswerWhileItLives(t *testing.T) {
	for name, expired := range map[string]bool{"a new row": false, "over an expired row": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, d := range onServers() {
				t.Run(d.name, func(t *testing.T) {
					t.Parallel()
					d.need(t)
					s := d.open(t, seen(setup{options: []idem.Option{long}}))
					e := order()
					if expired {
						_, err := s.PlaceOrder(t.Context(), e)
						require.NoError(t, err)
						s.expire(t)
					}
					before := s.effects(t)
					letGo := s.stickInCommit(t)
					placed := s.deliver(t.Context(), e)
					if d.mysql {
						s.awaitRivals(t, 1) // the one that asks for the key
					} else {
						s.awaitRivals(t, 2) // and the one in its COMMIT
					}
					letGo()
					got := <-placed
					require.NoError(t, got.err)
					assert.Equal(t, before+1, s.effects(t))
					assert.Equal(t, 1, s.outcomes()[idem.OutcomeSettled])
					again, err := s.PlaceOrder(t.Context(), e)
					require.NoError(t, err)
					assert.Equal(t, got.Receipt, again)
					s.returned(t)
				})
			}
		})
	}
}

// The old transaction does not end in time: nobody knows, and the error says so. A redelivery meets its row.
func TestCommitWithoutAnswerForGood(t *testing.T) {
	t.Parallel()
	for _, d := range onServers() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			d.need(t)
			s := d.open(t, seen(setup{options: []idem.Option{idem.WithInFlightTimeout(200 * time.Millisecond)}}))
			e := order()
			letGo := s.stickInCommit(t)
			_, err := s.PlaceOrder(t.Context(), e)
			require.ErrorIs(t, err, idem.ErrCommitUnknown)
			letGo()
			eventually(t, func() bool { return s.effects(t) == 1 })
			_, err = s.PlaceOrder(t.Context(), e)
			require.NoError(t, err)
			assert.Equal(t, 1, s.effects(t))
			assert.Equal(t, map[idem.Outcome]int{idem.OutcomeError: 1, idem.OutcomeDuplicate: 1}, s.outcomes())
			s.returned(t)
		})
	}
}

// After a COMMIT that did not take place a rival was faster: the delivery gets the rival's result.
func TestCommitWithoutAnswerAndARival(t *testing.T) {
	t.Parallel()
	for _, d := range onServers() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			d.need(t)
			s := d.open(t, seen(setup{}))
			e := order()
			var rival events.Receipt
			done := make(chan struct{})
			s.beforeCommit(func() {
				defer close(done)
				// The rival comes before the question does.
				s.beforeClaim(func() {
					var err error
					rival, err = s.PlaceOrder(t.Context(), e)
					assert.NoError(t, err)
				})
				s.endAll(t)
			})
			got, err := s.PlaceOrder(t.Context(), e)
			require.NoError(t, err)
			<-done
			assert.Equal(t, rival, got)
			assert.Equal(t, 1, s.effects(t))
			assert.Equal(t, map[idem.Outcome]int{idem.OutcomeExecuted: 1, idem.OutcomeDuplicate: 1}, s.outcomes())
			s.returned(t)
		})
	}
}

// The caller's end does not keep a COMMIT without answer from being asked about.
func TestCommitWithoutAnswerAfterTheCallersEnd(t *testing.T) {
	t.Parallel()
	for _, d := range onServers() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			d.need(t)
			s := d.open(t, seen(setup{}))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s.beforeCommit(cancel)
			s.loseCommit()
			_, err := s.PlaceOrder(ctx, order())
			require.NoError(t, err)
			assert.Equal(t, 1, s.effects(t))
			assert.Equal(t, map[idem.Outcome]int{idem.OutcomeSettled: 1}, s.outcomes())
		})
	}
}
