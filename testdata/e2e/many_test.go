package e2e

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// One key, delivered by 64 goroutines at once: one effect, and 63 times the same typed result.
func TestMany_OneKeyAtOnce(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{long}})
		e := order()
		const n = 64
		start := make(chan struct{})
		got := make([]answered, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				<-start
				got[i].Receipt, got[i].err = s.PlaceOrder(t.Context(), e)
			})
		}
		close(start)
		all.Wait()
		for _, one := range got {
			require.NoError(t, one.err)
			require.Equal(t, got[0].Receipt, one.Receipt)
		}
		assert.Equal(t, "run 1", got[0].PlacedBy)
		assert.Equal(t, 1, s.effects(t))
		assert.Len(t, s.rows(t), 1)
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeExecuted: 1, idem.OutcomeDuplicate: n - 1}, s.outcomes())
	})
}

// 1,000 keys, delivered three times each by eight workers, some of whose runs roll back, panic or leave the goroutine: 1,000
// effects, and one result for all deliveries of a key. A delivery that failed is delivered again, as a queue would.
func TestMany_KeysTimesDeliveriesTimesWorkers(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		const keys, deliveries, workers = 1000, 3, 8
		s := d.open(t, setup{options: []idem.Option{long}})
		mishaps := newMishaps()
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			r, err := s.receipt(ctx, tx, e)
			if err == nil {
				err = mishaps.strike()
			}
			return r, err
		}
		queue := make(chan int, keys*deliveries)
		orders := make([]events.OrderPlaced, keys)
		for k := range orders {
			orders[k] = order()
			for range deliveries {
				queue <- k
			}
		}
		close(queue)
		answers := make([]map[events.Receipt]int, keys)
		var lock sync.Mutex
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				for k := range queue {
					receipt, err := redeliver(t.Context(), s, orders[k])
					if !assert.NoError(t, err) {
						return
					}
					lock.Lock()
					if answers[k] == nil {
						answers[k] = map[events.Receipt]int{}
					}
					answers[k][receipt]++
					lock.Unlock()
				}
			})
		}
		all.Wait()
		require.Equal(t, keys, s.effects(t))
		require.Equal(t, keys, s.count(t, `SELECT count(DISTINCT what) FROM effects`))
		require.Equal(t, keys, s.count(t, `SELECT count(*) FROM idempotency_keys WHERE state = 'done'`))
		require.Equal(t, keys, s.count(t, `SELECT count(*) FROM idempotency_keys`))
		for k := range answers {
			require.Len(t, answers[k], 1, "one answer for all deliveries of a key")
			for _, times := range answers[k] {
				require.Equal(t, deliveries, times)
			}
		}
		outcomes := s.outcomes()
		assert.Equal(t, keys, outcomes[idem.OutcomeExecuted])
		assert.Equal(t, keys*(deliveries-1), outcomes[idem.OutcomeDuplicate])
		assert.Equal(t, int(mishaps.struck.Load()), outcomes[idem.OutcomeError])
		assert.Positive(t, mishaps.struck.Load())
	})
}

// redeliver delivers until a delivery succeeds.
func redeliver(ctx context.Context, s *shop, e events.OrderPlaced) (r events.Receipt, err error) {
	for {
		e.Attempt++
		left, err := outside(func() (err error) {
			r, err = s.PlaceOrder(ctx, e)
			return err
		})
		switch {
		case left != nil && left != exited && left != errDeath, err != nil && !errors.Is(err, errBusiness):
			return r, errors.Join(err, context.Cause(ctx))
		case left == nil && err == nil:
			return r, nil
		}
	}
}

// errDeath is what a handler panics with.
var errDeath = errors.New("the worker dies")

// mishaps are drawn by chance, the same ones in every run.
type mishaps struct {
	lock   sync.Mutex
	random *rand.Rand
	struck atomic.Int64
}

func newMishaps() *mishaps { return &mishaps{random: rand.New(rand.NewPCG(2, 3))} }

// strike does something bad to one run in ten.
func (m *mishaps) strike() error {
	m.lock.Lock()
	n := m.random.IntN(30)
	m.lock.Unlock()
	if n > 2 {
		return nil
	}
	m.struck.Add(1)
	switch n {
	case 0:
		panic(errDeath)
	case 1:
		runtime.Goexit()
	}
	return errBusiness
}

// Handlers of one event, and handlers without a result, do not get into each other's way either.
func TestMany_HandlersOfOneEvent(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{long}})
		e, batch := order(), uuid.New()
		const n = 16
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				_, err := s.PlaceOrder(t.Context(), e)
				assert.NoError(t, err)
			})
			all.Go(func() { assert.NoError(t, s.AuditOrder(t.Context(), e)) })
			all.Go(func() {
				_, err := s.Settle(t.Context(), e.TenantID, batch)
				assert.NoError(t, err)
			})
		}
		all.Wait()
		assert.Equal(t, 3, s.effects(t))
		assert.Len(t, s.rows(t), 3)
	})
}
