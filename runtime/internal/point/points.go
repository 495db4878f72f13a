package point

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
)

func notIn(column, why string) map[string]string { return map[string]string{column: why} }

// List has every point, in the order in which a delivery meets them. It is what the kill matrix has as rows; a test compares
// it with the calls.
func List() []Place {
	return []Place{
		{Point: BeforeClaim},
		{Point: ClaimSent, Wire: true, Not: notIn(SQLite, noWire)},
		{Point: Claimed},
		{Point: BeforeLookup},
		{Point: LookedUp},
		{Point: BeforeTakeOver},
		{Point: TakenOver},
		{Point: BeforeRetry},
		{Point: BeforeHandler},
		{Point: AfterHandler},
		{Point: Encoded},

		{Point: BeforeCommit, Not: notIn(Lease, noTransaction)},
		{Point: CommitSent, Wire: true, Not: map[string]string{Lease: noTransaction, SQLite: noWire}},
		{Point: Committed, Not: notIn(Lease, noTransaction)},
		{Point: BeforeHooks, Not: notIn(Lease, noHooks)},
		{Point: AfterHooks, Not: notIn(Lease, noHooks)},
		{Point: BeforeRollback, Not: notIn(Lease, noTransaction)},
		{Point: RolledBack, Not: notIn(Lease, noTransaction)},

		{Point: BeforeQuestion, Not: notIn(Lease, noUnknown)},
		{Point: Asked, Not: notIn(Lease, noUnknown)},
		{Point: Answered, Not: notIn(Lease, noUnknown)},

		{Point: BeforeFailure},
		{Point: FailureClaimed, Not: notIn(Lease, ownRow)},
		{Point: FailureRecorded},

		{Point: SavepointSet, Not: notIn(Lease, noSavepoint)},
		{Point: BeforeSavepointRelease, Not: notIn(Lease, noSavepoint)},
		{Point: SavepointReleased, Not: notIn(Lease, noSavepoint)},
		{Point: BeforeSavepointRollback, Not: notIn(Lease, noSavepoint)},
		{Point: SavepointRolledBack, Not: notIn(Lease, noSavepoint)},

		{Point: BeforeRenewal, Not: notIn(Transaction, noLease)},
		{Point: Renewed, Not: notIn(Transaction, noLease)},
		{Point: BeforeFinish, Not: notIn(Transaction, noLease)},
		{Point: FinishSent, Wire: true, Not: map[string]string{Transaction: noLease, SQLite: noWire}},
		{Point: Finished, Not: notIn(Transaction, noLease)},
		{Point: BeforeRelease, Not: notIn(Transaction, noLease)},
		{Point: Released, Not: notIn(Transaction, noLease)},
		{Point: BeforeParking, Not: notIn(Transaction, noLease)},
		{Point: Parked, Not: notIn(Transaction, noLease)},

		{Point: MarkClaimed, Not: notIn(Lease, oneStatement)},
		{Point: Marked},
		{Point: BeforeSweep},
		{Point: Swept},
	}
}
