package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/kill"
)

// howKey is the context key of the delivery that a handler's run belongs to.
type howKey struct{}

var errBusiness = errors.New("out of stock")

// statement executes a statement in a handler's transaction. Parameters are $1, $2 on every engine.
type statement func(ctx context.Context, query string, args ...any) error

// order is the handlers with a transaction: a row in effects that says which run it is of, and an end as the delivery wants it.
// conflict fails as a transaction does that lost against another one.
func (w *worker) order(ctx context.Context, call kill.Call, exec statement, conflict func(context.Context) error, e events.OrderPlaced) (events.Receipt, error) {
	what := kill.What(call, e)
	how, name := w.begin(ctx, what)
	if err := exec(ctx, `INSERT INTO effects (what, worker) VALUES ($1, $2)`, what, name); err != nil {
		return events.Receipt{}, err
	}
	err := idem.AfterCommit(ctx, func(context.Context) { w.say(kill.Answer{Hook: what}) })
	if err != nil && !errors.Is(err, idem.ErrNoCommitHook) {
		return events.Receipt{}, err
	}
	if how == kill.Conflict {
		return events.Receipt{}, conflict(ctx)
	}
	return events.Receipt{PlacedBy: name, Total: e.Total}, end(how)
}

// charge is the handlers with a lease: a call of the outside system.
func (w *worker) charge(ctx context.Context, call kill.Call, e events.OrderPlaced) (events.Receipt, error) {
	how, name := w.begin(ctx, kill.What(call, e))
	if how == kill.Slow {
		select {
		case <-ctx.Done():
			return events.Receipt{}, context.Cause(ctx)
		case <-time.After(slow):
		}
	}
	if err := w.outside(ctx, kill.What(call, e), name, how != kill.Permanent); err != nil {
		return events.Receipt{}, err
	}
	return events.Receipt{PlacedBy: name, Total: e.Total}, end(how)
}

// slow is the length of a slow run: more than a third of the cards' leases of a second, at which they are renewed.
const slow = 500 * time.Millisecond

// begin gives a run its name, and says how it is to end: as the delivery wants it for the first run of this effect in this
// process, and well after that.
func (w *worker) begin(ctx context.Context, what string) (how kill.How, name string) {
	d, _ := ctx.Value(howKey{}).(kill.Delivery)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs++
	name = fmt.Sprintf("%s, run %d", w.job.Name, w.runs)
	if w.ran[what] && d.How != kill.Permanent {
		return kill.Well, name
	}
	w.ran[what] = true
	return d.How, name
}

func end(how kill.How) error {
	switch how {
	case kill.Fail:
		return errBusiness
	case kill.Panic:
		panic("the handler's")
	case kill.Exit:
		runtime.Goexit()
	case kill.Permanent:
		return idem.Permanent(errBusiness)
	}
	return nil
}

// outside is a system that knows a charge by its key: a folder with a file for each charge, which is there as a whole or not at
// all, and one for each call. A call that is declined charges nothing.
func (w *worker) outside(ctx context.Context, what, name string, accept bool) (err error) {
	run, ok := idem.FromContext(ctx)
	if !ok {
		return errors.New("there is no run")
	}
	call, err := os.CreateTemp(w.job.Outside, "call-")
	if err != nil {
		return err
	}
	_, err = call.WriteString(what)
	if err := errors.Join(err, call.Close()); err != nil || !accept {
		return err
	}
	err = os.Link(call.Name(), filepath.Join(w.job.Outside, "charge-"+run.ExternalKey()))
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}
