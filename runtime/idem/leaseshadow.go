package idem

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// shadow runs the handler whatever becomes of the claim; see [WithShadow]. A lease that is lost does not end its context.
func (l *Lease[E, R]) shadow(ctx context.Context, e E, d *delivery, keyless error) (result R, err error) {
	var v *verdict
	var h *held
	if keyless != nil {
		v = &verdict{OutcomeError, l.wrap("", keyless)}
	} else {
		h, v = l.judge(ctx, l.claim(e, d.key))
	}
	defer func() { d.judged(v) }()
	if h == nil {
		hook := &commitHook{run: newRun(&l.spec, e, d), outer: hookOf(ctx), closed: true}
		result, err = l.run(context.WithValue(ctx, hookKey{}, hook), e)
		d.outcome = OutcomeExecuted
		if err != nil {
			d.outcome = OutcomeError
		}
		return result, err
	}

	beat, _ := l.beat(ctx, *h)
	defer beat.stop()
	result, _, err = l.call(ctx, ctx, e, *h, d)
	if err != nil {
		l.release(ctx, h.Holder, driver.EndTimeout)
		d.outcome = OutcomeError
		return result, err
	}
	d.outcome = OutcomeExecuted
	data, unstored := l.encode(ctx, *h, result)
	settled, ferr := l.finish(ctx, store.End{Holder: h.Holder, State: store.Done, Result: data, Window: l.window})
	switch {
	case errors.Is(ferr, ErrLeaseLost):
		d.outcome, d.verdict = OutcomeLeaseLost, l.wrap(d.key, ferr)
	case ferr != nil || unstored != nil:
		d.outcome, d.verdict = OutcomeError, l.wrap(d.key, errors.Join(ferr, unstored))
	case settled:
		d.outcome = OutcomeSettled
	}
	return result, nil
}

// judge claims the key if it can be had at once. It returns a verdict if it could not: what a guard would have done.
func (l *Lease[E, R]) judge(ctx context.Context, claim store.Claim) (*held, *verdict) {
	if _, err := rand.Read(claim.Owner[:]); err != nil {
		return nil, &verdict{OutcomeError, l.wrap(claim.Key, fmt.Errorf("no owner: %w", err))}
	}
	d := delivery{key: claim.Key, until: time.Now(), keeps: true}
	once := *l
	once.spec.InFlight = Fail
	h, _, next, err := once.try(ctx, claim, &d)
	switch {
	case h != nil:
		return h, nil
	case next == unclaimed:
		return nil, &verdict{OutcomeInProgress, l.inProgress(&d, err)}
	default:
		return nil, &verdict{d.outcome, err}
	}
}
