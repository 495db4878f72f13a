package store

import (
	"context"
	"errors"
	"math"
	"time"
)

// ErrNotFound is what Lookup returns where the key has no row.
var ErrNotFound = errors.New("idem: no row for the key")

// Engine is a database engine, by sqlc's name for it.
type Engine string

// The engines that templates exist for.
const (
	PostgreSQL Engine = "postgresql"
	SQLite     Engine = "sqlite"
	MySQL      Engine = "mysql" // MariaDB too
)

// State is the state of a row, as it stands in the column.
type State string

// The states of a row. Open belongs to handlers with a transaction; Running, Released and Parked to those with a lease. A
// runtime that meets one that it does not know refuses the delivery rather than guess.
const (
	Open     State = "open"     // claimed and not completed: visible to others only if the transaction was lost
	Done     State = "done"     // completed; Result holds the result, where one was stored
	Failed   State = "failed"   // completed with a permanent failure
	Running  State = "running"  // leased
	Released State = "released" // lease given back
	Parked   State = "parked"   // lease expired, waiting for a person
)

// Owner is the random value that a claim writes, so that a later statement can tell its own row from a rival's.
type Owner [16]byte

// Columns are the columns of the table.
func Columns() []string {
	return []string{
		"handler", "key", "state", "owner", "fence", "fingerprint", "result", "failure", "successor",
		"created_at", "updated_at", "lease_until", "expires_at",
	}
}

// Claim is what a claim or a take-over writes.
type Claim struct {
	Handler string
	Key     string
	Owner   Owner
	// State is Open, or Done or Failed for a claim that nothing is added to before its transaction commits; or Running for
	// a lease, or Released for a row that is to be there and nobody's.
	State State
	// Result is the encoded result of a Done row that is complete with its claim; nil for none.
	Result []byte
	// Failure is the message of a Failed row.
	Failure string
	// Fingerprint is empty for a handler without one.
	Fingerprint string
	// Window is how long a Done or Failed row is recognised, counted by the database's clock from this statement.
	// Nil for a row that never expires: of an Open claim, or of a handler whose window is forever.
	Window *time.Duration
	// Lease is how long a Running row is its owner's, counted like the window. Nil for any other.
	Lease *time.Duration
}

// Holder is who holds a lease: what changes the row compares the owner and the fence.
type Holder struct {
	Handler string
	Key     string
	Owner   Owner
	Fence   int64
}

// End is what turns a Running row into a final one.
type End struct {
	Holder
	// State is Done or Failed.
	State State
	// Result is the encoded result of a Done row; nil for none.
	Result []byte
	// Failure is the message of a Failed row.
	Failure string
	// Window is how long the row is recognised from this statement on; nil for ever.
	Window *time.Duration
}

// Completion is what turns an Open row into a Done one.
type Completion struct {
	Handler string
	Key     string
	Owner   Owner
	// Result is the encoded result; nil for none.
	Result []byte
	// Window is how long the row is recognised from this statement on; nil for ever.
	Window *time.Duration
}

// Row is a row as Lookup sees it.
type Row struct {
	State       State
	Owner       Owner
	Fence       int64
	Fingerprint string // empty for none
	Result      []byte // nil for none
	Failure     string // of a Failed row
	Expired     bool   // by the database's clock, when the row was read
	// LeaseLeft is what was left of a Running row's lease then; not positive where it has passed.
	LeaseLeft time.Duration
}

// Free reports whether TakeOver can have the row: it is past its window or its lease, or was released.
func (r Row) Free() bool {
	return r.Expired || r.State == Released || r.State == Running && r.LeaseLeft <= 0
}

// Micros is a number of microseconds as a duration, or the longest there is where that is too short: a lease that somebody has
// set to end in the year 9999 has not passed.
func Micros(n int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Microsecond)
	switch {
	case n > most:
		return math.MaxInt64
	case n < -most:
		return math.MinInt64
	}
	return time.Duration(n) * time.Microsecond
}

// Queries are the statements of the store on a connection or transaction DB. Each call executes exactly one statement
// on it, so that a driver can pipeline others before and behind it. idemdb.Store implements it; nobody else should.
type Queries[DB any] interface {
	// Engine is the engine that the statements are written for.
	Engine() Engine
	// Table is the table's name as the statements spell it, for error messages.
	Table() string
	// Claim inserts the row of a key and returns the rows affected: 1, or 0 where a row is there already.
	Claim(context.Context, DB, Claim) (int64, error)
	// TakeOver claims a row that is free (see Row.Free), if it is still the one of the owner seen, and adds one to its fence.
	// It returns the rows affected.
	TakeOver(ctx context.Context, db DB, c Claim, seen Owner) (int64, error)
	// Complete turns the Open row of an owner into a Done one. It returns the rows affected.
	Complete(context.Context, DB, Completion) (int64, error)
	// Lookup reads the row of a key. It returns ErrNotFound where there is none.
	Lookup(ctx context.Context, db DB, handler, key string) (Row, error)
	// Renew has a lease begin anew. Like the three below it returns the rows affected: 0 where the lease is no longer the
	// holder's.
	Renew(ctx context.Context, db DB, h Holder, lease time.Duration) (int64, error)
	// Finish turns the Running row of a holder into a Done or Failed one.
	Finish(context.Context, DB, End) (int64, error)
	// Release turns the Running row of a holder into a Released one.
	Release(context.Context, DB, Holder) (int64, error)
	// Park turns the Running row of a holder into a Parked one, if its lease has passed.
	Park(context.Context, DB, Holder) (int64, error)
	// Sweep deletes at most batch of the Done and Failed rows whose window has passed, and returns how many.
	Sweep(ctx context.Context, db DB, batch int64) (int64, error)
}
