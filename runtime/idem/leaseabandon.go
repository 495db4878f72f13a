package idem

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/point"
	"github.com/idemgen/idemgen/runtime/store"
)

// pending is a key that has been asked for and not been answered.
type pending struct {
	held
	claim store.Claim
	seen  *store.Row // that was to be taken over; nil for a claim
	doubt bool       // it may have been granted, or be yet
}

// asking asks for the key of p by do, again if need be, and notes whether an answer is wanting: an error of these classes does
// not say that the statement was not executed, unless it was not even sent.
func (l *Lease[E, R]) asking(ctx context.Context, p *pending, d *delivery, do func() (bool, error)) (bool, error) {
	return again(ctx, l.classify, d, func() (bool, error) {
		granted, err := do()
		var unsent *driver.NoConnectionError
		if class := l.classify(err); err != nil && (class == driver.Other || class == driver.Busy) && !errors.As(err, &unsent) {
			p.doubt = true
		}
		return granted, err
	})
}

// abandonTimeout bounds the return of a lease that may have been granted without an answer.
const abandonTimeout = time.Second

// abandon keeps a key from being held for a delivery that is over, whatever became of ctx. The statement that asked for it
// may have been executed, or may be on its way to the database still, and be executed after all that is done here. So it is
// not enough to give the lease back: see [Lease.forestall]. What cannot be done within abandonTimeout is left to the lease's
// end.
func (l *Lease[E, R]) abandon(ctx context.Context, p *pending) {
	switch {
	case p.claim.State != store.Running:
		// A record of what was handled before: if it took place, so much the better.
	case l.settings.shadow:
		// A handler in shadow mode is waiting for this.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
		defer cancel()
		_, _ = l.keys.Release(ctx, p.Holder)
	default:
		l.insist(ctx, abandonTimeout, func(ctx context.Context) error {
			point.At(point.BeforeForestall)
			never, err := l.forestall(ctx, p)
			point.At(point.Forestalled)
			if err == nil && !never {
				point.At(point.BeforeTakeBack)
				_, err = l.keys.Release(ctx, p.Holder)
				point.At(point.TakenBack)
			}
			return err
		})
	}
}

// forestall makes the row one that a statement on its way can no longer have: there is a row, or it has another owner than
// the one that the take-over saw. The row is nobody's. It waits where that statement does, for a transaction that holds the
// key. It reports false where the row is another one by now: this delivery's, or a rival's.
func (l *Lease[E, R]) forestall(ctx context.Context, p *pending) (bool, error) {
	free := store.Claim{Handler: p.claim.Handler, Key: p.claim.Key, State: store.Released}
	if _, err := rand.Read(free.Owner[:]); err != nil {
		return false, err
	}
	if p.seen == nil {
		return l.keys.Claim(ctx, free, abandonTimeout)
	}
	if !p.seen.Expired {
		// It is that of a run which may have had its effect. This one had none.
		free.Fingerprint = p.seen.Fingerprint
	}
	return l.keys.TakeOver(ctx, free, p.seen.Owner, abandonTimeout)
}

// release gives the lease back, whatever became of ctx. If it cannot be within bound, it ends by itself.
func (l *Lease[E, R]) release(ctx context.Context, h store.Holder, bound time.Duration) {
	l.insist(ctx, bound, func(ctx context.Context) error {
		point.At(point.BeforeRelease)
		_, err := l.keys.Release(ctx, h)
		point.At(point.Released)
		return err
	})
}

// insist does what harms nobody if it is done twice until it has been answered, whatever became of ctx, or until bound has
// passed: the connection that a first try gets from the pool may be dead. What the database does not allow is not asked for
// again.
func (l *Lease[E, R]) insist(ctx context.Context, bound time.Duration, do func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound)
	defer cancel()
	for n := 0; ; n++ {
		err := l.once(ctx, bound, do)
		if err == nil {
			return
		}
		switch l.classify(err) {
		case driver.Misfit, driver.Denied:
			return
		}
		if pause(ctx, n) != nil {
			return
		}
	}
}

// once bounds one try, so that a connection that has died in silence leaves time for another.
func (l *Lease[E, R]) once(ctx context.Context, bound time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, bound/2)
	defer cancel()
	return do(ctx)
}
