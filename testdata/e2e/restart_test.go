package e2e

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/pgtest"
)

// gone is for how long a database is away that comes back.
const gone = 2 * time.Second

// The server is ended under the workers, or is silent for a while: in the middle of a thousand deliveries for each driver and mode,
// with a queue that delivers again what failed. No effect is lost or doubled, and no goroutine or connection is left behind.
//
// The cluster has fsync=on, as users have it, though a server that dies alone loses nothing without: what it has written is the
// operating system's to keep.
//
// Not parallel: nobody could tell whose the goroutines are that are left behind.
func TestServerEndsUnderTheWorkers(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Run("one cluster", func(t *testing.T) {
		c := newCluster(t, pgtest.Settings{"fsync": "on"})
		t.Run("crash", func(t *testing.T) {
			outages(t, c, setup{}, 1000, 2, func(*shop) {
				assert.NoError(t, c.Crash())
				assert.NoError(t, c.Start(t.Context()))
			})
		})
		t.Run("gone for a while", func(t *testing.T) {
			outages(t, c, setup{}, 300, 1, func(*shop) {
				assert.NoError(t, c.Stop())
				pass(t, gone)
				assert.NoError(t, c.Start(t.Context()))
			})
		})
		t.Run("silent for a while", func(t *testing.T) {
			outages(t, c, setup{proxied: true}, 300, 1, func(s *shop) {
				s.proxy.Stall()
				pass(t, gone)
				s.proxy.Resume()
			})
		})
	})
	require.NoError(t, goleak.Find(before))
}

// pass lets the time pass for which something is away.
func pass(t *testing.T, d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// outages has every driver of PostgreSQL deliver events of both modes, and has the outage happen a few times on the way: once
// for the server, or once for each shop where that has a proxy.
func outages(t *testing.T, c *pgtest.Cluster, set setup, events, times int, outage func(*shop)) {
	type flooded struct {
		*shop
		transactions, leases *flood
		outside              *ledger
	}
	set.cluster, set.options = c, []idem.Option{long}
	var shops []flooded
	for _, d := range onPostgres() {
		s := d.open(t, set)
		s.look.SetMaxIdleConns(0) // no connection of the test's own outlives the server
		one := flooded{shop: s}
		one.transactions, one.leases, one.outside = s.floods(events)
		shops = append(shops, one)
	}
	step := int64(2 * len(shops) * events / (times + 1))
	var done, happened atomic.Int64
	var all, away sync.WaitGroup
	var one sync.Mutex
	progress := func() {
		if n := done.Add(1); n%step != 0 || n/step > int64(times) {
			return
		}
		away.Go(func() {
			one.Lock()
			defer one.Unlock()
			happened.Add(1)
			if !set.proxied {
				outage(nil)
				return
			}
			var each sync.WaitGroup
			for _, s := range shops {
				each.Go(func() { outage(s.shop) })
			}
			each.Wait()
		})
	}
	for _, s := range shops {
		all.Go(func() { s.transactions.run(t, progress) })
		all.Go(func() { s.leases.run(t, progress) })
	}
	all.Wait()
	away.Wait()
	require.EqualValues(t, times, happened.Load())
	for _, s := range shops {
		s.once(t, s.transactions, s.leases, s.outside)
		s.returned(t)
		assert.Zero(t, s.activity(t, `state <> 'idle'`), "%s: connections at work", s.name)
	}
}
