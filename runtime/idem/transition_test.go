package idem

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/fault"
	"github.com/idemgen/idemgen/runtime/internal/memory"
	"github.com/idemgen/idemgen/runtime/store"
)

// fakeTable is a table of one row in memory, and a driver for transitions of it. What is not committed is gone.
type fakeTable struct {
	*fakeDB

	mu    sync.Mutex
	state string // "" where there is no row
	rows  int64  // how many the row's identity names
	// faults are what the next updates are answered with, before anything is done; nil for nothing.
	faults []error
	// fates are what the next commits are answered with: the error, and whether they took place all the same.
	fates []fateOf
	// stuck has updates change nothing, as a trigger can.
	stuck bool
	// before is called before each update, outside of the lock.
	before  func()
	updates int
	effects []string
	open    int
}

type fateOf struct {
	err       error
	committed bool
}

// tableTx is what transitions' handlers get, and what their statements run on.
type tableTx struct {
	t       *fakeTable
	state   *string // what the transaction makes of the row
	effects *[]string
}

func (t *fakeTable) begin() tableTx {
	t.mu.Lock()
	defer t.mu.Unlock()
	state := t.state
	return tableTx{t, &state, &[]string{}}
}

func (t *fakeTable) Acquire(context.Context) (driver.Session[tableTx], error) { return nil, errBroken }
func (t *fakeTable) Join(tableTx) (driver.Session[tableTx], error)            { return nil, errBroken }

func (t *fakeTable) Update(ctx context.Context, _ time.Duration, update func(context.Context, tableTx) (int64, error)) (int64, error) {
	s := &tableSession{t: t}
	n, err := s.Update(ctx, 0, update)
	if err != nil || n != 1 {
		return n, err
	}
	return n, s.Commit(ctx, nil)
}

func (t *fakeTable) Look(ctx context.Context, look func(context.Context, tableTx) error) error {
	return look(ctx, t.begin())
}

func (t *fakeTable) AcquireTransition(context.Context) (driver.TransitionSession[tableTx, tableTx], error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open++
	return &tableSession{t: t, held: true}, nil
}

func (t *fakeTable) JoinTransition(tx tableTx) (driver.TransitionSession[tableTx, tableTx], error) {
	return &tableSession{t: t, tx: tx, joined: true}, nil
}

type tableSession struct {
	t      *fakeTable
	tx     tableTx
	held   bool
	joined bool
}

func (s *tableSession) Update(ctx context.Context, _ time.Duration, update func(context.Context, tableTx) (int64, error)) (int64, error) {
	if s.t.before != nil {
		s.t.before()
	}
	s.t.mu.Lock()
	s.t.updates++
	var fault error
	if len(s.t.faults) > 0 {
		fault, s.t.faults = s.t.faults[0], s.t.faults[1:]
	}
	s.t.mu.Unlock()
	if fault != nil {
		return 0, fault
	}
	if !s.joined {
		s.tx = s.t.begin()
	}
	return update(ctx, s.tx)
}

func (s *tableSession) Look(ctx context.Context, look func(context.Context, tableTx) error) error {
	return s.t.Look(ctx, look)
}

func (s *tableSession) Read(ctx context.Context, _ time.Duration, look func(context.Context, tableTx) error) error {
	return look(ctx, s.tx)
}

func (s *tableSession) Tx() tableTx { return s.tx }

func (s *tableSession) Commit(context.Context, *store.Completion) error {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	var f fateOf
	if len(s.t.fates) > 0 {
		f, s.t.fates = s.t.fates[0], s.t.fates[1:]
	}
	if f.err == nil || f.committed {
		s.t.state = *s.tx.state
		s.t.effects = append(s.t.effects, *s.tx.effects...)
	}
	return f.err
}

func (s *tableSession) Close(context.Context) {
	if s.held {
		s.t.mu.Lock()
		s.t.open--
		s.t.mu.Unlock()
	}
}

func newTable(t *testing.T, state string) *fakeTable {
	table := &fakeTable{fakeDB: newFake(t), state: state, rows: 1}
	t.Cleanup(func() {
		if table.open != 0 {
			t.Errorf("%d connections were not given back", table.open)
		}
	})
	return table
}

func (t *fakeTable) guard(opts ...Option) *Guard[tableTx] {
	return NewGuard(func(driver.Config) (driver.Driver[tableTx], error) { return t, nil }, opts...)
}

func confirming() TransitionSpec[tableTx, string] {
	return TransitionSpec[tableTx, string]{
		Name: "orders.Confirm", Column: "orders.status", From: []string{"pending", "paid"}, To: "confirmed", Past: []string{"confirmed", "shipped"}, OneRow: true,
		Row: func(id string) (string, error) {
			var k KeyBuilder
			k.String("ID", id)
			return k.Key()
		},
		Update: func(_ context.Context, tx tableTx, _ string) (int64, error) {
			if tx.t.stuck || *tx.state != "pending" && *tx.state != "paid" {
				return 0, nil
			}
			*tx.state = "confirmed"
			return tx.t.rows, nil
		},
		Look: func(_ context.Context, tx tableTx, _ string) (RowState, error) {
			if *tx.state == "" {
				return RowState{}, sql.ErrNoRows
			}
			return RowState{State: *tx.state, Rows: tx.t.rows}, nil
		},
	}
}

func effect(_ context.Context, tx tableTx, id string) error {
	*tx.effects = append(*tx.effects, id)
	return nil
}

var errLostAnswer = &driver.CommitError{Fate: driver.Unknown, Err: errBroken}

// Each way that a transition can end, with a handler and without.
func TestTransition(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state   string
		set     func(*fakeTable)
		id      string
		options []Option
		end     string // the row's state
		ran     int    // of a handler, committed
		outcome Outcome
		is      error // what errors.Is finds; nil for success
		retries int
	}{
		"moves":                    {state: "pending", end: "confirmed", ran: 1, outcome: OutcomeExecuted},
		"from the other state":     {state: "paid", end: "confirmed", ran: 1, outcome: OutcomeExecuted},
		"is there":                 {state: "confirmed", end: "confirmed", outcome: OutcomeDuplicate},
		"has been there":           {state: "shipped", end: "shipped", outcome: OutcomeDuplicate},
		"is elsewhere":             {state: "cancelled", end: "cancelled", outcome: OutcomeConflict, is: &ConflictError{}},
		"no row":                   {state: "", end: "", outcome: OutcomeError, is: ErrRowNotFound},
		"no identity":              {state: "pending", id: "-", end: "pending", outcome: OutcomeError, is: ErrZeroKey},
		"a deadlock, and again":    {state: "pending", set: func(f *fakeTable) { f.faults = []error{errConflict, errLocked} }, end: "confirmed", ran: 1, outcome: OutcomeExecuted, retries: 2},
		"a rival that stays":       {state: "pending", set: func(f *fakeTable) { f.faults = []error{errBusy} }, end: "pending", outcome: OutcomeInProgress, is: &InProgressError{}},
		"an error of the database": {state: "pending", set: func(f *fakeTable) { f.faults = []error{errBroken} }, end: "pending", outcome: OutcomeError, is: errBroken},
		"a table that will not do": {state: "pending", set: func(f *fakeTable) { f.faults = []error{errMisfit} }, end: "pending", outcome: OutcomeError, is: errMisfit},
		"suppressed":               {state: "pending", set: func(f *fakeTable) { f.stuck = true }, end: "pending", outcome: OutcomeError, is: ErrUnmoved, retries: maxUnmoved},
		"committed, unanswered":    {state: "pending", set: func(f *fakeTable) { f.fates = []fateOf{{errLostAnswer, true}} }, end: "confirmed", ran: 1, outcome: OutcomeSettled},
		"not committed, unanswered": {
			state: "pending", set: func(f *fakeTable) { f.fates = []fateOf{{errLostAnswer, false}} }, end: "confirmed", ran: 1, outcome: OutcomeExecuted, retries: 1,
		},
		"unanswered, and the answer to the question busy": {
			state: "pending", set: func(f *fakeTable) { f.fates, f.faults = []fateOf{{errLostAnswer, true}}, []error{nil, errBusy} },
			end: "confirmed", ran: 1, outcome: OutcomeSettled,
		},
		"unanswered for good": {
			state: "pending", options: []Option{WithInFlightTimeout(20 * time.Millisecond)},
			set: func(f *fakeTable) {
				f.fates, f.faults = []fateOf{{errLostAnswer, true}}, append([]error{nil}, slices.Repeat([]error{errBroken}, 1000)...)
			},
			end: "confirmed", ran: 1, outcome: OutcomeError, is: ErrCommitUnknown,
		},
		"lost without retries": {
			state: "pending", options: []Option{WithRetries(0)}, set: func(f *fakeTable) { f.fates = []fateOf{{errLostAnswer, false}} },
			end: "pending", outcome: OutcomeError, is: errBroken,
		},
	} {
		for _, code := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " code ", code), func(t *testing.T) {
				t.Parallel()
				table := newTable(t, c.state)
				if c.set != nil {
					c.set(table)
				}
				var w watcher
				run := effect
				if !code {
					run = nil
				}
				id := "o-1"
				if c.id != "" {
					id = ""
				}
				tr := NewTransition(table.guard(append(c.options, WithObserver(&w))...), confirming(), run)
				err := tr.Do(t.Context(), id)
				checkIs(t, err, c.is)
				if table.state != c.end {
					t.Errorf("the row is %q, want %q", table.state, c.end)
				}
				if code && len(table.effects) != c.ran || !code && len(table.effects) != 0 {
					t.Errorf("effects %v, want %d", table.effects, c.ran)
				}
				got := w.last(t)
				if got.Outcome != c.outcome || got.Retries != c.retries || got.Handler != "orders.Confirm" {
					t.Errorf("observed %+v, want %s and %d retries", got, c.outcome, c.retries)
				}
			})
		}
	}
}

// checkIs holds an error against what it should be: nil, a sentinel, or an error of a type.
func checkIs(t *testing.T, err, want error) {
	t.Helper()
	var wrapped *Error
	switch want := want.(type) {
	case nil:
		if err != nil {
			t.Fatal(err)
		}
		return
	case *ConflictError:
		var conflict *ConflictError
		if !errors.As(err, &conflict) || *conflict != (ConflictError{"orders.status", "cancelled", "confirmed"}) {
			t.Fatalf("%v is no such conflict", err)
		}
	case *InProgressError:
		var busy *InProgressError
		if !errors.As(err, &busy) {
			t.Fatalf("%v is not in progress", err)
		}
	default:
		if !errors.Is(err, want) {
			t.Fatalf("%v is not %v", err, want)
		}
	}
	if !errors.As(err, &wrapped) || wrapped.Handler != "orders.Confirm" {
		t.Fatalf("%v does not name the handler", err)
	}
}

// A row that has moved to a state that the transition begins in, between the UPDATE and the look, is moved by another UPDATE.
func TestTransitionMovedMeanwhile(t *testing.T) {
	t.Parallel()
	table := newTable(t, "draft")
	spec := confirming()
	look := spec.Look
	spec.Look = func(ctx context.Context, tx tableTx, id string) (RowState, error) {
		table.mu.Lock()
		table.state = "pending"
		table.mu.Unlock()
		return look(ctx, table.begin(), id)
	}
	tr := NewTransition(table.guard(), spec, effect)
	if err := tr.Do(t.Context(), "o-1"); err != nil || table.state != "confirmed" || table.updates != 2 {
		t.Fatalf("%v, %s after %d updates", err, table.state, table.updates)
	}
}

// More than one row is an error that rolls back.
func TestTransitionManyRows(t *testing.T) {
	t.Parallel()
	table := newTable(t, "pending")
	table.rows = 2
	spec := confirming()
	spec.OneRow = false
	for _, run := range []func(context.Context, tableTx, string) error{effect, nil} {
		err := NewTransition(table.guard(), spec, run).Do(t.Context(), "o-1")
		checkIs(t, err, ErrManyRows)
		if table.state != "pending" || len(table.effects) != 0 {
			t.Errorf("%s, %v", table.state, table.effects)
		}
	}
}

// What a handler wants done after the commit is done after it, once, and not where nothing is known to have been committed by
// this run.
func TestTransitionAfterCommit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fates []fateOf
		want  int
	}{
		"answered":        {nil, 1},
		"settled":         {[]fateOf{{errLostAnswer, true}}, 0},
		"not, then again": {[]fateOf{{errLostAnswer, false}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table := newTable(t, "pending")
			table.fates = c.fates
			called := 0
			tr := NewTransition(table.guard(), confirming(), func(ctx context.Context, tx tableTx, id string) error {
				if run, ok := FromContext(ctx); !ok || run.Key != "o-1" || run.Handler != "orders.Confirm" {
					t.Errorf("run %+v", run)
				}
				return AfterCommit(ctx, func(context.Context) {
					called++
					if table.state != "confirmed" {
						t.Error("before the commit")
					}
				})
			})
			if err := tr.Do(t.Context(), "o-1"); err != nil || called != c.want {
				t.Fatalf("%v, called %d times", err, called)
			}
		})
	}
}

// A handler's conflict with another transaction is run again, and its own error is not.
func TestTransitionHandlerFails(t *testing.T) {
	t.Parallel()
	table := newTable(t, "pending")
	runs := 0
	tr := NewTransition(table.guard(), confirming(), func(ctx context.Context, tx tableTx, id string) error {
		if runs++; runs == 1 {
			return fmt.Errorf("the statement: %w", errConflict)
		}
		return effect(ctx, tx, id)
	})
	if err := tr.Do(t.Context(), "o-1"); err != nil || runs != 2 || len(table.effects) != 1 {
		t.Fatalf("%v after %d runs, %v", err, runs, table.effects)
	}
	table = newTable(t, "pending")
	own := Permanent(errors.New("no"))
	if err := NewTransition(table.guard(), confirming(), func(context.Context, tableTx, string) error { return own }).Do(t.Context(), "o-1"); err != own {
		t.Fatalf("%v is not the handler's own error", err)
	}
	if table.state != "pending" {
		t.Errorf("the row is %q", table.state)
	}
}

// In a caller's transaction the row is moved there, and only there.
func TestTransitionInTx(t *testing.T) {
	t.Parallel()
	table := newTable(t, "pending")
	var w watcher
	tr := NewTransition(table.guard(WithObserver(&w)), confirming(), nil)
	tx := table.begin()
	if err := tr.InTx(t.Context(), tx, "o-1"); err != nil || *tx.state != "confirmed" {
		t.Fatalf("%v, %s", err, *tx.state)
	}
	if w.last(t).Outcome != OutcomeJoined {
		t.Errorf("%+v", w.last(t))
	}
	table.faults = []error{errConflict}
	if err := tr.InTx(t.Context(), table.begin(), "o-1"); !errors.Is(err, errConflict) {
		t.Fatalf("%v: nothing is run again in a caller's transaction", err)
	}
}

// What generated code could get wrong is an error of every delivery.
func TestTransitionSpec(t *testing.T) {
	t.Parallel()
	table := newTable(t, "pending")
	for _, break_ := range []func(*TransitionSpec[tableTx, string]){
		func(s *TransitionSpec[tableTx, string]) { s.Name = "" },
		func(s *TransitionSpec[tableTx, string]) { s.From = nil },
		func(s *TransitionSpec[tableTx, string]) { s.Update = nil },
	} {
		spec := confirming()
		break_(&spec)
		if err := NewTransition(table.guard(), spec, nil).Do(t.Context(), "o-1"); err == nil {
			t.Error("no error")
		}
	}
	if err := NewTransition[tableTx](nil, confirming(), nil).Do(t.Context(), "o-1"); err == nil {
		t.Error("no error without a guard")
	}
	other := NewTransition[fakeTx, tableTx, string](newFake(t).guard(), confirming(), nil)
	if err := other.Do(t.Context(), "o-1"); err == nil {
		t.Error("no error with another driver's guard")
	}
}

// Keys in memory leave no transaction for a change of state, and the error says so. Faults that a harness asks for are the handlers':
// transitions run as ever.
func TestTransitionOfAHarness(t *testing.T) {
	t.Parallel()
	table := newTable(t, "pending")
	inMemory := WithDriverConfig(func(c *driver.Config) { c.Leases = memory.New() })
	if err := NewTransition(table.guard(inMemory), confirming(), nil).Do(t.Context(), "o-1"); !errors.Is(err, driver.ErrNoTransactions) {
		t.Errorf("got %v", err)
	}
	plan := fault.Plan{Commit: func(func() error) error { return errBroken }}
	if err := NewTransition(table.guard(WithFaults(plan)), confirming(), effect).Do(t.Context(), "o-1"); err != nil || table.state != "confirmed" {
		t.Errorf("got %v, %s", err, table.state)
	}
}
