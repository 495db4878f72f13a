package idemtest

import (
	"context"

	"github.com/idemgen/idemgen/runtime/idem"
)

// Step is a change of state of the suite's, as a driver's statements have to take it.
type Step struct {
	// ID is the row's identity, by a unique key; where it is empty, the rows are those of the Group.
	ID, Group string
	From      []string
	To        string
	// Expect is the version that the row has to have; nil for any.
	Expect *int64
}

// StepQueries are a driver's statements for steps, on the DB that its transitions run on.
type StepQueries[DB any] struct {
	// Update moves the rows that the step is about and that are in one of its From states, adds one to their versions, and
	// returns how many those were. It is named Move, as the store's queries are named.
	Update func(context.Context, DB, Step) (int64, error)
	// Look reads where the row is: without one, sql.ErrNoRows for an ID, and no Rows for a Group.
	Look func(context.Context, DB, Step) (idem.RowState, error)
}

// Steps are a place's rows that have a state, and a driver's statements for them. [NewSteps] makes them.
type Steps[Tx any] struct {
	// Put makes a row of version 1.
	Put func(id, group, state string)
	// At is where a row is.
	At func(id string) (state string, version int64)
	// Meddle has a trigger do something to each row that is moved. Suppress has one keep rows from being moved, in silence.
	Meddle, Suppress func()

	transition func(*idem.Guard[Tx], step, func(context.Context, Tx, order) error) *idem.Transition[Tx, order]
	before     func(step, body[Tx]) body[Tx]
}

// NewSteps makes a place's Steps of a driver's statements. The caller adds the exported fields.
func NewSteps[Tx, DB any](q StepQueries[DB]) *Steps[Tx] {
	return &Steps[Tx]{
		transition: func(g *idem.Guard[Tx], s step, run func(context.Context, Tx, order) error) *idem.Transition[Tx, order] {
			return idem.NewTransition(g, stepSpec(s, q), run)
		},
		before: func(s step, run body[Tx]) body[Tx] { return idem.WithTransition(stepSpec(s, q), run) },
	}
}

// step is a transition of the suite's. An order says which row by its ID, or by its tenant where there may be many, and which
// version it knows by its total.
type step struct {
	name  string
	from  []string
	to    string
	past  []string
	many  bool
	knows bool
}

// The steps of an item's life.
var (
	confirm   = step{name: "Confirm", from: []string{"pending"}, to: "confirmed", past: []string{"confirmed", "shipped"}}
	ship      = step{name: "Ship", from: []string{"confirmed"}, to: "shipped", past: []string{"shipped"}}
	cancelled = step{name: "Cancel", from: []string{"pending", "confirmed"}, to: "cancelled", past: []string{"cancelled"}}
)

// stepColumn is what errors call the column.
const stepColumn = "items.state"

func stepSpec[DB any](s step, q StepQueries[DB]) idem.TransitionSpec[DB, order] {
	of := func(o order) Step {
		p := Step{ID: o.ID, From: s.from, To: s.to}
		if s.many {
			p.ID, p.Group = "", o.Tenant
		}
		if s.knows {
			p.Expect = &o.Total
		}
		return p
	}
	spec := idem.TransitionSpec[DB, order]{
		Name: "suite." + s.name, Column: stepColumn, From: s.from, To: s.to, Past: s.past, OneRow: !s.many,
		Row: func(o order) (string, error) {
			var k idem.KeyBuilder
			if s.many {
				k.String("Tenant", o.Tenant)
			} else {
				k.String("ID", o.ID)
			}
			return k.Key()
		},
		Update: func(ctx context.Context, db DB, o order) (int64, error) { return q.Update(ctx, db, of(o)) },
		Look:   func(ctx context.Context, db DB, o order) (idem.RowState, error) { return q.Look(ctx, db, of(o)) },
	}
	if s.knows {
		spec.Expect = func(o order) int64 { return o.Total }
	}
	return spec
}

// item is an order whose row is there.
func (f *fixture[Tx]) item(state string) order {
	o := fresh()
	f.Steps.Put(o.ID, o.Tenant, state)
	return o
}

// moving is the delivery of a transition; without a body it has no code.
func (f *fixture[Tx]) moving(s step, run body[Tx], opts ...idem.Option) delivering {
	t := f.steps(s, run, opts...)
	return func(ctx context.Context, o order) (receipt, error) { return receipt{}, t.Do(ctx, o) }
}

// steps is the transition itself.
func (f *fixture[Tx]) steps(s step, run body[Tx], opts ...idem.Option) *idem.Transition[Tx, order] {
	if run == nil {
		return f.Steps.transition(f.guard(opts...), s, nil)
	}
	return f.Steps.transition(f.guard(opts...), s, func(ctx context.Context, tx Tx, o order) error {
		_, err := run(ctx, tx, o)
		return err
	})
}

// paying is the delivery of a step with a key.
func (f *fixture[Tx]) paying(s step, run body[Tx], opts ...idem.Option) delivering {
	return f.handler(f.guard(opts...), f.Steps.before(s, run)).Do
}

// twoWays are a step with code and the same without.
func (f *fixture[Tx]) twoWays(s step, opts ...idem.Option) []delivering {
	return []delivering{f.moving(s, f.place, opts...), f.moving(s, nil, opts...)}
}

// at says where an order's row has to be.
func (f *fixture[Tx]) at(o order, state string, version int64) {
	f.Helper()
	type place struct {
		State   string
		Version int64
	}
	var got place
	got.State, got.Version = f.Steps.At(o.ID)
	f.equal("the row", got, place{state, version})
}

// ended says how the last delivery has to have ended.
func (f *fixture[Tx]) ended(want idem.Outcome) {
	f.Helper()
	all := f.deliveries()
	f.equal("the outcome", all[len(all)-1].Outcome, want)
}
