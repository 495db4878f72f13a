package main

import (
	"context"
	"errors"
	"sync"

	"github.com/idemgen/idemgen/runtime/idem"

	"example.com/shop/orders"
)

// tally counts what the workers see. It is also the guard's observer, which is how it knows of the repeats.
type tally struct {
	mu       sync.Mutex
	orders   counts
	payments counts
	receipts map[string][]orders.Receipt // every answer to an order, by its ID
	attempts [3]rate                     // by the number of the attempt
}

// counts are the deliveries of one kind of event.
type counts struct {
	deliveries int
	answered   int // without an error
	repeats    int // of these: answered by the guard, without running the handler
	deaths     map[fate]int
	mismatches int
	zeroKeys   int
	busy       int
}

// rate is how many of so many deliveries were repeats.
type rate struct{ repeats, deliveries int }

func (t *tally) of(m *message) *counts {
	if m.Order != nil {
		return &t.orders
	}
	return &t.payments
}

func (t *tally) delivered(a attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(a.message).deliveries++
	t.attempts[a.n].deliveries++
}

func (t *tally) died(a attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.of(a.message)
	if c.deaths == nil {
		c.deaths = map[fate]int{}
	}
	c.deaths[a.delivery().fate]++
}

func (t *tally) refused(a attempt, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.of(a.message)
	switch {
	case errors.Is(err, idem.ErrPayloadMismatch):
		c.mismatches++
	case errors.Is(err, idem.ErrZeroKey):
		c.zeroKeys++
	default:
		c.busy++
	}
}

func (t *tally) answered(a attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(a.message).answered++
}

func (t *tally) receipt(orderID string, r orders.Receipt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.receipts == nil {
		t.receipts = map[string][]orders.Receipt{}
	}
	t.receipts[orderID] = append(t.receipts[orderID], r)
}

// Observe is told of every delivery by the guard.
func (t *tally) Observe(_ context.Context, d idem.Delivery) {
	if d.Outcome != idem.OutcomeDuplicate {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if d.Handler == "orders.Service.PlaceOrder" {
		t.orders.repeats++
	} else {
		t.payments.repeats++
	}
	t.attempts[d.Attempt-1].repeats++
}
