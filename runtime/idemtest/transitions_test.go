package idemtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/memory"
	"github.com/idemgen/idemgen/runtime/store"
)

// stepsInMemory are the steps of the driver in memory.
func stepsInMemory(db *memory.DB) *Steps[*memory.Tx] {
	about := func(s Step) func(string, memory.Item) bool {
		return func(name string, it memory.Item) bool { return name == s.ID || s.ID == "" && it.Group == s.Group }
	}
	steps := NewSteps[*memory.Tx](StepQueries[*memory.Tx]{
		Update: func(ctx context.Context, tx *memory.Tx, s Step) (int64, error) {
			return tx.Move(ctx, func(name string, it memory.Item) bool {
				return about(s)(name, it) && slices.Contains(s.From, it.State) && (s.Expect == nil || *s.Expect == it.Version)
			}, s.To)
		},
		Look: func(_ context.Context, tx *memory.Tx, s Step) (row idem.RowState, err error) {
			names := tx.Find(about(s))
			if len(names) > 0 || s.ID != "" {
				var it memory.Item
				it, err = tx.Get(append(names, s.ID)[0])
				row = idem.RowState{State: it.State, Version: it.Version, Rows: int64(len(names))}
			}
			return row, err
		},
	})
	steps.Put = func(id, group, state string) {
		db.PutItem(id, memory.Item{Group: group, State: state, Version: 1})
	}
	steps.At = func(id string) (string, int64) {
		it := db.Item(id)
		return it.State, it.Version
	}
	steps.Meddle, steps.Suppress = db.Meddle, db.Suppress
	return steps
}

// The sessions of transitions, each with one thing wrong.
type (
	stepSession = driver.TransitionSession[*memory.Tx, *memory.Tx]
	stepUpdate  = func(context.Context, *memory.Tx) (int64, error)
)

// stepping is a driver whose transitions are changed.
type stepping struct {
	driver.Driver[*memory.Tx]
	driver.Transitions[*memory.Tx, *memory.Tx]
	change func(stepSession) stepSession
}

func onSteps(change func(stepSession) stepSession) func(driver.Driver[*memory.Tx]) driver.Driver[*memory.Tx] {
	return func(d driver.Driver[*memory.Tx]) driver.Driver[*memory.Tx] {
		return stepping{d, d.(*memory.DB), change}
	}
}

func (s stepping) AcquireTransition(ctx context.Context) (stepSession, error) {
	session, err := s.Transitions.AcquireTransition(ctx)
	if err != nil {
		return nil, err
	}
	return s.change(session), nil
}

// joinless takes a transaction of the caller's for one of its own.
type joinless struct{ stepping }

func (s joinless) JoinTransition(*memory.Tx) (stepSession, error) {
	return s.Transitions.AcquireTransition(context.Background())
}

type (
	alwaysMoves   struct{ stepSession }
	keepsAll      struct{ stepSession }
	impatient     struct{ stepSession }
	movesAtOnce   struct{ stepSession }
	forgetfulStep struct{ stepSession }
	leakyStep     struct{ stepSession }
)

func (s alwaysMoves) Update(ctx context.Context, wait time.Duration, update stepUpdate) (int64, error) {
	n, err := s.stepSession.Update(ctx, wait, update)
	return max(n, 1), err
}

// Close commits what is to be rolled back.
func (s keepsAll) Close(ctx context.Context) {
	_ = s.Tx().Commit() // nothing, where it has ended
	s.stepSession.Close(ctx)
}

func (s impatient) Update(ctx context.Context, _ time.Duration, update stepUpdate) (int64, error) {
	return s.stepSession.Update(ctx, 0, update)
}

// Update commits what should share the fate of the handler's effects.
func (s movesAtOnce) Update(ctx context.Context, wait time.Duration, update stepUpdate) (int64, error) {
	n, err := s.stepSession.Update(ctx, wait, update)
	if err != nil || n != 1 {
		return n, err
	}
	if err := s.Tx().Commit(); err != nil {
		return 0, err
	}
	return s.stepSession.Update(ctx, wait, func(context.Context, *memory.Tx) (int64, error) { return n, nil })
}

// Commit takes one whose answer is lost for one that did not take place, for which the event's repeat is told nothing.
func (s forgetfulStep) Commit(ctx context.Context, none *store.Completion) error {
	if err := s.stepSession.Commit(ctx, none); err != nil {
		return fmt.Errorf("the connection broke: %s", err)
	}
	return nil
}

func (leakyStep) Close(context.Context) {}

// stepBreakages are drivers that do one thing wrong in transitions.
var stepBreakages = map[string]breakage{
	"an UPDATE that says that it has moved a row": {
		wrap:   onSteps(func(s stepSession) stepSession { return alwaysMoves{s} }),
		misses: []string{"T1", "T2", "T3", "T4", "T5", "T7", "T11"},
	},
	"a rollback that commits": {
		wrap:   onSteps(func(s stepSession) stepSession { return keepsAll{s} }),
		misses: []string{"T2", "T6"},
	},
	"an UPDATE that does not wait": {
		wrap:   onSteps(func(s stepSession) stepSession { return impatient{s} }),
		misses: []string{"T1"},
	},
	"an UPDATE that commits at once": {
		wrap:   onSteps(func(s stepSession) stepSession { return movesAtOnce{s} }),
		misses: []string{"T2"},
	},
	"a commit of a transition whose fate is taken for an abort": {
		wrap:   onSteps(func(s stepSession) stepSession { return forgetfulStep{s} }),
		misses: []string{"T9"},
	},
	"a connection of a transition that is not given back": {
		wrap:   onSteps(func(s stepSession) stepSession { return leakyStep{s} }),
		misses: []string{"T2"},
	},
	"a savepoint that is a transaction": {
		wrap: func(d driver.Driver[*memory.Tx]) driver.Driver[*memory.Tx] {
			return joinless{stepping{d, d.(*memory.DB), nil}}
		},
		misses: []string{"T12"},
	},
}
