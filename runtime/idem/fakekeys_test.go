package idem

import (
	"context"
	"slices"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// Keys are the fake's statements outside of transactions. Its faults are asked as "lease", "find", "take", "renew", "finish",
// "give" and "park".
func (db *fakeDB) Keys() driver.Keys { return fakeKeys{db} }

type fakeKeys struct{ db *fakeDB }

// alone waits until no transaction holds the key. Without an error db.mu is held.
func (k fakeKeys) alone(ctx context.Context, step, key string, wait time.Duration) error {
	if k.db.gate != nil {
		k.db.gate(step)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := k.db.ask(step); err != nil {
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		k.db.mu.Lock()
		rival, held := k.db.held[key]
		if !held {
			return nil
		}
		k.db.mu.Unlock()
		select {
		case <-rival:
		case <-timer.C:
			return errBusy
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// execute has a statement meet what the test wants it to.
func (k fakeKeys) execute(ctx context.Context, step string, statement func(context.Context) (bool, error)) (bool, error) {
	if k.db.late != nil {
		if when := k.db.late(step); when != nil {
			go func() {
				<-when
				_, _ = statement(context.WithoutCancel(ctx))
			}()
			<-ctx.Done()
			return false, ctx.Err()
		}
	}
	done, err := statement(ctx)
	if err == nil && k.db.twice != nil && k.db.twice(step) {
		done, err = statement(ctx)
	}
	if err == nil && k.db.answer != nil {
		err = k.db.answer(step)
	}
	return err == nil && done, err
}

func (k fakeKeys) claim(ctx context.Context, step string, c store.Claim, wait time.Duration, free func(store.Row, bool) bool) (bool, error) {
	return k.execute(ctx, step, func(ctx context.Context) (bool, error) { return k.claimOnce(ctx, step, c, wait, free) })
}

func (k fakeKeys) claimOnce(ctx context.Context, step string, c store.Claim, wait time.Duration, free func(store.Row, bool) bool) (bool, error) {
	key := c.Handler + " " + c.Key
	if err := k.alone(ctx, step, key, wait); err != nil {
		return false, err
	}
	defer k.db.mu.Unlock()
	k.db.claims = append(k.db.claims, c)
	row, there := k.db.now(key)
	if !free(row, there) {
		return false, nil
	}
	k.put(key, store.Row{State: c.State, Owner: c.Owner, Fence: row.Fence + 1, Fingerprint: c.Fingerprint, Result: slices.Clone(c.Result)})
	if c.Lease != nil {
		k.db.leases[key] = time.Now().Add(*c.Lease)
	}
	return true, nil
}

func (k fakeKeys) Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error) {
	return k.claim(ctx, "lease", c, wait, func(_ store.Row, there bool) bool { return !there })
}

func (k fakeKeys) TakeOver(ctx context.Context, c store.Claim, seen store.Owner, wait time.Duration) (bool, error) {
	return k.claim(ctx, "take", c, wait, func(r store.Row, there bool) bool { return there && r.Free() && r.Owner == seen })
}

func (k fakeKeys) Lookup(ctx context.Context, handler, key string) (store.Row, error) {
	if k.db.late != nil && k.db.late("find") != nil {
		<-ctx.Done()
		return store.Row{}, ctx.Err()
	}
	if err := k.db.ask("find"); err != nil {
		return store.Row{}, err
	}
	r, there := k.db.row(handler, key)
	if !there {
		return store.Row{}, store.ErrNotFound
	}
	return r, nil
}

// change changes the running row of a holder.
func (k fakeKeys) change(ctx context.Context, step string, h store.Holder, change func(key string, r store.Row) bool) (bool, error) {
	return k.execute(ctx, step, func(ctx context.Context) (bool, error) { return k.changeOnce(ctx, step, h, change) })
}

func (k fakeKeys) changeOnce(ctx context.Context, step string, h store.Holder, change func(key string, r store.Row) bool) (bool, error) {
	key := h.Handler + " " + h.Key
	if err := k.alone(ctx, step, key, time.Hour); err != nil {
		return false, err
	}
	defer k.db.mu.Unlock()
	r, there := k.db.now(key)
	if !there || r.State != store.Running || r.Owner != h.Owner || r.Fence != h.Fence {
		return false, nil
	}
	return change(key, r), nil
}

func (k fakeKeys) Renew(ctx context.Context, h store.Holder, lease time.Duration) (bool, error) {
	return k.change(ctx, "renew", h, func(key string, _ store.Row) bool {
		k.db.leases[key] = time.Now().Add(lease)
		return true
	})
}

func (k fakeKeys) Finish(ctx context.Context, e store.End) (bool, error) {
	if k.db.room != nil {
		if err := k.db.room(e.Result, e.Failure); err != nil {
			return false, err
		}
	}
	return k.change(ctx, "finish", e.Holder, func(key string, r store.Row) bool {
		r.State, r.Result, r.Failure, r.LeaseLeft = e.State, slices.Clone(e.Result), e.Failure, 0
		k.put(key, r)
		return true
	})
}

func (k fakeKeys) Release(ctx context.Context, h store.Holder) (bool, error) {
	return k.change(ctx, "give", h, func(key string, r store.Row) bool {
		r.State, r.LeaseLeft = store.Released, 0
		k.put(key, r)
		return true
	})
}

func (k fakeKeys) Park(ctx context.Context, h store.Holder) (bool, error) {
	return k.change(ctx, "park", h, func(key string, r store.Row) bool {
		if r.LeaseLeft > 0 {
			return false
		}
		r.State, r.LeaseLeft = store.Parked, 0
		k.put(key, r)
		return true
	})
}

// put makes a row one without a lease. db.mu is held.
func (k fakeKeys) put(key string, r store.Row) {
	k.db.rows[key] = r
	delete(k.db.leases, key)
}
