// Command worker consumes deliveries from its standard input and is killed by whoever wrote them: see package kill. It calls
// the generated code of the shops, with handlers that fail in the ways that a delivery asks for.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/kill"
)

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// run works until there are no more deliveries, which is when they are all answered or the queue is gone.
func run(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := json.NewDecoder(bufio.NewReader(in))
	var job kill.Job
	if err := lines.Decode(&job); err != nil {
		return fmt.Errorf("no job: %w", err)
	}
	w := &worker{job: job, out: out, ran: map[string]bool{}, givenUp: map[int]context.CancelFunc{}}
	stop, err := newStop(os.Getenv(kill.Variable))
	if err != nil {
		return err
	}
	w.shop, err = w.open(ctx, stop)
	if err != nil {
		return err
	}
	for {
		var d kill.Delivery
		err := lines.Decode(&d)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		go w.deliver(ctx, d)
	}
}

// worker is the process.
type worker struct {
	job  kill.Job
	shop shop

	mu   sync.Mutex
	out  io.Writer
	ran  map[string]bool // the effects that a run was begun for
	runs int

	givenUp map[int]context.CancelFunc // the deliveries that end when a claim is lost, by their number
}

// shop is the generated code of one driver.
type shop struct {
	place, join, charge   func(context.Context, events.OrderPlaced) (events.Receipt, error)
	audit, wire           func(context.Context, events.OrderPlaced) error
	markOrder, markCharge func(context.Context, events.OrderPlaced, events.Receipt) error
	janitor               *idem.Janitor
	moves                 moves
}

func (w *worker) open(ctx context.Context, s *stop) (shop, error) {
	switch w.job.Driver {
	case "pgx":
		return w.openPGX(ctx, s)
	case "std":
		return w.openStd(s)
	case "maria":
		return w.openMaria(s)
	case "lite":
		return w.openLite()
	default:
		return shop{}, fmt.Errorf("no driver %q", w.job.Driver)
	}
}

// deliver answers a delivery, also one whose handler panics or exits its goroutine.
func (w *worker) deliver(ctx context.Context, d kill.Delivery) {
	answer := kill.Answer{ID: d.ID, Err: "the goroutine was left"}
	defer func() {
		if p := recover(); p != nil {
			answer.Err = fmt.Sprint("panic: ", p)
		}
		w.say(answer)
	}()
	ctx, cancel := context.WithCancel(context.WithValue(ctx, howKey{}, d))
	defer cancel()
	if d.How == kill.GiveUp {
		defer w.mayGiveUp(d.ID, cancel)()
	}
	receipt, err := w.call(ctx, d)
	answer.Receipt, answer.Err = receipt, ""
	if err != nil {
		var failed *idem.FailedError
		answer.Err, answer.Failed, answer.Parked = err.Error(), errors.As(err, &failed), errors.Is(err, idem.ErrParked)
		var conflict *idem.ConflictError
		answer.Refused = errors.As(err, &conflict) || errors.Is(err, idem.ErrManyRows)
	}
}

func (w *worker) call(ctx context.Context, d kill.Delivery) (none events.Receipt, _ error) {
	marked := events.Receipt{PlacedBy: kill.MarkedBy, Total: d.Event.Total}
	switch d.Call {
	case kill.PlaceOrder:
		return w.shop.place(ctx, d.Event)
	case kill.JoinOrder:
		return w.shop.join(ctx, d.Event)
	case kill.AuditOrder:
		return none, w.shop.audit(ctx, d.Event)
	case kill.Charge:
		return w.shop.charge(ctx, d.Event)
	case kill.Wire:
		return none, w.shop.wire(ctx, d.Event)
	case kill.MarkOrder:
		return none, w.shop.markOrder(ctx, d.Event, marked)
	case kill.MarkCharge:
		return none, w.shop.markCharge(ctx, d.Event, marked)
	case kill.Sweep:
		_, err := w.shop.janitor.Once(ctx)
		return none, err
	default:
		return w.shop.moves.call(ctx, d)
	}
}

// mayGiveUp has a delivery end when a claim is lost, until the function that it returns is called.
func (w *worker) mayGiveUp(id int, cancel context.CancelFunc) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.givenUp[id] = cancel
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.givenUp, id)
	}
}

// claimLost ends the deliveries that are to be given up. One of them has sent the claim.
func (w *worker) claimLost() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, cancel := range w.givenUp {
		cancel()
	}
}

// say writes an answer as one line. A queue that is gone needs none.
func (w *worker) say(a kill.Answer) {
	line, err := json.Marshal(a)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		_, err = w.out.Write(append(line, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}
