package e2e

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// ledger is an outside system that knows an effect by its key.
type ledger struct {
	lock    sync.Mutex
	effects map[string]bool
	calls   int
}

func (l *ledger) charge(ctx context.Context) error {
	run, ok := idem.FromContext(ctx)
	if !ok {
		return errors.New("there is no run")
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.effects == nil {
		l.effects = map[string]bool{}
	}
	l.effects[run.ExternalKey()] = true
	l.calls++
	return nil
}

// charges is a handler whose effect is in the ledger.
func (s *shop) charges(outside *ledger) charge {
	return func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
		return s.answer(e), outside.charge(ctx)
	}
}

// flood is a queue of events for one handler, of which each is delivered until a delivery succeeds, by eight workers.
type flood struct {
	name    string
	deliver func(context.Context, events.OrderPlaced) (events.Receipt, error)
	orders  []events.OrderPlaced
	answers []events.Receipt
	lease   bool
	failed  atomic.Int64 // deliveries that were not the event's last
}

const floodWorkers = 8

// floods are two for a shop: one to its handler with a transaction, whose effects are rows, and one to that with a lease.
func (s *shop) floods(n int) (transactions, leases *flood, outside *ledger) {
	outside = &ledger{}
	s.cards.charge = s.charges(outside)
	leases = newFlood(s.name+" leases", s.Charge, n)
	leases.lease = true
	return newFlood(s.name+" transactions", s.PlaceOrder, n), leases, outside
}

func newFlood(name string, deliver func(context.Context, events.OrderPlaced) (events.Receipt, error), n int) *flood {
	f := &flood{name: name, deliver: deliver, orders: make([]events.OrderPlaced, n), answers: make([]events.Receipt, n)}
	for i := range f.orders {
		f.orders[i] = order()
	}
	return f
}

// run delivers everything. done is called after each event's last delivery.
func (f *flood) run(t *testing.T, done func()) {
	queue := make(chan int, len(f.orders))
	for i := range f.orders {
		queue <- i
	}
	close(queue)
	var all sync.WaitGroup
	for range floodWorkers {
		all.Go(func() {
			for i := range queue {
				var err error
				f.answers[i], err = f.redeliver(t, f.orders[i])
				done()
				if !assert.NoError(t, err, f.name) {
					return
				}
			}
		})
	}
	all.Wait()
}

// redeliver delivers until a delivery succeeds, or fails in a way for which a queue would give up.
func (f *flood) redeliver(t *testing.T, e events.OrderPlaced) (events.Receipt, error) {
	pace := time.NewTicker(10 * time.Millisecond) // a queue waits before it delivers again
	defer pace.Stop()
	for {
		r, err := f.deliver(t.Context(), e)
		switch {
		case err == nil:
			return r, nil
		case forGood(err), f.lease && !errors.As(err, new(*idem.Error)): // its handler has no error of its own
			return r, err
		}
		f.failed.Add(1)
		e.Attempt++
		select {
		case <-pace.C:
		case <-t.Context().Done():
			return r, err
		}
	}
}

// forGood reports whether an error says that a redelivery is of no use, which is wrong of every error here.
func forGood(err error) bool {
	for _, target := range []error{
		idem.ErrTransactionLost, idem.ErrTransactionAborted, idem.ErrParked, idem.ErrPayloadMismatch, idem.ErrResultOmitted, idem.ErrZeroKey,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return errors.As(err, new(*idem.FailedError)) || errors.As(err, new(*idem.ResultError)) || errors.As(err, new(*idem.TableError))
}

// again delivers every event once more, and wants the answer that it had.
func (f *flood) again(t *testing.T) {
	for i, e := range f.orders {
		r, err := f.deliver(t.Context(), e)
		require.NoError(t, err, f.name)
		require.Equal(t, f.answers[i], r, f.name)
	}
}

// once wants each event of two floods to have had its effect, and once.
func (s *shop) once(t *testing.T, transactions, leases *flood, outside *ledger) {
	t.Helper()
	n := len(transactions.orders)
	assert.Equal(t, n, s.count(t, `SELECT count(*) FROM effects`), "%s: effects", s.name)
	assert.Equal(t, n, s.count(t, `SELECT count(DISTINCT what) FROM effects`), "%s: events with an effect", s.name)
	assert.Len(t, outside.effects, n, "%s: effects outside", s.name)
	assert.Equal(t, 2*n, s.count(t, `SELECT count(*) FROM idempotency_keys WHERE state = 'done'`), "%s: keys", s.name)
	assert.Equal(t, 2*n, s.count(t, `SELECT count(*) FROM idempotency_keys`), "%s: keys", s.name)
	transactions.again(t)
	leases.again(t)
	assert.Equal(t, n, s.effects(t), "%s: repeats ran", s.name)
	t.Logf("%s: %d transactions, %d deliveries failed; %d leases, %d deliveries failed, %d calls of the outside; %v",
		s.name, n, transactions.failed.Load(), n, leases.failed.Load(), outside.calls, s.outcomes())
}
