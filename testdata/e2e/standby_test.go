package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/pgtest"
)

// newCluster makes a PostgreSQL of the test's own, and starts it.
func newCluster(t *testing.T, settings pgtest.Settings) *pgtest.Cluster {
	t.Helper()
	if clusters != nil {
		t.Skip("left out: " + clusters.Error())
	}
	c, err := pgtest.NewCluster(t.Context(), settings)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Remove()) })
	require.NoError(t, c.Start(t.Context()))
	return c
}

// A COMMIT that waits for a synchronous standby, which is away: the transaction has committed, nobody can see it, and the client
// has no answer. However that ends, the event does not run a second time and is not lost.
func TestEffects16_SynchronousStandby(t *testing.T) {
	t.Parallel()
	primary := newCluster(t, pgtest.Settings{"fsync": "off"})
	standby, err := primary.Standby(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, standby.Remove()) })
	require.NoError(t, standby.Start(t.Context()))

	var shops []*shop
	for _, d := range onPostgres() {
		shops = append(shops, d.open(t, seen(setup{cluster: primary, options: []idem.Option{long}})))
	}
	shops[0].waitForStandby(t)
	require.NoError(t, standby.Stop())

	var all []waitingCommit
	for _, s := range shops {
		all = append(all, s.terminatedCommit(t))
	}
	for _, s := range shops {
		all = append(all, waitingCommit{s, overdue, order(), nil})
		last := &all[len(all)-1]
		last.done = s.deliver(t.Context(), last.event)
	}
	for _, w := range all {
		w.ended(t)
	}
	var cut []waitingCommit
	for _, s := range shops {
		cut = append(cut, s.cutCommit(t))
	}
	for _, s := range shops {
		assert.Equal(t, 1, s.activity(t, `wait_event = 'SyncRep'`))
	}
	require.NoError(t, standby.Start(t.Context()))
	for _, w := range cut {
		w.ended(t)
	}
	for _, s := range shops {
		assert.Equal(t, 3, s.effects(t), s.name)
		assert.EqualValues(t, 3, s.runs.Load(), s.name)
		assert.Zero(t, s.activity(t, `state <> 'idle'`))
		s.returned(t)
	}
}

// waitForStandby has COMMIT wait for the standby from now on, and shows that it comes to an end while the standby is there.
func (s *shop) waitForStandby(t *testing.T) {
	t.Helper()
	eventually(t, func() bool {
		return s.count(t, `SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'`) == 1
	})
	for _, statement := range []string{
		`ALTER SYSTEM SET synchronous_standby_names = '*'`, `SELECT pg_reload_conf()`,
	} {
		s.exec(t, statement)
	}
	eventually(t, func() bool {
		return s.count(t, `SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'`) == 1
	})
	s.exec(t, `CREATE TABLE waited_for ()`)
}

// overdue is a COMMIT that takes longer than the guard has patience. Then the driver asks the server to cancel it, which ends the
// wait and not the transaction.
const overdue = "its time is over"

// waitingCommit is a delivery whose COMMIT waits for the standby.
type waitingCommit struct {
	*shop

	how   string
	event events.OrderPlaced
	done  <-chan answered
}

// commitWaits delivers, and returns when COMMIT waits for the standby.
func (s *shop) commitWaits(t *testing.T, how string) waitingCommit {
	t.Helper()
	w := waitingCommit{s, how, order(), nil}
	w.done = s.deliver(t.Context(), w.event)
	eventually(t, func() bool { return s.activity(t, `wait_event = 'SyncRep'`) == 1 })
	return w
}

// terminatedCommit has a person end the server's side of a COMMIT that waits. The transaction is there then, the answer is not.
func (s *shop) terminatedCommit(t *testing.T) waitingCommit {
	t.Helper()
	w := s.commitWaits(t, "terminated by a person")
	s.exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND wait_event = 'SyncRep'`, s.place)
	return w
}

// cutCommit has the network end the client's side of it, of which the server does not know. The delivery asks for the key, and has
// to wait for an answer.
func (s *shop) cutCommit(t *testing.T) waitingCommit {
	t.Helper()
	s.proxy.CutAfter(commit)
	w := s.commitWaits(t, "cut off")
	eventually(t, func() bool { return s.activity(t, `wait_event_type = 'Lock'`) == 1 })
	return w
}

// ended wants the delivery to be a success, and its repeat to be told the same.
func (w waitingCommit) ended(t *testing.T) {
	t.Helper()
	first := <-w.done
	require.NoError(t, first.err, "%s: %s", w.name, w.how)
	again, err := w.PlaceOrder(t.Context(), w.event)
	require.NoError(t, err)
	assert.Equal(t, first.Receipt, again, "%s: %s", w.name, w.how)
	last := w.deliveries()
	outcome := last[len(last)-2].Outcome
	if w.name == "pq" && outcome == idem.OutcomeExecuted && w.how == overdue {
		return // lib/pq waits for the answer to its request to cancel, and then COMMIT has been answered
	}
	assert.Equal(t, idem.OutcomeSettled, outcome, "%s: %s", w.name, w.how)
}
