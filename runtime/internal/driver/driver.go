package driver

import (
	"context"
	"database/sql"
	"time"

	"github.com/idemgen/idemgen/runtime/store"
)

// Config is what the guard's options ask of a driver.
type Config struct {
	// Isolation is the isolation level of every transaction. LevelDefault leaves the choice to the driver: READ
	// COMMITTED where the database has it.
	Isolation sql.IsolationLevel
	// Leases, where it is not nil, is where the keys are kept, and no database is used.
	Leases LeaseStore
}

// Driver opens sessions on one database.
type Driver[Tx any] interface {
	// ClaimCompletes reports whether a claim may be written as store.Done at once, where no result is to be added to
	// it: only where the handler cannot end the transaction behind the driver's back.
	ClaimCompletes() bool
	// Acquire takes a connection. It waits for one until ctx is done.
	Acquire(ctx context.Context) (Session[Tx], error)
	// Join makes a session of a transaction of the caller's: what a session's transaction is there, is here a savepoint in
	// that one. Commit releases it and Close rolls back to it; neither ends the caller's.
	Join(tx Tx) (Session[Tx], error)
	// Classify tells what class an error is of, by its code and never by its text. It looks into wrapped errors, so
	// that it can be asked about the error of a handler.
	Classify(err error) Class
	// Keys are the statements of leases.
	Keys() Keys
	// Sweep deletes a batch of completed rows whose window has passed, in a transaction of its own, and returns how many.
	Sweep(ctx context.Context, batch int) (int64, error)
	// Table is the table of keys, as the statements spell it.
	Table() string
	// Columns are the names of the table's columns as the database has them; none where there is no such table.
	Columns(ctx context.Context) ([]string, error)
}

// Session is one connection for the length of one attempt. Its methods are called in the order of the engine: Claim;
// then, where the key is not claimed, Lookup and perhaps TakeOver; then, where it is, Tx and Commit; Close in any case.
// It is not safe for concurrent use.
type Session[Tx any] interface {
	// Claim begins the transaction and inserts the row. It reports whether the row is this claim's own. Where a rival's
	// transaction holds the key it waits for its end, at most for wait, and for 0 as short as the engine can.
	Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error)
	// Lookup rolls the transaction back and reads the row of the key outside of it, so that the row of a rival that
	// committed meanwhile is seen at every isolation level. It returns store.ErrNotFound where there is none.
	Lookup(ctx context.Context, handler, key string) (store.Row, error)
	// Mine reports whether the row of an owner, which Lookup has found, was written in the caller's own transaction. It is
	// false for a session that is not joined.
	Mine(ctx context.Context, owner store.Owner) (bool, error)
	// TakeOver begins a new transaction after Lookup and claims the expired row of the owner seen.
	TakeOver(ctx context.Context, c store.Claim, seen store.Owner, wait time.Duration) (bool, error)
	// Begin rolls back what there is and begins a transaction without a claim.
	Begin(ctx context.Context) error
	// Tx is the transaction that holds the claim, or that Begin has begun, as the handler gets it.
	Tx() Tx
	// Commit completes the claim, where a completion is given, and commits: the caller's cancellation no longer
	// counts, a bound of its own does. A *CommitError says what became of the transaction; any other error means that
	// it did not commit.
	Commit(ctx context.Context, c *store.Completion) error
	// Close rolls back what is not committed, whatever the state of ctx, makes the transaction unusable and gives the
	// connection back. A connection that cannot be rolled back is closed instead, which has the database do it.
	Close(ctx context.Context)
}

// Inner is a driver's own session behind those that were put before it, which say so by an Unwrap.
func Inner[Tx any](s Session[Tx]) Session[Tx] {
	for {
		before, ok := s.(interface{ Unwrap() Session[Tx] })
		if !ok {
			return s
		}
		s = before.Unwrap()
	}
}

// InnerDriver is a driver behind those that were put before it, in the same way.
func InnerDriver[Tx any](d Driver[Tx]) Driver[Tx] {
	for {
		before, ok := d.(interface{ Unwrap() Driver[Tx] })
		if !ok {
			return d
		}
		d = before.Unwrap()
	}
}
