package memory

import (
	"context"
	"slices"
	"time"

	"github.com/idemgen/idemgen/runtime/store"
)

// keys are the statements of leases, each a transaction of its own.
type keys struct{ db *DB }

// forever waits for a row as long as the context lasts.
const forever time.Duration = -1

func (k keys) Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error) {
	return k.claim(ctx, "Claim", c, wait, func(_ store.Row, there bool) bool { return !there })
}

func (k keys) TakeOver(ctx context.Context, c store.Claim, seen store.Owner, wait time.Duration) (bool, error) {
	return k.claim(ctx, "TakeOver", c, wait, func(r store.Row, there bool) bool { return there && r.Free() && r.Owner == seen })
}

func (k keys) claim(ctx context.Context, query string, c store.Claim, wait time.Duration, free func(store.Row, bool) bool) (bool, error) {
	k.db.begins(query)
	at := id{c.Handler, c.Key}
	if err := k.db.lock(ctx, at, nil, wait); err != nil {
		return false, err
	}
	defer k.db.mu.Unlock()
	r, there := k.db.rows[at]
	if !free(r.at(time.Now()), there) {
		return false, nil
	}
	k.db.rows[at] = claimed(c, r.Fence+1)
	return k.db.answer(query, true)
}

func (k keys) Lookup(ctx context.Context, handler, key string) (store.Row, error) {
	if err := ctx.Err(); err != nil {
		return store.Row{}, err
	}
	k.db.begins("Lookup")
	return k.db.read(id{handler, key})
}

// read reads what is committed.
func (db *DB) read(k id) (store.Row, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	r, there := db.rows[k]
	if !there {
		return store.Row{}, store.ErrNotFound
	}
	return r.at(time.Now()), nil
}

// change changes the row of a holder, if it still is one.
func (k keys) change(ctx context.Context, query string, h store.Holder, do func(r *row, now time.Time) bool) (bool, error) {
	k.db.begins(query)
	at := id{h.Handler, h.Key}
	if err := k.db.lock(ctx, at, nil, forever); err != nil {
		return false, err
	}
	defer k.db.mu.Unlock()
	r, there := k.db.rows[at]
	if !there || r.State != store.Running || r.Owner != h.Owner || r.Fence != h.Fence || !do(&r, time.Now()) {
		return false, nil
	}
	k.db.rows[at] = r
	return k.db.answer(query, true)
}

func (k keys) Renew(ctx context.Context, h store.Holder, lease time.Duration) (bool, error) {
	return k.change(ctx, "Renew", h, func(r *row, now time.Time) bool {
		r.lease = now.Add(lease)
		return true
	})
}

func (k keys) Finish(ctx context.Context, e store.End) (bool, error) {
	return k.change(ctx, "Finish", e.Holder, func(r *row, now time.Time) bool {
		r.State, r.Result, r.Failure = e.State, slices.Clone(e.Result), e.Failure
		r.lease, r.expires = time.Time{}, after(now, e.Window)
		return true
	})
}

func (k keys) Release(ctx context.Context, h store.Holder) (bool, error) {
	return k.change(ctx, "Release", h, func(r *row, _ time.Time) bool {
		r.State, r.lease = store.Released, time.Time{}
		return true
	})
}

func (k keys) Park(ctx context.Context, h store.Holder) (bool, error) {
	return k.change(ctx, "Park", h, func(r *row, now time.Time) bool {
		if now.Before(r.lease) {
			return false
		}
		r.State, r.lease = store.Parked, time.Time{}
		return true
	})
}
