package point

import "maps"

// Point is the name of a place in the engine.
type Point string

// The points of a claim.
const (
	BeforeClaim    Point = "before-claim"     // a connection is there, and nothing is sent
	ClaimSent      Point = "claim-sent"       // the claim is on its way, and not answered
	Claimed        Point = "claimed"          // the key had no row; now it has this delivery's
	BeforeLookup   Point = "before-look-up"   // the key has a row, or somebody holds it
	LookedUp       Point = "looked-up"        // the row is known, or that it is gone
	BeforeTakeOver Point = "before-take-over" // the row is free
	TakenOver      Point = "taken-over"       // and now it is this delivery's
	BeforeRetry    Point = "before-retry"     // an attempt has met another delivery, or a conflict, and another begins
)

// The points of a change of state. In one without code, whose UPDATE is a transaction by itself, Moved is committed.
const (
	BeforeMove      Point = "before-move"        // the UPDATE is the next thing to be sent
	MoveSent        Point = "move-sent"          // it is on its way, and not answered
	Moved           Point = "moved"              // it has changed the row
	BeforeRowLookup Point = "before-row-look-up" // it has changed none
	RowLookedUp     Point = "row-looked-up"      // it is known why, and nobody has been told
)

// The points of a run.
const (
	BeforeHandler Point = "before-handler"
	AfterHandler  Point = "after-handler" // it returned a result or an error, of which nobody knows
	Encoded       Point = "encoded"       // the result is as the row will hold it, and nothing of the end is sent
)

// The points of a transaction's end.
const (
	BeforeCommit   Point = "before-commit"   // COMMIT is the next thing to be sent; through database/sql the row is completed
	CommitSent     Point = "commit-sent"     // COMMIT is on its way, and not answered
	Committed      Point = "committed"       // it is answered, and the connection is still held
	BeforeHooks    Point = "before-hooks"    // the functions of AfterCommit are next
	AfterHooks     Point = "after-hooks"     // and were called
	BeforeRollback Point = "before-rollback" // of a run that failed, panicked or left its goroutine, or of a claim that was not had
	RolledBack     Point = "rolled-back"
)

// The points of what is found out about a COMMIT without an answer.
const (
	BeforeQuestion Point = "before-question" // it was not answered
	Asked          Point = "asked"           // the claim that asks was answered, and its transaction is open
	Answered       Point = "answered"        // that is over; the delivery knows, or asks again
)

// The points of a permanent failure, after its run has been rolled back.
const (
	BeforeFailure   Point = "before-failure"   // nothing of it is sent
	FailureClaimed  Point = "failure-claimed"  // the row that records it is written, and not committed
	FailureRecorded Point = "failure-recorded" // it is committed
)

// The points of a savepoint in the caller's transaction.
const (
	SavepointSet            Point = "savepoint-set"
	BeforeSavepointRelease  Point = "before-savepoint-release" // the row is completed
	SavepointReleased       Point = "savepoint-released"       // all depends on the caller's COMMIT
	BeforeSavepointRollback Point = "before-savepoint-rollback"
	SavepointRolledBack     Point = "savepoint-rolled-back"
)

// The points of a lease.
const (
	BeforeRenewal Point = "before-renewal"
	Renewed       Point = "renewed"        // or found to be lost
	BeforeFinish  Point = "before-finish"  // the effect has taken place, or has failed for good
	FinishSent    Point = "finish-sent"    // the end is on its way, and not answered
	Finished      Point = "finished"       // the end is committed
	BeforeRelease Point = "before-release" // the handler failed, panicked or left its goroutine
	Released      Point = "released"       // or found to be another's
	BeforeParking Point = "before-parking" // the lease of a dead delivery has passed
	Parked        Point = "parked"
)

// The points of a delivery that ended while it asked for a lease, and does not know whether it was granted.
const (
	BeforeForestall Point = "before-forestall" // the request may be on its way still, and nothing is done about it
	Forestalled     Point = "forestalled"      // it can no longer be granted, or has been
	BeforeTakeBack  Point = "before-take-back" // it has been granted, to nobody
	TakenBack       Point = "taken-back"       // or found to be another's
)

// The points of what is not a delivery.
const (
	MarkClaimed Point = "mark-claimed" // the key is claimed for an event that is recorded without running
	Marked      Point = "marked"       // that is committed
	BeforeSweep Point = "before-sweep" // a janitor is about to delete a batch
	Swept       Point = "swept"        // it has
)

// The columns of the kill matrix that a point may have no cell in: a mode, or an engine.
const (
	Transaction = "transaction"
	Lease       = "lease"
	Transition  = "transition"              // with code
	NoCode      = "transition without code" // of one row, which is a transaction by itself; and of what may be many
	Keyed       = "keyed transition"        // with code and without
	SQLite      = "sqlite"
)

// Place is a point in the list.
type Place struct {
	Point Point `json:"point"`
	// Wire is a point between a client and its server. No code of the engine's runs there, so it has no call: the test's own
	// connection stops when it has passed on what is sent.
	Wire bool `json:"wire"`
	// Not are the modes and engines that cannot come to the point, each with the reason.
	Not map[string]string `json:"not"`
}

// Why a point is not in a mode or an engine.
const (
	noTransaction = "a lease's statements commit one by one"
	noSavepoint   = "a lease has no InTx: there is no transaction to be part of"
	noHooks       = "a lease has no commit that something could be done after"
	noUnknown     = "a lease's end without an answer is sent again"
	ownRow        = "the lease's own row becomes the record, without another claim"
	oneStatement  = "a lease's Mark is one statement"
	noLease       = "it is of leases"
	noWire        = "SQLite runs in the process: no statement is under way"
	noMove        = "it is of transitions"
	noKey         = "a transition without a key claims none"
	noResult      = "a transition without a key has no result"
	noRecord      = "a transition without a key has nothing to record a failure under"
	noCode        = "there is no code that could run, or be called back"
	sameSweep     = "a sweep does not know what the keys were of"
)

// nots are the columns that a point is not in.
type nots map[string]string

// in adds to the columns of a point.
func (n nots) in(why string, columns ...string) nots {
	all := maps.Clone(n)
	if all == nil {
		all = nots{}
	}
	for _, column := range columns {
		all[column] = why
	}
	return all
}

// List has every point, in the order in which a delivery meets them. It is what the kill matrix has as rows; a test compares
// it with the calls.
func List() []Place {
	// What many points have in common.
	var (
		anywhere nots
		ofKeys   = anywhere.in(noKey, Transition, NoCode)
		ofRuns   = anywhere.in(noCode, NoCode)
		ofMoves  = anywhere.in(noMove, Transaction, Lease)
		ofEnds   = anywhere.in(noTransaction, Lease)
		ofLeases = anywhere.in(noLease, Transaction, Transition, NoCode, Keyed)
		ofJoined = anywhere.in(noSavepoint, Lease)
		ofSweeps = anywhere.in(sameSweep, Transition, NoCode, Keyed)
	)
	return []Place{
		{Point: BeforeClaim, Not: ofKeys},
		{Point: ClaimSent, Wire: true, Not: ofKeys.in(noWire, SQLite)},
		{Point: Claimed, Not: ofKeys},
		{Point: BeforeLookup, Not: ofKeys},
		{Point: LookedUp, Not: ofKeys},
		{Point: BeforeTakeOver, Not: ofKeys},
		{Point: TakenOver, Not: ofKeys},
		{Point: BeforeRetry},

		{Point: BeforeForestall, Not: ofLeases},
		{Point: Forestalled, Not: ofLeases},
		{Point: BeforeTakeBack, Not: ofLeases},
		{Point: TakenBack, Not: ofLeases},

		{Point: BeforeMove, Not: ofMoves},
		{Point: MoveSent, Wire: true, Not: ofMoves.in(noWire, SQLite)},
		{Point: Moved, Not: ofMoves},
		{Point: BeforeRowLookup, Not: ofMoves},
		{Point: RowLookedUp, Not: ofMoves},

		{Point: BeforeHandler, Not: ofRuns},
		{Point: AfterHandler, Not: ofRuns},
		{Point: Encoded, Not: anywhere.in(noResult, Transition, NoCode)},

		{Point: BeforeCommit, Not: ofEnds},
		{Point: CommitSent, Wire: true, Not: ofEnds.in(noWire, SQLite)},
		{Point: Committed, Not: ofEnds},
		{Point: BeforeHooks, Not: ofRuns.in(noHooks, Lease)},
		{Point: AfterHooks, Not: ofRuns.in(noHooks, Lease)},
		{Point: BeforeRollback, Not: ofEnds},
		{Point: RolledBack, Not: ofEnds},

		{Point: BeforeQuestion, Not: anywhere.in(noUnknown, Lease)},
		{Point: Asked, Not: anywhere.in(noUnknown, Lease)},
		{Point: Answered, Not: anywhere.in(noUnknown, Lease)},

		{Point: BeforeFailure, Not: anywhere.in(noRecord, Transition, NoCode)},
		{Point: FailureClaimed, Not: anywhere.in(noRecord, Transition, NoCode).in(ownRow, Lease)},
		{Point: FailureRecorded, Not: anywhere.in(noRecord, Transition, NoCode)},

		{Point: SavepointSet, Not: ofJoined},
		{Point: BeforeSavepointRelease, Not: ofJoined},
		{Point: SavepointReleased, Not: ofJoined},
		{Point: BeforeSavepointRollback, Not: ofJoined},
		{Point: SavepointRolledBack, Not: ofJoined},

		{Point: BeforeRenewal, Not: ofLeases},
		{Point: Renewed, Not: ofLeases},
		{Point: BeforeFinish, Not: ofLeases},
		{Point: FinishSent, Wire: true, Not: ofLeases.in(noWire, SQLite)},
		{Point: Finished, Not: ofLeases},
		{Point: BeforeRelease, Not: ofLeases},
		{Point: Released, Not: ofLeases},
		{Point: BeforeParking, Not: ofLeases},
		{Point: Parked, Not: ofLeases},

		{Point: MarkClaimed, Not: ofKeys.in(oneStatement, Lease)},
		{Point: Marked, Not: ofKeys},
		{Point: BeforeSweep, Not: ofSweeps},
		{Point: Swept, Not: ofSweeps},
	}
}
