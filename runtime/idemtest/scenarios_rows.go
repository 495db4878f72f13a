package idemtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"
)

func (f *fixture[Tx]) windows() {
	const day, slack = 24 * time.Hour, time.Hour // no window here is another plus a slow machine
	for name, window := range map[string]time.Duration{
		"Minute": time.Minute, "Day": day, "Century": 36525 * day, "Forever": idem.Forever,
	} {
		spec := specOf(name)
		spec.Window = window
		u, o := f.unitOf(spec, nil), fresh()
		first := f.result(u.do, o)
		f.equal("the repeat's result", f.result(u.do, o), first)
		rows := f.Rows()
		row := rows[slices.IndexFunc(rows, func(r Row) bool { return r.Handler == spec.Name })]
		switch {
		case window == idem.Forever:
			f.equal("the end of a window that has none", row.ExpiresIn, (*time.Duration)(nil))
		case row.ExpiresIn == nil || *row.ExpiresIn > window || *row.ExpiresIn < window-slack:
			f.Errorf("a window of %s ends in %v", window, row.ExpiresIn)
		}
	}
	f.effects(4)
}

// The window begins when the run ends: a clock that stands still in a transaction, as PostgreSQL's now() does, would begin it with
// the run.
func (f *fixture[Tx]) windowFromTheEnd() {
	const takes, little = 600 * time.Millisecond, 300 * time.Millisecond
	var ended time.Time
	spec := specOf("Unit")
	spec.Window = time.Minute
	u := f.unitOf(spec, func(context.Context) error {
		began := time.Now()
		f.eventually("the run has taken its time", func() bool { return time.Since(began) > takes })
		ended = time.Now()
		return nil
	})
	f.result(u.do, fresh())
	left := f.only().ExpiresIn
	if left == nil || *left+time.Since(ended) < spec.Window-little {
		f.Errorf("%v are left of a window of a minute, %s after the run", left, time.Since(ended))
	}
}

func (f *fixture[Tx]) expired() {
	u, o := f.unit(nil), fresh()
	first := f.result(u.do, o)
	f.expire()
	o.Total++ // nothing is compared with what counts as absent
	second := f.result(u.do, o)
	if second == first {
		f.Fatal("the result of an expired row")
	}
	f.equal("the repeat's result", f.result(u.do, o), second)
	f.effects(2)
	f.equal("the fence", f.only().Fence, int64(2))
	f.outcomes(map[idem.Outcome]int{idem.OutcomeExecuted: 2, idem.OutcomeDuplicate: 1})
}

// An outside that keeps the highest fence can refuse a late owner, if every run knows its own.
func (f *fixture[Tx]) fenceIsTold() {
	var told int64
	u, o := f.unit(func(ctx context.Context) error {
		run, ok := idem.FromContext(ctx)
		if !ok {
			return errors.New("the context has no run")
		}
		told = run.Fence
		return nil
	}), fresh()
	for n := int64(1); n <= 3; n++ {
		f.result(u.do, o)
		f.equal("the run's fence, and the row's", []int64{told, f.only().Fence}, []int64{n, n})
		f.expire()
	}
}

func (f *fixture[Tx]) rivalsForExpired() {
	o := fresh()
	f.result(f.placing(f.place), o)
	f.expire()
	p, failing, others := f.race(3, o, f.long())
	p.letGo <- errBusiness
	f.is((<-failing).err, errBusiness)
	var first receipt
	for i, other := range others {
		got := <-other
		f.ok("a rival", got.err)
		if i == 0 {
			first = got.receipt
		}
		f.equal("a rival's result", got.receipt, first)
	}
	f.effects(2)
	f.states("done")
}

func (f *fixture[Tx]) checked() {
	g := f.guard()
	f.ok("Check", g.Check(f.ctx))
	f.states()
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	f.is(g.Check(ctx), context.Canceled)
}

// wrong wants a delivery, with a transaction and with a lease, and Check to say the same of the table.
func (f *fixture[Tx]) wrong(columns []string, says string) {
	f.Helper()
	g := f.guard()
	_, charged := idem.NewLease(g, leased("Charge", time.Second), f.charge).Do(f.ctx, fresh())
	_, placed := f.handler(g, f.place).Do(f.ctx, fresh())
	for what, err := range map[string]error{"Check": g.Check(f.ctx), "a lease": charged, "a delivery": placed} {
		table := as[*idem.TableError](f, err)
		f.equal("columns, of "+what, table.Columns, columns)
		for _, part := range []string{table.Table, "idempotency_keys", "idemdb/schema.sql", says} {
			if !strings.Contains(err.Error(), part) {
				f.Errorf("%s does not say %q: %v", what, part, err)
			}
		}
	}
	f.equal("effects", f.Effects(), 0)
	f.equal("calls of the outside", f.outside.Load(), int64(0))
}

func (f *fixture[Tx]) noTable() {
	f.DropTable()
	f.wrong(nil, "does not exist")
}

func (f *fixture[Tx]) olderTable() {
	f.DropColumns("failure", "successor")
	f.wrong([]string{"failure", "successor"}, "has no column failure, successor")
}

func (f *fixture[Tx]) otherTable() {
	f.DropPrimaryKey()
	f.wrong(nil, "is not as")
}

func (f *fixture[Tx]) noPermission() {
	f.wrong(nil, "must not be used")
	f.Grant("SELECT, INSERT")
	as[*idem.TableError](f, f.guard().Check(f.ctx))
	f.Grant("UPDATE")
	f.ok("Check", f.guard().Check(f.ctx))
}

func (f *fixture[Tx]) marked() {
	u, o := f.unit(nil), fresh()
	want := receipt{Number: 1<<53 + 1, By: "somebody else"}
	f.ok("Mark", u.mark(f.ctx, o, want))
	f.ok("Mark", u.mark(f.ctx, o, receipt{By: "too late"}))
	f.equal("the result", f.result(u.do, o), want)
	row := f.only()
	if row.State != "done" || row.ExpiresIn == nil {
		f.Errorf("the row is %+v", row)
	}
	f.expire()
	f.ok("Mark of an expired row", u.mark(f.ctx, o, receipt{By: "again"}))
	f.equal("the result", f.result(u.do, o).By, "again")
	f.effects(0)
	f.outcomes(map[idem.Outcome]int{idem.OutcomeDuplicate: 2})
}

func (f *fixture[Tx]) whatGoes() {
	var stays []string
	for _, state := range []string{"open", "done", "failed", "running", "released", "parked"} {
		for name, at := range map[string]*time.Duration{"past": span(-time.Second), "future": span(time.Minute), "never": nil} {
			key := state + "-" + name
			f.Put("suite.Old", key, state, at)
			if name != "past" || state != "done" && state != "failed" {
				stays = append(stays, key)
			}
		}
	}
	swept, err := idem.NewJanitor(f.guard()).Once(f.ctx)
	f.ok("the janitor", err)
	f.equal("removed", swept.Removed, int64(2))
	var left []string
	for _, r := range f.Rows() {
		left = append(left, r.Key)
	}
	slices.Sort(left)
	slices.Sort(stays)
	f.equal("what is left", left, stays)

	f.Clear()
	f.Fill("suite.Old", 25)
	swept, err = idem.NewJanitor(f.guard(), idem.WithSweepBatch(10), idem.WithSweepPace(0)).Once(f.ctx)
	f.ok("the janitor", err)
	f.equal("removed, in batches", fmt.Sprint(swept.Removed, swept.Batches), "25 3")
	f.states()
}

// Two janitors clear the table while deliveries go on, one of which takes an expired row over. A database that does not tell a
// rival from another writer may end a round early, and the next one goes on.
func (f *fixture[Tx]) janitors() {
	const rows, deliveries = 2000, 40
	u, taken := f.unit(nil, f.long()), fresh()
	f.result(u.do, taken)
	f.expire()
	f.Fill("suite.Old", rows)
	var stop atomic.Bool
	var removed atomic.Int64
	var all sync.WaitGroup
	for range 2 {
		j := idem.NewJanitor(f.guard(), idem.WithSweepBatch(100), idem.WithSweepPace(time.Millisecond))
		all.Go(func() {
			for !stop.Load() && removed.Load() < rows && f.ctx.Err() == nil {
				swept, _ := j.Once(f.ctx) // what it says is that another writer was there
				removed.Add(swept.Removed)
			}
		})
	}
	for range deliveries {
		f.result(u.do, fresh())
	}
	f.result(u.do, taken)
	f.eventually("all is removed", func() bool { return removed.Load() >= rows })
	stop.Store(true)
	all.Wait()
	_, err := idem.NewJanitor(f.guard()).Once(f.ctx) // if the row of taken went in place of another
	f.ok("the janitor", err)
	f.effects(deliveries + 2)
	f.equal("rows", len(f.Rows()), deliveries+1)
}

// A row that a delivery is taking over is nobody's to delete, and no janitor waits for it.
func (f *fixture[Tx]) janitorSkips() {
	o := fresh()
	f.result(f.placing(f.place), o)
	f.expire()
	f.Fill("suite.Old", 10)
	p := newParked()
	placed := f.deliver(f.ctx, f.placing(f.parking(p), f.long()), o)
	f.await("the take-over", p.reached)
	swept, err := idem.NewJanitor(f.guard()).Once(f.ctx)
	f.ok("the janitor", err)
	f.equal("removed", swept.Removed, int64(10))
	p.letGo <- nil
	f.ok("the take-over", (<-placed).err)
	f.states("done")
	f.effects(2)
}

func (f *fixture[Tx]) sweptBetween() {
	o := fresh()
	d := f.placing(f.place)
	f.result(d, o)
	f.Before("Lookup", f.Clear)
	f.equal("the run", f.result(d, o).By, "run 2")
	f.states("done")
	f.effects(2)
}

// joined are a handler with a result and one without, in the caller's transaction.
func (f *fixture[Tx]) joined(run body[Tx], opts ...idem.Option) (*idem.Handler[Tx, order, receipt], *idem.Handler[Tx, order, struct{}]) {
	g := f.guard(opts...)
	return f.handler(g, run), idem.NewHandler(g, specOf("Audit"), idem.NoResult(func(ctx context.Context, tx Tx, o order) error {
		_, err := run(ctx, tx, o)
		return err
	}))
}

func (f *fixture[Tx]) joins() {
	h, audit := f.joined(f.place)
	o := fresh()
	c := f.Begin()
	f.ok("the caller's effect", f.Effect(f.ctx, c.Tx, "the caller's own"))
	_, err := h.InTx(f.ctx, c.Tx, o)
	f.ok("InTx", err)
	_, err = audit.InTx(f.ctx, c.Tx, o)
	f.ok("InTx", err)
	f.clean()
	f.ok("the rollback", c.Rollback())
	f.clean()

	c = f.Begin()
	f.ok("the caller's effect", f.Effect(f.ctx, c.Tx, "the caller's own"))
	first, err := h.InTx(f.ctx, c.Tx, o)
	f.ok("InTx", err)
	f.ok("the commit", c.Commit())
	f.effects(2)
	f.equal("the repeat's result", f.result(h.Do, o), first)

	c = f.Begin()
	again, err := h.InTx(f.ctx, c.Tx, o)
	f.ok("InTx of a repeat", err)
	f.equal("the repeat's result", again, first)
	f.ok("the commit", c.Commit())
	f.effects(2)
	f.outcomes(map[idem.Outcome]int{idem.OutcomeJoined: 3, idem.OutcomeDuplicate: 2})
}

func (f *fixture[Tx]) joinedFails() {
	leave := map[string]func(context.Context, Tx, order) error{
		"error":           func(context.Context, Tx, order) error { return errBusiness },
		"a refused query": func(ctx context.Context, tx Tx, _ order) error { return f.Refused(ctx, tx) },
		"panic":           func(context.Context, Tx, order) error { panic(errDeath) },
	}
	var how func(context.Context, Tx, order) error
	h, _ := f.joined(f.then(func(ctx context.Context, tx Tx, o order) error {
		if how == nil {
			return nil
		}
		return how(ctx, tx, o)
	}))
	o := fresh()
	c := f.Begin()
	f.ok("the caller's effect", f.Effect(f.ctx, c.Tx, "before"))
	for name, how2 := range leave {
		how = how2
		left, err := outside(func() error { _, err := h.InTx(f.ctx, c.Tx, o); return err })
		if left == nil && err == nil {
			f.Fatalf("%s: no error", name)
		}
	}
	how = nil
	_, err := h.InTx(f.ctx, c.Tx, o)
	f.ok("InTx", err)
	f.ok("the commit", c.Commit())
	f.effects(2)
	f.states("done")
}

func (f *fixture[Tx]) joinedTwice() {
	h, audit := f.joined(f.place)
	o := fresh()
	f.result(h.Do, o)
	f.expire()
	c := f.Begin()
	_, err := h.InTx(f.ctx, c.Tx, o)
	f.ok("InTx takes the expired row over", err)
	for range 2 {
		_, err = h.InTx(f.ctx, c.Tx, o)
		f.is(err, idem.ErrReentrant)
	}
	_, err = audit.InTx(f.ctx, c.Tx, o)
	f.ok("another handler", err)
	_, err = audit.InTx(f.ctx, c.Tx, o)
	f.is(err, idem.ErrReentrant)
	f.ok("the commit", c.Commit())
	f.effects(3)
	f.result(h.Do, o)
	f.effects(3)
}

func (f *fixture[Tx]) joinedPermanent() {
	h, _ := f.joined(f.then(func(context.Context, Tx, order) error { return idem.Permanent(errBusiness) }))
	honest, _ := f.joined(f.place)
	o := fresh()
	for _, commits := range []bool{false, true} {
		c := f.Begin()
		_, err := h.InTx(f.ctx, c.Tx, o)
		as[*idem.FailedError](f, err)
		if !commits {
			f.ok("the rollback", c.Rollback())
			f.clean()
			continue
		}
		f.ok("the commit", c.Commit())
		_, err = honest.Do(f.ctx, o)
		as[*idem.FailedError](f, err)
		f.effects(0)
	}
}
