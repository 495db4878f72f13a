package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/idemgen/idemgen/runtime/idem"

	"example.com/shop/lifecycle"
)

// A life of orders: their events come late, doubled and out of order, and in the end each order has to be where its events
// lead to, by steps that there are, and each step has to have been taken once.

// step is an event in the queue: what it asks of an order.
type step struct {
	lifecycle.Event
	want  lifecycle.Status
	tries int
}

// An order's events are delivered so often in all, and a step that cannot be taken yet comes again so often.
const (
	stepsEach = 10
	stepTries = 4
)

// follow is what may follow what, as the play knows it by itself.
var follow = map[lifecycle.Status][]lifecycle.Status{
	lifecycle.Pending:   {lifecycle.Confirmed, lifecycle.Cancelled},
	lifecycle.Confirmed: {lifecycle.Shipped, lifecycle.Cancelled},
}

// life is a queue of steps, and what became of them.
type life struct {
	take  func(context.Context, step) error
	mu    sync.Mutex
	queue []step
	// taken and refused are by order: what the answer to an event was success for, and conflict to the last.
	taken, refused map[string][]lifecycle.Status
	deliveries     int
}

// live plays n deliveries and says whether every order's status is explained by its events.
func live(ctx context.Context, s settings, db *sql.DB, stdout io.Writer) (ok bool, err error) {
	if _, err := db.ExecContext(ctx, lifecycle.Schema); err != nil {
		return false, fmt.Errorf("make the tables in %s: %w", s.database, err)
	}
	l := &life{take: stepper(s, db), taken: map[string][]lifecycle.Status{}, refused: map[string][]lifecycle.Status{}}
	if err := l.begin(ctx, db, max(s.events/stepsEach, 1), rand.New(rand.NewPCG(s.seed, 1))); err != nil {
		return false, err
	}
	errs := make([]error, workers)
	var running sync.WaitGroup
	for i := range workers {
		running.Go(func() { errs[i] = l.work(ctx) })
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return false, err
	}
	return l.report(ctx, db, stdout)
}

// stepper is what takes a step: the generated code, or the same bodies behind an UPDATE that asks for nothing.
func stepper(s settings, db *sql.DB) func(context.Context, step) error {
	guarded := lifecycle.NewIdempotentOrders(lifecycle.Orders{}, db)
	take := map[lifecycle.Status]func(context.Context, lifecycle.Event) error{
		lifecycle.Confirmed: guarded.Confirm, lifecycle.Shipped: guarded.Ship, lifecycle.Cancelled: guarded.Cancel,
	}
	if s.unguarded {
		return func(ctx context.Context, s step) error { return unguardedStep(ctx, db, s) }
	}
	return func(ctx context.Context, s step) error { return take[s.want](ctx, s.Event) }
}

// begin makes the orders and shuffles their events.
func (l *life) begin(ctx context.Context, db *sql.DB, orders int, random *rand.Rand) error {
	kinds := [][]lifecycle.Status{
		{lifecycle.Confirmed},
		{lifecycle.Confirmed, lifecycle.Shipped},
		{lifecycle.Confirmed, lifecycle.Cancelled},
		{lifecycle.Confirmed, lifecycle.Shipped, lifecycle.Cancelled},
		{lifecycle.Cancelled},
	}
	for i := range orders {
		id := fmt.Sprintf("order-%05d", i+1)
		if _, err := db.ExecContext(ctx, `INSERT INTO order_status (order_id) VALUES (?)`, id); err != nil {
			return err
		}
		kind := kinds[random.IntN(len(kinds))]
		for n := range stepsEach {
			l.queue = append(l.queue, step{Event: lifecycle.Event{OrderID: id}, want: kind[n%len(kind)]})
		}
	}
	random.Shuffle(len(l.queue), func(i, j int) { l.queue[i], l.queue[j] = l.queue[j], l.queue[i] })
	return nil
}

// work delivers until the queue is empty. A conflict comes again, for what it waits for may be on its way; one that stays is
// for a person. A busy database is no answer.
func (l *life) work(ctx context.Context) error {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.mu.Unlock()
			return nil
		}
		s := l.queue[0]
		l.queue = l.queue[1:]
		l.deliveries++
		l.mu.Unlock()

		err := l.take(ctx, s)
		var conflict *idem.ConflictError
		var busy *idem.InProgressError
		l.mu.Lock()
		switch {
		case err == nil:
			l.taken[s.OrderID] = append(l.taken[s.OrderID], s.want)
		case errors.As(err, &busy):
			l.queue = append(l.queue, s)
		case errors.As(err, &conflict) && s.tries < stepTries:
			s.tries++
			l.queue = append(l.queue, s)
		case errors.As(err, &conflict):
			l.refused[s.OrderID] = append(l.refused[s.OrderID], s.want)
		default:
			l.mu.Unlock()
			return err
		}
		l.mu.Unlock()
	}
}

// report tells what became of the orders, by what stands in the database.
func (l *life) report(ctx context.Context, db *sql.DB, stdout io.Writer) (ok bool, err error) {
	status, did := map[string]lifecycle.Status{}, map[string][]lifecycle.Status{}
	var id string
	var state lifecycle.Status
	if err := eachRow(ctx, db, `SELECT order_id, status FROM order_status`, []any{&id, &state}, func() { status[id] = state }); err != nil {
		return false, err
	}
	if err := eachRow(ctx, db, `SELECT order_id, did FROM order_log ORDER BY entry`, []any{&id, &state}, func() { did[id] = append(did[id], state) }); err != nil {
		return false, err
	}
	var faults []string
	ends := map[lifecycle.Status]int{}
	steps, people := 0, 0
	for id, state := range status {
		ends[state]++
		steps += len(did[id])
		people += len(l.refused[id])
		if fault := l.fault(id, state, did[id]); fault != "" {
			faults = append(faults, fault)
		}
	}
	slices.Sort(faults)
	_, err = fmt.Fprintf(stdout, "%d orders: %d pending, %d confirmed, %d shipped, %d cancelled in the end\n%d steps taken, %d conflicts for a person\n",
		len(status), ends[lifecycle.Pending], ends[lifecycle.Confirmed], ends[lifecycle.Shipped], ends[lifecycle.Cancelled], steps, people)
	for _, fault := range faults[:min(len(faults), faultsShown)] {
		_, ferr := fmt.Fprintln(stdout, "wrong:", fault)
		err = errors.Join(err, ferr)
	}
	_, ferr := fmt.Fprintf(stdout, "deliveries=%d steps=%d conflicts=%d wrong=%d\n", l.deliveries, steps, people, len(faults))
	return len(faults) == 0, errors.Join(err, ferr)
}

// fault says what is wrong with an order: that its steps do not follow each other, do not end where it is, or are not what
// the senders were told.
func (l *life) fault(id string, state lifecycle.Status, did []lifecycle.Status) string {
	at := lifecycle.Pending
	for _, next := range did {
		if !slices.Contains(follow[at], next) {
			return fmt.Sprintf("%s: %s after %s", id, next, at)
		}
		at = next
	}
	if at != state {
		return fmt.Sprintf("%s: is %s, and its last step was %s", id, state, at)
	}
	for _, told := range l.taken[id] {
		if !slices.Contains(did, told) {
			return fmt.Sprintf("%s: somebody was told that it is %s, which it never was", id, told)
		}
	}
	for _, step := range did {
		if !slices.Contains(l.taken[id], step) {
			return fmt.Sprintf("%s: became %s, and nobody was told", id, step)
		}
	}
	return ""
}
