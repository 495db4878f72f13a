// Package kill is what the kill matrix (TestKillMatrix) and its worker processes say to each other. The test is an
// at-least-once queue: it writes a Job and then deliveries to a worker's standard input, a line of JSON each, and reads answers
// from its standard output. A worker that is to be killed says AtPoint and the point's name, in a line of its own, and stays
// there. Command kill/worker is the worker.
package kill

import "github.com/idemgen/idemgen/testdata/e2e/events"

// Tag is the build tag with which a worker stops at the engine's points, and Variable the environment variable that says at
// which: its name, and after a colon at which passing of it. With the value Listing a worker prints the points. They are those
// of runtime/internal/point, which only the runtime's own module can import.
const (
	Tag      = "idem_points"
	Variable = "IDEMGEN_POINT"
	Listing  = "list"
	AtPoint  = "at "
)

// Point is a point as a worker lists it.
type Point struct {
	Name string            `json:"point"`
	Wire bool              `json:"wire"` // between client and server: the worker's own connection stops there
	Not  map[string]string `json:"not"`  // the modes and engines that cannot come to it, and why
}

// Job is the first line to a worker.
type Job struct {
	Driver  string // "pgx", "std", "maria", "lite"
	Server  string // the DSN of its server; empty for SQLite
	Place   string // the schema; MariaDB: the database; SQLite: the DSN
	Outside string // the folder that is the outside system
	Name    string // of the process, part of the names of its runs
	Texts   bool   // statements travel as texts each time, so that the points on the wire can be told
	Lose    int    // how many messages are not answered
	Losing  Loss   // and which
}

// Loss is what the network loses: a message that arrives and is not answered, and in turn, or each time, one that does not arrive.
type Loss string

// The losses.
const (
	Commits Loss = "commits"
	Moves   Loss = "commits and moves" // an UPDATE without code commits by itself
	Claims  Loss = "claims"            // and the deliveries that are to be given up end with them
	Granted Loss = "claims, granted"   // the same, and all of them arrive
	Unsent  Loss = "commits, unsent"   // none arrives
)

// Call is what a delivery calls.
type Call string

// The calls of generated code.
const (
	PlaceOrder Call = "place"
	AuditOrder Call = "audit"
	JoinOrder  Call = "join" // PlaceOrder in a transaction of the worker's
	Charge     Call = "charge"
	Wire       Call = "wire"
	MarkOrder  Call = "mark order"
	MarkCharge Call = "mark charge"
	Sweep      Call = "sweep" // one round of a janitor
)

// The calls of transitions. Those that join are in a transaction of the worker's.
const (
	Confirm         Call = "confirm"
	JoinConfirm     Call = "join confirm"
	JustConfirm     Call = "just confirm" // without code
	JoinJustConfirm Call = "join just confirm"
	ShipAll         Call = "ship all" // of a customer's orders, which should be one; without code
	Pay             Call = "pay"      // with a key
	JoinPay         Call = "join pay"
	MarkPay         Call = "mark pay"
	PayNow          Call = "pay now" // with a key, without code
)

// How is what becomes of the first run of an event in a process. Later ones end well, except for Permanent and Declined.
type How string

// The ways to end a run.
const (
	Well      How = ""
	Fail      How = "fail"
	Panic     How = "panic"
	Exit      How = "exit" // runtime.Goexit
	Conflict  How = "conflict"
	Slow      How = "slow"      // past the first renewal of a lease
	Permanent How = "permanent" // each run
	GiveUp    How = "give up"   // the delivery ends while its claim is under way
)

// Delivery is each further line to a worker.
type Delivery struct {
	ID    int
	Call  Call
	How   How
	Event events.OrderPlaced
}

// Answer is a line from a worker: how a delivery ended, or that a function of AfterCommit was called.
type Answer struct {
	ID      int
	Receipt events.Receipt // of a call that has one
	Err     string         // empty for success
	Failed  bool           // Err is a *FailedError
	Parked  bool           // Err is ErrParked
	Refused bool           // Err is a *ConflictError or ErrManyRows
	Hook    string         // the effect whose commit was told of; the rest is empty then
}

// MarkedBy is in the receipt of an event that was marked.
const MarkedBy = "before idemgen"

// What is the name of an event's effect.
func What(call Call, e events.OrderPlaced) string {
	switch call {
	case JoinOrder, MarkOrder:
		call = PlaceOrder
	case JoinConfirm:
		call = Confirm
	case JoinJustConfirm:
		call = JustConfirm
	case JoinPay, MarkPay:
		call = Pay
	}
	return string(call) + " " + e.OrderID.String()
}
