package driver

import (
	"context"
	"time"

	"github.com/idemgen/idemgen/runtime/store"
)

// Transitions is what a driver does for changes of state, whose statements run on DB. A driver's Driver has it too, for the
// one DB that its store's statements run on.
type Transitions[Tx, DB any] interface {
	// Update runs an UPDATE in a transaction of its own, which is committed when it returns: for one that changes one row at
	// most. Where a rival's transaction holds the row it waits for its end, at most for wait, and for 0 as short as the engine
	// can. A *CommitError of fate Unknown means that it may have taken place; any other error that it has not.
	Update(ctx context.Context, wait time.Duration, update func(context.Context, DB) (int64, error)) (int64, error)
	// Look runs a SELECT outside of any transaction.
	Look(ctx context.Context, look func(context.Context, DB) error) error
	// AcquireTransition takes a connection. It waits for one until ctx is done.
	AcquireTransition(ctx context.Context) (TransitionSession[Tx, DB], error)
	// JoinTransition makes a session of a transaction of the caller's, as Driver.Join does.
	JoinTransition(tx Tx) (TransitionSession[Tx, DB], error)
}

// TransitionSession is one connection for the length of one attempt. Its methods are called in the order of the engine:
// Update; then Look, where it has changed no row, or Tx and Commit; Close in any case. It is not safe for concurrent use.
type TransitionSession[Tx, DB any] interface {
	// Update begins the transaction and runs an UPDATE in it. It waits like Transitions.Update.
	Update(ctx context.Context, wait time.Duration, update func(context.Context, DB) (int64, error)) (int64, error)
	// Look rolls back what Update has begun and runs a SELECT outside of it, so that what a rival has committed is seen at
	// every isolation level, where the transaction is not the caller's.
	Look(ctx context.Context, look func(context.Context, DB) error) error
	// Read is Mover.Read.
	Read(ctx context.Context, wait time.Duration, look func(context.Context, DB) error) error
	// Tx is the transaction of the UPDATE, as a handler gets it.
	Tx() Tx
	// Commit is Session.Commit. There is no completion.
	Commit(ctx context.Context, none *store.Completion) error
	// Close is Session.Close.
	Close(ctx context.Context)
}

// Mover is what a Session has for a change of state behind its claim, whose statements run on DB: every one that Acquire or Join
// of a database's driver returns.
type Mover[DB any] interface {
	// Move runs an UPDATE in the session's transaction. It waits like Transitions.Update, for as long as the claim may: what the
	// session's own settings say is for the handler.
	Move(ctx context.Context, wait time.Duration, update func(context.Context, DB) (int64, error)) (int64, error)
	// Read runs a SELECT there, which sees the transaction's own writes and what others have committed, as far as an UPDATE
	// would. Where that takes a lock it waits like Move.
	Read(ctx context.Context, wait time.Duration, look func(context.Context, DB) error) error
}
