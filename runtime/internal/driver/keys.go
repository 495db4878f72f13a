package driver

import (
	"context"
	"time"

	"github.com/idemgen/idemgen/runtime/store"
)

// Keys are the statements of leases, each in a transaction of its own: what one has done is committed when it returns. Those
// that report whether they did it have changed one row or none.
type Keys interface {
	// Claim inserts the row of a key, and reports whether it did. A transaction that holds the key it waits for, at most for
	// wait and a little longer, from when it has a connection. That it waits for as long, or for EndTimeout if that is longer.
	// After an error it may have taken place, but for a *NoConnectionError.
	Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error)
	// TakeOver claims the free row of the owner seen. It waits like Claim.
	TakeOver(ctx context.Context, c store.Claim, seen store.Owner, wait time.Duration) (bool, error)
	// Lookup reads the row of a key. It returns store.ErrNotFound where there is none.
	Lookup(ctx context.Context, handler, key string) (store.Row, error)
	// Renew has the holder's lease begin anew.
	Renew(ctx context.Context, h store.Holder, lease time.Duration) (bool, error)
	// Finish makes the holder's row a final one.
	Finish(ctx context.Context, e store.End) (bool, error)
	// Release gives the holder's lease back.
	Release(ctx context.Context, h store.Holder) (bool, error)
	// Park keeps everybody away from the row of a holder whose lease has passed.
	Park(ctx context.Context, h store.Holder) (bool, error)
}

// KeysOn runs the statements of q on db, which is to commit each. What may have to wait, it runs on a connection that take
// takes and that is given back with the statement's error.
func KeysOn[DB any](q store.Queries[DB], db DB, take func(context.Context) (conn DB, give func(context.Context, error), _ error)) Keys {
	return keys[DB]{q, db, take}
}

type keys[DB any] struct {
	q    store.Queries[DB]
	db   DB
	take func(context.Context) (DB, func(context.Context, error), error)
}

func one(n int64, err error) (bool, error) { return err == nil && n == 1, err }

// shortestWait keeps a claim that is not to wait within a bound too.
const shortestWait = time.Millisecond

func (k keys[DB]) Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error) {
	return k.waiting(ctx, wait, func(ctx context.Context, db DB) (int64, error) { return k.q.Claim(ctx, db, c) })
}

func (k keys[DB]) TakeOver(ctx context.Context, c store.Claim, seen store.Owner, wait time.Duration) (bool, error) {
	return k.waiting(ctx, wait, func(ctx context.Context, db DB) (int64, error) { return k.q.TakeOver(ctx, db, c, seen) })
}

// waiting runs a statement that may wait for a rival's transaction. A pool that is busy is no rival.
func (k keys[DB]) waiting(ctx context.Context, wait time.Duration, run func(context.Context, DB) (int64, error)) (bool, error) {
	conn, give, err := Connect(ctx, wait, k.take)
	if err != nil {
		return false, err
	}
	bounded, cancel := BoundWait(ctx, max(wait, shortestWait))
	defer cancel()
	done, err := one(run(bounded, conn))
	give(ctx, err)
	return done, WaitError(ctx, bounded, err)
}

// Connect takes a connection for a claim that is to wait for a rival for wait.
func Connect[DB any](ctx context.Context, wait time.Duration, take func(context.Context) (DB, func(context.Context, error), error)) (DB, func(context.Context, error), error) {
	bounded, cancel := BoundWait(ctx, max(wait, EndTimeout))
	defer cancel()
	conn, give, err := take(bounded)
	if err != nil {
		err = &NoConnectionError{err}
	}
	return conn, give, err
}

func (k keys[DB]) Lookup(ctx context.Context, handler, key string) (store.Row, error) {
	return k.q.Lookup(ctx, k.db, handler, key)
}

func (k keys[DB]) Renew(ctx context.Context, h store.Holder, lease time.Duration) (bool, error) {
	return one(k.q.Renew(ctx, k.db, h, lease))
}

func (k keys[DB]) Finish(ctx context.Context, e store.End) (bool, error) {
	return one(k.q.Finish(ctx, k.db, e))
}

func (k keys[DB]) Release(ctx context.Context, h store.Holder) (bool, error) {
	return one(k.q.Release(ctx, k.db, h))
}

func (k keys[DB]) Park(ctx context.Context, h store.Holder) (bool, error) {
	return one(k.q.Park(ctx, k.db, h))
}
