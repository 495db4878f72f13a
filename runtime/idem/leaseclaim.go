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
	if err := ctx.Err(); err != nil {
		// Nothing is asked for that nobody would wait for, and would have to be given back.
		return nil, result, l.fail(d, err)
	}
	defer func() {
		if h == nil && d.doubt != nil {
			l.abandon(ctx, d.doubt)
		}
	}()
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
	var p *pending
	if d.leased <= 0 {
		p = ask(claim, nil, d)
		point.At(point.BeforeClaim)
		claimed, err := l.asking(ctx, p, d, func() (bool, error) {
			return l.keys.Claim(ctx, claim, d.wait(ctx, l.spec.InFlight))
		})
		switch {
		case err != nil && l.classify(err) != driver.Locked:
			next, err = l.unclaimed(ctx, p, d, "claim", err)
			return nil, result, next, err
		case claimed:
			point.At(point.Claimed)
			return &p.held, result, ended, nil
		}
		// A locked database can still be read, and has the answer if the key is done.
		locked = err
	}
	d.leased = 0

	point.At(point.BeforeLookup)
	row, err := l.look(ctx, claim, d)
	point.At(point.LookedUp)
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		next, err = l.unclaimed(ctx, p, d, "look-up", err)
		return nil, result, next, err
	case err != nil && locked != nil:
		next, err = l.unclaimed(ctx, nil, d, "claim", locked)
		return nil, result, next, err
	case err != nil:
		// It has been swept, or deleted.
		return nil, result, unclaimed, nil
	case own(row, claim):
		return unanswered(row, claim, d), result, ended, nil
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

// askTries is how many times a statement without an answer is sent, each time on another connection: after a restart of the
// server, those that were idle are broken.
const askTries = 3

// again sends a statement again that was not answered, while there is time. A claim or a take-over that had been executed
// all the same is not executed again, and is known by its owner.
func again[T any](ctx context.Context, classify func(error) driver.Class, d *delivery, do func() (T, error)) (T, error) {
	for n := 1; ; n++ {
		got, err := do()
		if err == nil || errors.Is(err, store.ErrNotFound) || classify(err) != driver.Other || n == askTries ||
			ctx.Err() != nil || time.Until(d.until) <= 0 || pause(ctx, n) != nil {
			return got, err
		}
	}
}

// lookGrace is how much longer than the in-flight time a look-up may take before its connection is given up.
const lookGrace = time.Second

// look reads the key's row. A database that does not answer keeps nobody for longer than another delivery may.
func (l *Lease[E, R]) look(ctx context.Context, claim store.Claim, d *delivery) (store.Row, error) {
	ctx, cancel := context.WithTimeout(ctx, max(time.Until(d.until), 0)+lookGrace)
	defer cancel()
	return again(ctx, l.classify, d, func() (store.Row, error) { return l.keys.Lookup(ctx, claim.Handler, claim.Key) })
}

// own reports whether a row is of a statement of this delivery that was executed, and was not answered until it had been
// executed again.
func own(row store.Row, claim store.Claim) bool {
	return row.Owner == claim.Owner && row.State == claim.State
}

// unanswered is the lease of a row of this delivery's own. It counts from the first time on that it was asked for; where it has
// passed since, nobody has taken it over, and a renewal decides.
func unanswered(row store.Row, claim store.Claim, d *delivery) *held {
	return &held{holder(claim, row.Fence), d.asked}
}

func holder(claim store.Claim, fence int64) store.Holder {
	return store.Holder{Handler: claim.Handler, Key: claim.Key, Owner: claim.Owner, Fence: fence}
}

// ask notes that the key is being asked for: by a claim, or by the take-over of the row seen.
func ask(claim store.Claim, seen *store.Row, d *delivery) *pending {
	fence := int64(1)
	if seen != nil {
		fence = seen.Fence + 1
	}
	p := &pending{held: held{holder(claim, fence), time.Now()}, claim: claim, seen: seen}
	if d.asked.IsZero() {
		d.asked = p.sent
	}
	return p
}

// takeOver claims a row that is free, or parks it.
func (l *Lease[E, R]) takeOver(ctx context.Context, row store.Row, claim store.Claim, d *delivery) (*held, step, error) {
	if row.State == store.Running && !row.Expired && l.spec.Expired == Park {
		return l.park(ctx, row, claim, d)
	}
	p := ask(claim, &row, d)
	point.At(point.BeforeTakeOver)
	claimed, err := l.asking(ctx, p, d, func() (bool, error) {
		return l.keys.TakeOver(ctx, claim, row.Owner, d.wait(ctx, l.spec.InFlight))
	})
	switch {
	case err != nil:
		next, err := l.unclaimed(ctx, p, d, "take-over", err)
		return nil, next, err
	case claimed:
		point.At(point.TakenOver)
		return &p.held, ended, nil
	}
	// A rival took over first, or its owner was late; or the row has become this delivery's before the answer.
	now, err := l.look(ctx, claim, d)
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		next, err := l.unclaimed(ctx, p, d, "look-up", err)
		return nil, next, err
	case err == nil && own(now, claim):
		return unanswered(now, claim, d), ended, nil
	default:
		return nil, unclaimed, nil
	}
}

// park keeps everybody away from a row whose lease has passed, or only says so where this is no guarded delivery.
func (l *Lease[E, R]) park(ctx context.Context, row store.Row, claim store.Claim, d *delivery) (*held, step, error) {
	if d.keeps {
		return nil, ended, l.fail(d, ErrParked)
	}
	bounded, cancel := context.WithTimeout(ctx, max(time.Until(d.until), 0)+lookGrace)
	defer cancel()
	point.At(point.BeforeParking)
	parked, err := l.keys.Park(bounded, store.Holder{Handler: claim.Handler, Key: claim.Key, Owner: row.Owner, Fence: row.Fence})
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
		case l.renewAgain(h, d, err) && pause(ctx, n) == nil:
			continue
		}
		if time.Since(h.sent) < sure(l.spec.Lease) {
			// It still has one, and the heartbeat goes on asking.
			return nil
		}
		l.release(ctx, h.Holder, abandonTimeout)
		if over := ctx.Err(); over != nil && !errors.Is(err, over) {
			err = fmt.Errorf("%w: %w", over, err)
		}
		return l.fail(d, fmt.Errorf("renewal: %w", err))
	}
	return nil
}

// renewAgain reports whether a renewal that met err is to be tried again before the handler begins. One without an answer is not
// while there still is a lease, since the heartbeat goes on asking.
func (l *Lease[E, R]) renewAgain(h *held, d *delivery, err error) bool {
	if time.Until(d.until) <= 0 {
		return false
	}
	switch l.classify(err) {
	case driver.Locked, driver.Conflict:
		return true
	case driver.Other:
		return time.Since(h.sent) >= sure(l.spec.Lease)
	default:
		return false
	}
}

// unclaimed judges an error before the handler ran. p is what was asked for, where that may have been granted.
func (l *Lease[E, R]) unclaimed(ctx context.Context, p *pending, d *delivery, what string, err error) (step, error) {
	class := l.classify(err)
	if p != nil && p.doubt {
		switch class {
		case driver.Conflict, driver.Locked:
			d.doubt = p // it may be asked for again
		default:
			l.abandon(ctx, p)
		}
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
