package idemtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"
)

// transitionScenarios put the promises of transitions to the test.
func transitionScenarios[Tx any]() []scenario[Tx] {
	type f = fixture[Tx]
	with := func(more ...Need) []Need { return append([]Need{NeedSteps, NeedTransactions}, more...) }
	all := []scenario[Tx]{
		{promise: "T1", name: "effects 36 one row at once by two guards", levels: true, run: (*f).stepAtOnce},
		{promise: "T1", name: "effects 38 the first fails", run: (*f).stepRivalFails},
		{promise: "T2", name: "row and effect", run: (*f).stepOnce},
		{promise: "T2", name: "effects 19 the handler fails", run: (*f).stepFails},
		{promise: "T2", name: "killed in the transaction", needs: with(NeedProcesses), run: (*f).stepKilled},
		{promise: "T2", name: "effects 32 killed after the commit", needs: with(NeedProcesses), run: (*f).stepKilledLate},
		{promise: "T3", name: "effects 37 a repeat, and a late one", run: (*f).stepRepeats},
		{promise: "T4", name: "another state, no row, no identity", run: (*f).stepRefused},
		{promise: "T5", name: "another version", run: (*f).stepStale},
		{promise: "T6", name: "many rows", run: (*f).stepManyRows},
		{promise: "T7", name: "late, doubled and disordered events", run: (*f).stepLives},
		{promise: "T8", name: "two events for one state", run: (*f).stepWithKey},
		{promise: "T9", name: "effects 16 it took place", needs: with(NeedCommitFaults), setup: Setup{Faults: true}, run: (*f).stepCommitLost},
		{promise: "T9", name: "effects 16 it did not arrive", needs: with(NeedCommitFaults), setup: Setup{Faults: true}, run: (*f).stepCommitBroken},
		{promise: "T10", name: "effects 18 a rival holds the row", run: (*f).stepWaits},
		{promise: "T11", name: "effects 39 a trigger that meddles", run: (*f).stepMeddledWith},
		{promise: "T11", name: "effects 39 a trigger that suppresses", needs: with(NeedSuppression), run: (*f).stepSuppressed},
		{promise: "T12", name: "shares the caller's fate", run: (*f).stepJoins},
		{promise: "T12", name: "what is refused or fails is undone alone", run: (*f).stepJoinedFails},
		{promise: "T13", name: "with code, without, and repeats", needs: with(NeedRoundTrips), setup: Setup{Alone: true}, run: (*f).stepRoundTrips},
	}
	for i := range all {
		all[i].setup.Steps = true
		if all[i].needs == nil {
			all[i].needs = with()
		}
	}
	return all
}

func (f *fixture[Tx]) stepAtOnce() {
	const deliveries = 12
	o := f.item("pending")
	guards := []delivering{f.moving(confirm, f.place, f.long()), f.moving(confirm, f.place, f.long())}
	var all sync.WaitGroup
	for i := range deliveries {
		all.Go(func() {
			if _, err := guards[i%len(guards)](f.ctx, o); err != nil {
				f.Errorf("a delivery: %v", err)
			}
		})
	}
	all.Wait()
	f.outcomes(map[idem.Outcome]int{idem.OutcomeExecuted: 1, idem.OutcomeDuplicate: deliveries - 1})
	f.effects(1)
	f.at(o, "confirmed", 2)
}

func (f *fixture[Tx]) stepRivalFails() {
	o, p := f.item("pending"), newParked()
	d := f.moving(confirm, f.parking(p), f.long())
	first := f.deliver(f.ctx, d, o)
	f.await("the first delivery's handler", p.reached)
	second := f.deliver(f.ctx, d, o)
	f.AwaitRivals(1)
	p.letGo <- errBusiness
	f.is((<-first).err, errBusiness)
	f.ok("the second delivery", (<-second).err)
	f.effects(1)
	f.at(o, "confirmed", 2)
}

func (f *fixture[Tx]) stepOnce() {
	for i, d := range f.twoWays(confirm) {
		o := f.item("pending")
		for _, want := range []idem.Outcome{idem.OutcomeExecuted, idem.OutcomeDuplicate} {
			f.result(d, o)
			f.ended(want)
		}
		f.at(o, "confirmed", 2)
		f.equal("runs", f.runs.Load(), int64(1))
		f.effects(1)
		if rows := f.Rows(); len(rows) > 0 {
			f.Fatalf("way %d has left the keys %+v", i, rows)
		}
	}
}

func (f *fixture[Tx]) stepFails() {
	o, fails := f.item("pending"), errBusiness
	d := f.moving(confirm, f.then(func(context.Context, Tx, order) error {
		if fails == nil {
			panic("the handler's")
		}
		return fails
	}))
	f.wants(d, o, errBusiness)
	f.ended(idem.OutcomeError)
	f.at(o, "pending", 1)
	fails = nil
	left, _ := outside(func() error { _, err := d(f.ctx, o); return err })
	f.equal("the panic", left, any("the handler's"))
	f.at(o, "pending", 1)
	f.clean()
	f.result(f.moving(confirm, f.place), o)
	f.effects(1)
	f.at(o, "confirmed", 2)
}

func (f *fixture[Tx]) stepKilled() {
	o := f.item("pending")
	f.Kill(Job{StageStepping, o.ID})
	f.at(o, "pending", 1)
	f.clean()
	f.result(f.moving(confirm, f.place), o)
	f.ended(idem.OutcomeExecuted)
	f.effects(1)
	f.at(o, "confirmed", 2)
}

func (f *fixture[Tx]) stepKilledLate() {
	o := f.item("pending")
	f.Kill(Job{StageStepped, o.ID})
	f.at(o, "confirmed", 2)
	f.result(f.moving(confirm, f.place), o)
	f.ended(idem.OutcomeDuplicate)
	f.effects(1)
	f.at(o, "confirmed", 2)
}

func (f *fixture[Tx]) stepRepeats() {
	for _, d := range f.twoWays(confirm) {
		for _, state := range []string{"confirmed", "shipped"} {
			o := f.item(state)
			f.result(d, o)
			f.ended(idem.OutcomeDuplicate)
			f.at(o, state, 1)
		}
	}
	f.clean()
}

func (f *fixture[Tx]) stepRefused() {
	for _, c := range []struct {
		have string
		step
	}{{"cancelled", confirm}, {"pending", ship}, {"shipped", cancelled}} {
		for _, d := range f.twoWays(c.step) {
			o := f.item(c.have)
			_, err := d(f.ctx, o)
			f.equal("the conflict", *as[*idem.ConflictError](f, err), idem.ConflictError{Column: stepColumn, Have: c.have, Want: c.to})
			f.ended(idem.OutcomeConflict)
			f.at(o, c.have, 1)
		}
	}
	for _, d := range f.twoWays(confirm) {
		f.wants(d, fresh(), idem.ErrRowNotFound)
		f.wants(d, order{Tenant: "acme"}, idem.ErrZeroKey)
		f.ended(idem.OutcomeError)
	}
	f.clean()
}

func (f *fixture[Tx]) stepStale() {
	knowing := confirm
	knowing.knows = true
	for _, d := range f.twoWays(knowing) {
		o := f.item("pending")
		o.Total = 4
		f.wants(d, o, idem.ErrStaleVersion)
		f.ended(idem.OutcomeConflict)
		_, err := d(f.ctx, o)
		f.equal("the versions", *as[*idem.StaleVersionError](f, err), idem.StaleVersionError{Column: stepColumn, Have: 1, Want: 4})
		f.at(o, "pending", 1)
		o.Total = 1
		for _, want := range []idem.Outcome{idem.OutcomeExecuted, idem.OutcomeDuplicate} {
			f.result(d, o)
			f.ended(want)
		}
		f.at(o, "confirmed", 2)
		f.effects(1)
		o.Total = 3 // which the row has not come to: that event is not the one that moved it
		f.wants(d, o, idem.ErrStaleVersion)
		f.at(o, "confirmed", 2)
	}
}

func (f *fixture[Tx]) stepManyRows() {
	vague := confirm
	vague.many = true
	for i, d := range f.twoWays(vague) {
		for _, state := range []string{"pending", "cancelled"} { // of the other one
			a, b := fresh(), fresh()
			a.Tenant = a.ID
			f.Steps.Put(a.ID, a.Tenant, "pending")
			f.Steps.Put(b.ID, a.Tenant, state)
			f.wants(d, a, idem.ErrManyRows)
			f.ended(idem.OutcomeError)
			f.at(a, "pending", 1)
			f.at(b, state, 1)
			f.effects(i)
		}

		one := fresh()
		one.Tenant = one.ID
		f.wants(d, one, idem.ErrRowNotFound)
		f.Steps.Put(one.ID, one.Tenant, "pending")
		f.result(d, one)
		f.result(d, one)
		f.ended(idem.OutcomeDuplicate)
		f.at(one, "confirmed", 2)
		f.effects(1)
	}
}

// stepLives delivers the steps of items to several workers, three times each and in any order. Each is done, or refused by the
// item's state. An item's version tells how many steps it has made.
func (f *fixture[Tx]) stepLives() {
	const items, workers, copies = 20, 8, 3
	type event struct {
		order
		d delivering
	}
	steps := []delivering{f.moving(confirm, f.place, f.long()), f.moving(ship, f.place, f.long()), f.moving(cancelled, f.place, f.long())}
	var all []order
	var events []event
	for range items {
		o := f.item("pending")
		all = append(all, o)
		for _, d := range steps {
			for range copies {
				events = append(events, event{o, d})
			}
		}
	}
	rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	var work sync.WaitGroup
	for w := range workers {
		work.Go(func() {
			for i := w; i < len(events); i += workers {
				_, err := events[i].d(f.ctx, events[i].order)
				if conflict := (*idem.ConflictError)(nil); err != nil && !errors.As(err, &conflict) {
					f.Errorf("a delivery: %v", err)
				}
			}
		})
	}
	work.Wait()
	steppedOn := 0
	for _, o := range all {
		state, version := f.Steps.At(o.ID)
		steppedOn += int(version) - 1
		// Every item has been asked to be cancelled, so that it is, unless it was shipped before.
		if ways := map[string][]int64{"shipped": {3}, "cancelled": {2, 3}}; !slices.Contains(ways[state], version) {
			f.Errorf("an item is %s after %d steps", state, version-1)
		}
	}
	f.effects(steppedOn)
	f.equal("deliveries that ran", f.executed(), steppedOn)
}

// executed is how many deliveries have run and committed.
func (f *fixture[Tx]) executed() (n int) {
	for _, d := range f.deliveries() {
		if d.Outcome == idem.OutcomeExecuted {
			n++
		}
	}
	return n
}

func (f *fixture[Tx]) stepWithKey() {
	d := f.paying(confirm, f.place)
	o := f.item("pending")
	first := f.result(d, o)
	f.at(o, "confirmed", 2)
	f.result(f.moving(ship, nil), o)
	f.equal("the repeat's result", f.result(d, o), first)
	f.ended(idem.OutcomeDuplicate)

	// Another event for the same row.
	other := o
	other.Tenant = "another"
	for range 2 {
		_, err := d(f.ctx, other)
		f.equal("the conflict", *as[*idem.ConflictError](f, err), idem.ConflictError{Column: stepColumn, Have: "shipped", Want: "confirmed"})
		f.ended(idem.OutcomeConflict)
	}
	f.states("done")
	f.at(o, "shipped", 3)
	f.effects(1)
}

func (f *fixture[Tx]) stepCommitLost() {
	o := f.item("pending")
	f.LoseCommit()
	f.result(f.moving(confirm, f.place), o)
	f.ended(idem.OutcomeSettled)
	f.effects(1)
	f.at(o, "confirmed", 2)
}

func (f *fixture[Tx]) stepCommitBroken() {
	o := f.item("pending")
	broken := f.BreakCommit()
	f.result(f.moving(confirm, f.place), o)
	f.await("the broken commit", broken)
	f.ended(idem.OutcomeExecuted)
	f.effects(1)
	f.at(o, "confirmed", 2)
	f.equal("runs", f.runs.Load(), int64(2))
}

func (f *fixture[Tx]) stepWaits() {
	o := f.item("pending")
	rival := f.Begin()
	f.ok("the rival's step", f.steps(confirm, nil).InTx(f.ctx, rival.Tx, o))
	second := idem.WithInFlightTimeout(time.Second)
	inCallers := func(ctx context.Context, o order) (receipt, error) {
		c := f.Begin()
		err := f.steps(confirm, f.place, second).InTx(ctx, c.Tx, o)
		f.ok("the caller's rollback", c.Rollback())
		return receipt{}, err
	}
	for _, d := range append(f.twoWays(confirm, second), f.paying(confirm, f.place, second), inCallers) {
		_, err := d(f.ctx, o)
		if busy := as[*idem.InProgressError](f, err); busy.RetryAfter <= 0 {
			f.Errorf("in progress, and to be tried again after %s", busy.RetryAfter)
		}
		f.ended(idem.OutcomeInProgress)
	}
	f.ok("the rival's rollback", rival.Rollback())
	f.at(o, "pending", 1)
	f.clean()
	f.result(f.moving(confirm, f.place), o)
	f.at(o, "confirmed", 2)
}

func (f *fixture[Tx]) stepMeddledWith() {
	f.Steps.Meddle()
	for _, d := range f.twoWays(confirm) {
		o := f.item("pending")
		for _, want := range []idem.Outcome{idem.OutcomeExecuted, idem.OutcomeDuplicate} {
			f.result(d, o)
			f.ended(want)
		}
		f.at(o, "confirmed", 2)
		f.effects(1)
	}
}

func (f *fixture[Tx]) stepSuppressed() {
	f.Steps.Suppress()
	for _, d := range append(f.twoWays(confirm), f.paying(confirm, f.place)) {
		o := f.item("pending")
		f.wants(d, o, idem.ErrUnmoved)
		f.ended(idem.OutcomeError)
		f.at(o, "pending", 1)
	}
	f.clean()
}

func (f *fixture[Tx]) stepJoins() {
	for i, t := range []*idem.Transition[Tx, order]{f.steps(confirm, f.place), f.steps(confirm, nil)} {
		o := f.item("pending")
		back := f.Begin()
		f.ok("the step", t.InTx(f.ctx, back.Tx, o))
		f.ended(idem.OutcomeJoined)
		f.ok("its repeat", t.InTx(f.ctx, back.Tx, o))
		f.ended(idem.OutcomeDuplicate)
		f.ok("the rollback", back.Rollback())
		f.at(o, "pending", 1)
		f.effects(i)

		c := f.Begin()
		f.ok("the step", t.InTx(f.ctx, c.Tx, o))
		f.ok("the commit", c.Commit())
		f.at(o, "confirmed", 2)
		f.effects(1)
	}
}

func (f *fixture[Tx]) stepJoinedFails() {
	o, refused := f.item("pending"), f.item("cancelled")
	c := f.Begin()
	f.is(f.steps(confirm, f.then(func(context.Context, Tx, order) error { return errBusiness })).InTx(f.ctx, c.Tx, o), errBusiness)
	for _, t := range []*idem.Transition[Tx, order]{f.steps(confirm, f.place), f.steps(confirm, nil)} {
		as[*idem.ConflictError](f, t.InTx(f.ctx, c.Tx, refused))
		f.ended(idem.OutcomeConflict)
	}
	f.ok("the step", f.steps(confirm, f.place).InTx(f.ctx, c.Tx, o))
	f.ok("the commit", c.Commit())
	f.at(o, "confirmed", 2)
	f.at(refused, "cancelled", 1)
	f.effects(1)
}

func (f *fixture[Tx]) stepRoundTrips() {
	coded, bare := f.moving(confirm, f.place), f.moving(confirm, nil)
	trips := func(d delivering, o order) int {
		return f.RoundTrips(func() { f.result(d, o) })
	}
	f.warm(coded)
	f.warm(bare)
	f.ok("the bare transaction", f.Bare(f.ctx))
	f.equal("with code, beside a bare transaction", trips(coded, f.item("pending")), f.RoundTrips(func() { f.ok("the bare transaction", f.Bare(f.ctx)) }))
	f.equal("without code", trips(bare, f.item("pending")), 1)
	f.equal("a repeat with code", trips(coded, f.item("confirmed")), 2)
	f.equal("a repeat without", trips(bare, f.item("confirmed")), 2)
}

// warm delivers twice what is executed and what is a repeat, for the connection to know the statements.
func (f *fixture[Tx]) warm(d delivering) {
	for range 2 {
		o := f.item("pending")
		f.result(d, o)
		f.result(d, o)
	}
}
