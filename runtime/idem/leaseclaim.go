package idem

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	randv2 "math/rand/v2"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/point"
	"github.com/idemgen/idemgen/runtime/store"
)

// held is a lease that this delivery has.
type held struct {
	store.Holder
	sent time.Time // when it was asked for: the database counts from later on
}

// acquire claims the key, and waits for the lease of another delivery as the in-flight rule says, without a connection. Where
// it returns no lease, result and error are the delivery's.
func (l *Lease[E, R]) acquire(ctx context.Context, claim store.Claim, d *delivery) (h *held, result R, err error) {
	if _, err := rand.Read(claim.Owner[:]); err != nil {
		return nil, result, l.fail(d, fmt.Errorf("no owner: %w", err))
	}
	d.until = time.Now().Add(l.settings.inFlightTimeout)
	for polls := 0; ; d.retries++ {
		h, result, next, err := l.try(ctx, claim, d)
		switch {
		case h != nil || next == ended:
			return h, result, err
		case time.Until(d.until) <= 0:
			return nil, result, l.inProgress(d, err)
		case d.leased > 0:
			err = poll(ctx, polls, min(d.leased, time.Until(d.until)))
			polls++
		default:
			err = pause(ctx, d.retries)
		}
		if err != nil {
			return nil, result, l.inProgress(d, err)
		}
		point.At(point.BeforeRetry)
		d.outcome = ""
	}
}

// try goes once through claim, look-up and take-over. It does not claim a key that was leased a moment ago: a look-up tells
// as much.
func (l *Lease[E, R]) try(ctx context.Context, claim store.Claim, d *delivery) (h *held, result R, next step, err error) {
	var locked error
	if d.leased <= 0 {
		h = newHeld(claim, 1)
		point.At(point.BeforeClaim)
		claimed, err := l.keys.Claim(ctx, claim, d.wait(ctx, l.spec.InFlight))
		switch {
		case err != nil && l.classify(err) != driver.Locked:
			next, err = l.unclaimed(ctx, h, d, "claim", err)
			return nil, result, next, err
		case claimed:
			point.At(point.Claimed)
			return h, result, ended, nil
		}
		// A locked database can still be read, and has the answer if the key is done.
		locked = err
	}
	d.leased = 0

	point.At(point.BeforeLookup)
	row, err := l.keys.Lookup(ctx, claim.Handler, claim.Key)
	point.At(point.LookedUp)
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		next, err = l.unclaimed(ctx, nil, d, "look-up", err)
		return nil, result, next, err
	case err != nil && locked != nil:
		next, err = l.unclaimed(ctx, nil, d, "claim", locked)
		return nil, result, next, err
	case err != nil:
		// It has been swept, or deleted.
		return nil, result, unclaimed, nil
	case !known(row.State):
		return nil, result, ended, l.fail(d, unknownState(row.State))
	case !row.Expired && mismatch(row.Fingerprint, claim.Fingerprint):
		// Also where the row is free: the run that has left it may have had its effect, with another payload.
		result, err = l.repeat(row, claim, d)
		return nil, result, ended, err
	case row.State == store.Running && !row.Free() && l.spec.InFlight == Wait:
		d.leased = row.LeaseLeft
		return nil, result, unclaimed, nil
	case !row.Free():
		result, err = l.repeat(row, claim, d)
		return nil, result, ended, err
	case locked != nil:
		next, err = l.unclaimed(ctx, nil, d, "claim", locked)
		return nil, result, next, err
	}
	h, next, err = l.takeOver(ctx, row, claim, d)
	return h, result, next, err
}

// newHeld is the lease that a claim asks for now.
func newHeld(claim store.Claim, fence int64) *held {
	return &held{store.Holder{Handler: claim.Handler, Key: claim.Key, Owner: claim.Owner, Fence: fence}, time.Now()}
}

// takeOver claims a row that is free, or parks it.
func (l *Lease[E, R]) takeOver(ctx context.Context, row store.Row, claim store.Claim, d *delivery) (*held, step, error) {
	if row.State == store.Running && !row.Expired && l.spec.Expired == Park {
		point.At(point.BeforeParking)
		parked, err := l.keys.Park(ctx, store.Holder{Handler: claim.Handler, Key: claim.Key, Owner: row.Owner, Fence: row.Fence})
		switch {
		case err != nil:
			next, err := l.unclaimed(ctx, nil, d, "parking", err)
			return nil, next, err
		case !parked:
			// Its owner was late, and renewed or ended it.
			return nil, unclaimed, nil
		}
		point.At(point.Parked)
		return nil, ended, l.fail(d, ErrParked)
	}
	h := newHeld(claim, row.Fence+1)
	point.At(point.BeforeTakeOver)
	claimed, err := l.keys.TakeOver(ctx, claim, row.Owner, d.wait(ctx, l.spec.InFlight))
	switch {
	case err != nil:
		next, err := l.unclaimed(ctx, h, d, "take-over", err)
		return nil, next, err
	case claimed:
		point.At(point.TakenOver)
		return h, ended, nil
	default:
		// A rival took over first, or its owner was late.
		return nil, unclaimed, nil
	}
}

// refresh renews a lease whose claim was answered so late that a renewal is due: it may have waited for a transaction, or for a
// connection, until after the lease's end. A handler must not begin without one. It returns the error of a delivery that has
// none; nothing ran.
func (l *Lease[E, R]) refresh(ctx context.Context, h *held, d *delivery) error {
	for n := 0; time.Since(h.sent) >= l.spec.Lease/3; n++ {
		sent := time.Now()
		bounded, cancel := context.WithTimeout(ctx, l.spec.Lease/3)
		point.At(point.BeforeRenewal)
		renewed, err := l.keys.Renew(bounded, h.Holder, l.spec.Lease)
		point.At(point.Renewed)
		cancel()
		switch {
		case err == nil && renewed:
			h.sent = sent
			return nil
		case err == nil:
			// It had passed, and a rival took over.
			return l.inProgress(d, nil)
		case time.Until(d.until) <= 0, ctx.Err() != nil:
		default:
			switch l.classify(err) {
			case driver.Locked, driver.Conflict:
				if pause(ctx, n) == nil {
					continue
				}
			}
		}
		if time.Since(h.sent) < sure(l.spec.Lease) {
			// It still has one, and the heartbeat goes on asking.
			return nil
		}
		l.release(ctx, h.Holder, abandonTimeout)
		return l.fail(d, fmt.Errorf("renewal: %w", err))
	}
	return nil
}

// abandonTimeout bounds the return of a lease that may have been granted without an answer.
const abandonTimeout = time.Second

// unclaimed judges an error before the handler ran. h is the lease that was asked for, where that may have been granted.
func (l *Lease[E, R]) unclaimed(ctx context.Context, h *held, d *delivery, what string, err error) (step, error) {
	class := l.classify(err)
	if h != nil && (class == driver.Other || class == driver.Busy) {
		l.release(ctx, h.Holder, abandonTimeout)
	}
	if ctx.Err() != nil && class == driver.Other {
		if !errors.Is(err, ctx.Err()) {
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		return ended, l.fail(d, fmt.Errorf("%s: %w", what, err))
	}
	switch class {
	case driver.Conflict:
		return unclaimed, err
	case driver.Locked:
		if l.spec.InFlight == Fail {
			return ended, l.inProgress(d, err)
		}
		return unclaimed, err
	case driver.Busy:
		return ended, l.inProgress(d, err)
	case driver.Misfit, driver.Denied:
		return ended, l.fail(d, l.diagnose(ctx, err))
	default:
		return ended, l.fail(d, fmt.Errorf("%s: %w", what, err))
	}
}

const (
	pollMin = 16 * time.Millisecond
	pollMax = 512 * time.Millisecond
)

// poll waits before the nth look at another delivery's lease: a random time, under a bound that doubles, and not longer than
// the lease can last.
func poll(ctx context.Context, n int, left time.Duration) error {
	bound := pollMax
	if n < 5 {
		bound = pollMin << n
	}
	return wait(ctx, min(bound/2+time.Duration(randv2.Int64N(int64(bound/2))), left+time.Millisecond))
}
