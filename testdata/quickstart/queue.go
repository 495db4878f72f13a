package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/idemgen/idemgen/runtime/idem"
)

const workers = 8

// queue delivers messages at least once, as their deliveries say.
type queue struct {
	shop     shop
	settings settings
	tally    *tally

	ready   chan attempt
	open    atomic.Int64   // deliveries that are still to come to their end
	running sync.WaitGroup // workers
	stop    context.CancelCauseFunc
}

// attempt is a message in the queue, on its n-th delivery, counted from 0.
type attempt struct {
	*message
	n     int
	again bool // the database was too busy the last time
}

func (a attempt) next() attempt { return attempt{message: a.message, n: a.n + 1} }

func (a attempt) delivery() delivery { return a.Deliveries[a.n] }

var (
	errEmpty = errors.New("the queue is empty")
	errDeath = errors.New("the worker dies")
)

func newQueue(s shop, set settings, t *tally) *queue {
	return &queue{shop: s, settings: set, tally: t}
}

// deliver returns when every delivery has come to its end, or at the first error that is not a part of the play.
func (q *queue) deliver(ctx context.Context, messages []*message) error {
	ctx, q.stop = context.WithCancelCause(ctx)
	defer q.stop(nil)
	total := 0
	for _, m := range messages {
		total += len(m.Deliveries)
	}
	q.open.Store(int64(total))
	q.ready = make(chan attempt, total)
	for _, m := range messages {
		q.ready <- attempt{message: m}
	}
	for range workers {
		q.running.Add(1)
		go q.work(ctx)
	}
	q.running.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, errEmpty) {
		return cause
	}
	return nil
}

// work is a worker's life. It may be cut short by a handler; then another worker takes its place.
func (q *queue) work(ctx context.Context) {
	defer q.running.Done()
	var inHand *attempt
	defer func() {
		if died := recover(); died != nil && died != errDeath {
			panic(died)
		}
		if inHand == nil {
			return
		}
		q.tally.died(*inHand)
		q.running.Add(1)
		go q.work(ctx)
		q.end(*inHand)
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-q.ready:
			inHand = &a
			q.handle(ctx, a)
			inHand = nil
		}
	}
}

// handle is one delivery.
func (q *queue) handle(ctx context.Context, a attempt) {
	q.tally.delivered(a)
	switch a.delivery().fate {
	case slow:
		if !a.again {
			q.ready <- a.next() // lost patience already
		}
	case panics:
		ctx = context.WithValue(ctx, midway{}, func() { panic(errDeath) })
	case exits:
		ctx = context.WithValue(ctx, midway{}, runtime.Goexit)
	case killed:
		if err := q.killWorker(ctx, a); err != nil {
			q.stop(err)
			return
		}
		q.tally.died(a)
		q.end(a)
		return
	}

	err := q.call(ctx, a)
	var busy *idem.InProgressError
	switch {
	case errors.As(err, &busy):
		q.tally.refused(a, err)
		a.again = true
		q.ready <- a // not handled, so it is delivered once more
		return
	case errors.Is(err, idem.ErrPayloadMismatch), errors.Is(err, idem.ErrZeroKey):
		q.tally.refused(a, err) // a consumer would put it among the dead letters, for a person to see
	case err != nil:
		q.stop(fmt.Errorf("a delivery failed: %w", err))
		return
	default:
		q.tally.answered(a)
	}
	q.end(a)
}

// call hands the event to its handler.
func (q *queue) call(ctx context.Context, a attempt) error {
	if a.Payment != nil {
		e := *a.Payment
		e.Attempt = a.n + 1
		if a.delivery().changed {
			e.Amount += 100
		}
		return q.shop.ConfirmPayment(ctx, e)
	}
	e := *a.Order
	e.Attempt = a.n + 1
	if a.delivery().changed {
		e.Total += 100
	}
	receipt, err := q.shop.PlaceOrder(ctx, e)
	if err == nil {
		q.tally.receipt(e.OrderID, receipt)
	}
	return err
}

// end finishes a delivery, and makes the next one of its message due where there is one.
func (q *queue) end(a attempt) {
	if a.delivery().fate != slow && a.n+1 < len(a.Deliveries) {
		q.ready <- a.next()
	}
	if q.open.Add(-1) == 0 {
		q.stop(errEmpty)
	}
}
