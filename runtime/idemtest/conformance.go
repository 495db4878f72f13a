package idemtest

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"
)

// Backend is a driver with its database, as the suite needs it.
type Backend[Tx any] struct {
	// Driver is the driver's name in the matrix.
	Driver string
	// Open makes a place for one scenario. It calls t's Cleanup for what has to end.
	Open func(t *testing.T, s Setup) Place[Tx]
	// Cannot says, of what the driver or its engine does not have, why. The scenarios that need it are not run, and the
	// matrix shows the reason.
	Cannot Cannot
	// Levels are the isolation levels that there are besides the driver's default.
	Levels []sql.IsolationLevel
	// Matrix collects what held; nil for nobody.
	Matrix *Matrix
	// Patience is how long a scenario may wait for what has to come; 0 is a minute.
	Patience time.Duration
}

// Need is something that not every driver or engine has.
type Need string

// Cannot holds, for each need that is not met, the reason.
type Cannot map[Need]string

// The needs of scenarios. A Place has to have the fields that are named, unless its Backend says that it cannot.
const (
	// NeedTransactions is a handler's effects and its key in one commit: Effect, Effects, Begin, AwaitRivals.
	NeedTransactions Need = "transactions"
	// NeedCommitFaults is a connection that breaks in COMMIT: LoseCommit, BreakCommit.
	NeedCommitFaults Need = "commit faults"
	// NeedHeldCommit is a COMMIT that takes its time, without its client: HoldCommit.
	NeedHeldCommit Need = "a held commit"
	// NeedAborts is a transaction that a failed statement has aborted as a whole: RefusedInSavepoint.
	NeedAborts Need = "aborted transactions"
	// NeedSurvives is the contrary: a failed statement is undone, and the transaction goes on.
	NeedSurvives Need = "statements that fail alone"
	// NeedRowLocks is a lock that keeps away only those who want the same key.
	NeedRowLocks Need = "row locks"
	// NeedTable is a table that somebody can have altered: DropTable, DropColumns, DropPrimaryKey.
	NeedTable Need = "a table"
	// NeedPermissions is a user who may not: Setup.Nobody, Grant.
	NeedPermissions Need = "permissions"
	// NeedZones is a session with a time zone: Setup.Zone.
	NeedZones Need = "time zones"
	// NeedLanguages is a database whose errors can come in another language: Translate.
	NeedLanguages Need = "languages"
	// NeedRoundTrips is a pipelining protocol whose round trips are promised, and counted: RoundTrips.
	NeedRoundTrips Need = "round trips"
	// NeedProcesses is a table that outlives its process: Kill.
	NeedProcesses Need = "processes"
	// NeedSteps is rows that have a state, and the statements that move them: Setup.Steps, Steps.
	NeedSteps Need = "transitions"
	// NeedSuppression is a trigger that keeps a row as it is without an error: Steps.Suppress.
	NeedSuppression Need = "suppressed updates"
)

// Setup is what a scenario asks of its place.
type Setup struct {
	// Faults has LoseCommit, BreakCommit, HoldCommit, LoseAnswer, Before and Translate work.
	Faults bool
	// Alone has the guard's database be one connection, whose round trips RoundTrips counts.
	Alone bool
	// Zone is the time zone of the guard's sessions; "" leaves it.
	Zone string
	// Nobody has the guard connect as a user without any privilege on the table of keys.
	Nobody bool
	// Steps has the table of rows be there that have a state.
	Steps bool
}

// Place is a fresh place in a database, for one scenario: a table of keys and a table of effects, both empty. What fails in
// its functions fails the test, unless they return an error.
type Place[Tx any] struct {
	// Guard makes a guard of the driver on the keys. A scenario may make several.
	Guard func(...idem.Option) *idem.Guard[Tx]
	// InUse is how many connections the guards hold.
	InUse func() int
	// Rows are the rows of the table of keys that others than their writers see.
	Rows func() []Row
	// Alter changes all rows.
	Alter func(Change)
	// Put inserts a row, with an end of its window where expiresIn is not nil.
	Put func(handler, key, state string, expiresIn *time.Duration)
	// Fill inserts n rows of a handler that are done and past their window.
	Fill func(handler string, n int)
	// Clear deletes all rows.
	Clear func()
	// Lock keeps all rows from being changed until unlock is called.
	Lock func() (unlock func())

	// Effect leaves a row in the table of effects, through tx.
	Effect func(ctx context.Context, tx Tx, what string) error
	// Effects is how many of them others see.
	Effects func() int
	// Begin begins a transaction as a user would, on the guards' database.
	Begin func() Caller[Tx]
	// AwaitRivals returns when n more deliveries wait for another's transaction.
	AwaitRivals func(n int)
	// Refused has a statement fail in tx, and returns its error; RefusedInSavepoint undoes it by a savepoint.
	Refused, RefusedInSavepoint func(ctx context.Context, tx Tx) error
	// Conflict returns an error that the database gives to a transaction that has lost against another one.
	Conflict func(ctx context.Context, tx Tx) error
	// Update reads a counter, "a" or "b", and adds one to it, and Counter is its value.
	Update  func(ctx context.Context, tx Tx, name string) error
	Counter func(name string) int

	// LoseCommit has the answer to the next COMMIT get lost, and its connection with it.
	LoseCommit func()
	// BreakCommit has the connection break before the next COMMIT reaches the database. The channel is closed by then.
	BreakCommit func() <-chan struct{}
	// HoldCommit has the next COMMIT, of a transaction with an effect, lose its client and not end before letGo is called.
	HoldCommit func() (letGo func())
	// LoseAnswer has the answer to the next of the store's queries with this name get lost: it has been executed by then.
	LoseAnswer func(query string)
	// Before has do run once, before the next of the store's queries with this name is executed.
	Before func(query string, do func())
	// Translate has the texts of all errors come in another language from now on.
	Translate func()

	DropTable, DropPrimaryKey func()
	DropColumns               func(names ...string)
	// Grant gives the guard's user privileges on the table of keys.
	Grant func(privileges string)
	// RoundTrips is how many round trips do makes; Bare is a transaction of one statement, without a guard.
	RoundTrips func(do func()) int
	Bare       func(context.Context) error
	// Kill starts a process that calls [Worker] on the place, and kills it when it has come to the stage. It returns when the
	// database knows.
	Kill func(j Job)

	// Steps are the place's rows that have a state; nil unless they were asked for.
	Steps *Steps[Tx]
}

// Caller is a transaction of the caller's.
type Caller[Tx any] struct {
	Tx               Tx
	Commit, Rollback func() error
}

// Row is a row of the table of keys.
type Row struct {
	Handler, Key, State string
	Fence               int64
	// ExpiresIn and LeaseLeft are by the database's clock, and nil where the row has no such time.
	ExpiresIn, LeaseLeft *time.Duration
}

// Change is what Alter changes: what is not empty.
type Change struct {
	State                string
	ExpiresIn, LeaseLeft *time.Duration
	Result               []byte
}

// lacks says which field of the place is missing for a need.
func (p Place[Tx]) lacks(n Need) string {
	missing := map[string]bool{}
	switch n {
	case "":
		missing = map[string]bool{
			"Guard": p.Guard == nil, "InUse": p.InUse == nil, "Rows": p.Rows == nil, "Alter": p.Alter == nil, "Put": p.Put == nil,
			"Fill": p.Fill == nil, "Clear": p.Clear == nil, "Lock": p.Lock == nil, "LoseAnswer": p.LoseAnswer == nil,
			"Before": p.Before == nil,
		}
	case NeedTransactions:
		missing = map[string]bool{
			"Effect": p.Effect == nil, "Effects": p.Effects == nil, "Begin": p.Begin == nil, "AwaitRivals": p.AwaitRivals == nil,
			"Refused": p.Refused == nil, "Conflict": p.Conflict == nil, "Update": p.Update == nil, "Counter": p.Counter == nil,
		}
	case NeedCommitFaults:
		missing = map[string]bool{"LoseCommit": p.LoseCommit == nil, "BreakCommit": p.BreakCommit == nil}
	case NeedHeldCommit:
		missing = map[string]bool{"HoldCommit": p.HoldCommit == nil}
	case NeedAborts:
		missing = map[string]bool{"RefusedInSavepoint": p.RefusedInSavepoint == nil}
	case NeedTable:
		missing = map[string]bool{
			"DropTable": p.DropTable == nil, "DropColumns": p.DropColumns == nil, "DropPrimaryKey": p.DropPrimaryKey == nil,
		}
	case NeedPermissions:
		missing = map[string]bool{"Grant": p.Grant == nil}
	case NeedLanguages:
		missing = map[string]bool{"Translate": p.Translate == nil}
	case NeedRoundTrips:
		missing = map[string]bool{"RoundTrips": p.RoundTrips == nil, "Bare": p.Bare == nil}
	case NeedProcesses:
		missing = map[string]bool{"Kill": p.Kill == nil}
	case NeedSteps:
		missing = map[string]bool{"Steps": p.Steps == nil || p.Steps.Put == nil || p.Steps.At == nil || p.Steps.Meddle == nil}
	case NeedSuppression:
		missing = map[string]bool{"Steps.Suppress": p.Steps == nil || p.Steps.Suppress == nil}
	}
	for name, is := range missing {
		if is {
			return name
		}
	}
	return ""
}

// scenario is one way to put a promise to the test.
type scenario[Tx any] struct {
	promise string
	name    string
	needs   []Need
	setup   Setup
	levels  bool // at each isolation level
	modes   bool // with a lease too, and where there are no transactions, only so
	run     func(*fixture[Tx])
}

// Conformance has a driver prove the promises of docs/guarantees.md: a subtest for each, by its number, with a subtest for
// each scenario. Scenarios run in parallel, each in a place of its own.
func Conformance[Tx any](t *testing.T, b Backend[Tx]) {
	t.Helper()
	if b.Patience == 0 {
		b.Patience = time.Minute
	}
	for need := range b.Cannot {
		if !slices.Contains(needs, need) {
			t.Errorf("there is no need %q that the driver could not meet", need)
		}
	}
	all := append(scenarios[Tx](), transitionScenarios[Tx]()...)
	for _, p := range promises {
		t.Run(p.name(), func(t *testing.T) {
			t.Parallel()
			c := &cell{Driver: b.Driver, Promise: p.number}
			t.Cleanup(func() { b.Matrix.add(c, t.Failed()) })
			for _, s := range all {
				if s.promise == p.number {
					s.each(t, b, c)
				}
			}
		})
	}
}

var needs = []Need{
	NeedTransactions, NeedCommitFaults, NeedHeldCommit, NeedAborts, NeedSurvives, NeedRowLocks, NeedTable, NeedPermissions,
	NeedZones, NeedLanguages, NeedRoundTrips, NeedProcesses, NeedSteps, NeedSuppression,
}

// mode is which of the two kinds of handler a scenario is about.
type mode string

const (
	inTransaction mode = "transaction"
	withLease     mode = "lease"
)

// each runs a scenario in all the ways that it is to be run in.
func (s scenario[Tx]) each(t *testing.T, b Backend[Tx], c *cell) {
	levels := []sql.IsolationLevel{sql.LevelDefault}
	if s.levels {
		levels = append(levels, b.Levels...)
	}
	modes := []mode{inTransaction}
	if s.modes {
		modes = append(modes, withLease)
	}
	for _, m := range modes {
		for _, level := range levels {
			name := s.name
			if s.modes {
				name += " " + string(m)
			}
			if level != sql.LevelDefault {
				name += " " + level.String()
			}
			needs := s.needs
			if s.modes && m == inTransaction {
				needs = append([]Need{NeedTransactions}, needs...)
			}
			t.Run(name, func(t *testing.T) { b.run(t, s, c, needs, level, m) })
		}
	}
}

// run runs a scenario once.
func (b Backend[Tx]) run(t *testing.T, s scenario[Tx], c *cell, needs []Need, level sql.IsolationLevel, m mode) {
	t.Parallel()
	for _, need := range needs {
		if reason, cannot := b.Cannot[need]; cannot {
			c.cannot(need, reason)
			t.Skipf("cannot hold here: %s", reason)
		}
	}
	place := b.Open(t, s.setup)
	for _, need := range append([]Need{""}, needs...) {
		if field := place.lacks(need); field != "" {
			t.Fatalf("the place has no %s, and the backend does not say why", field)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*b.Patience)
	defer cancel()
	f := &fixture[Tx]{T: t, Place: place, ctx: ctx, patience: b.Patience, level: level, mode: m}
	s.run(f)
	f.eventually("all connections are back", func() bool { return f.InUse() == 0 })
	if !t.Failed() {
		c.ran()
	}
}

// promise is a row of docs/guarantees.md.
type promise struct{ number, words string }

// name is what the promise's subtest is called. The numbers have two digits, so that they sort and none is another's beginning.
func (p promise) name() string {
	if p.number[0] == 'L' || p.number[0] == 'T' {
		return fmt.Sprintf("%c%02s %s", p.number[0], p.number[1:], p.words)
	}
	return fmt.Sprintf("P%02s %s", p.number, p.words)
}
