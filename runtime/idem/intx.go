package idem

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/point"
	"github.com/idemgen/idemgen/runtime/store"
)

// InTx delivers e within tx, a transaction that the caller has begun and will end. Claim, handler and result are in a
// savepoint of it: they take effect if and when the caller commits, and with everything else that is in tx. An error of the
// handler, or a panic, rolls back to the savepoint, and tx can go on. Where it cannot go back, since the handler has left rows
// open or has ended tx, all of tx is given up: it cannot be committed. So it is, with [ErrTransactionLost] and nothing done, where
// tx has ended in the database before, which *sql.Tx and pgx.Tx do not notice. The database has to be the guard's.
//
// What [Handler.Do] does beyond that takes a transaction of its own, and there is none:
//
//   - Nothing is run again. An error of the database that tx is aborted by, a deadlock say, is the caller's, who has to
//     begin tx anew. Only the wait for a rival is the same, and it is waited for with all the locks that tx holds: two
//     transactions that claim several keys each, in different orders, run into a deadlock.
//   - The outcome is [OutcomeJoined]: only the caller knows whether tx commits, and only the caller can ask what became of a
//     COMMIT without an answer.
//   - A permanent failure is recorded in tx, and is gone if the caller rolls back for it.
//   - [AfterCommit] is [ErrNoCommitHook] in the handler.
//   - A key that comes a second time in one tx, or within its own handler, is [ErrReentrant].
//
// The isolation level is tx's, and the caller's to choose.
func (h *Handler[Tx, E, R]) InTx(ctx context.Context, tx Tx, e E) (result R, err error) {
	d := delivery{joined: true}
	defer h.observe(ctx, e, &d, &err)()
	if h.err != nil {
		return result, h.fail(&d, h.err)
	}
	d.key, err = h.spec.Key(e)
	if err != nil && !h.guard.settings.shadow {
		return result, h.fail(&d, err)
	}
	if err == nil && hookOf(ctx).within(h.spec.Name, d.key) && !h.guard.settings.shadow {
		return result, h.fail(&d, ErrReentrant)
	}
	claim := h.claim(e, d.key)
	if _, err := rand.Read(claim.Owner[:]); err != nil {
		return result, h.fail(&d, fmt.Errorf("no owner: %w", err))
	}
	d.until = time.Now().Add(h.guard.settings.inFlightTimeout)
	if h.guard.settings.shadow {
		return h.shadowIn(ctx, tx, e, claim, &d, err)
	}

	result, next, err := h.join(ctx, tx, claim, &d, h.running(e))
	if next != failing {
		return result, err
	}
	cause := err
	point.At(point.BeforeFailure)
	claim = h.failure(claim, &d, cause)
	result, _, err = h.join(ctx, tx, claim, &d, h.recording)
	if h.tooMuch(&d, err) {
		d.outcome = ""
		result, _, err = h.join(ctx, tx, h.plainly(claim, &d), &d, h.recording)
	}
	return h.recorded(&d, result, cause, err)
}

// join attempts in a savepoint of tx until the key is claimed or has a row, and leaves the savepoint.
func (h *Handler[Tx, E, R]) join(ctx context.Context, tx Tx, claim store.Claim, d *delivery, inside body[Tx, R]) (R, step, error) {
	for {
		result, next, err := h.joinOnce(ctx, tx, claim, d, inside)
		switch {
		case next == unusable:
			return result, ended, h.fail(d, h.guard.diagnose(ctx, err))
		case next != unclaimed:
			return result, next, err
		case err != nil && h.guard.driver.Classify(err) == driver.Conflict:
			return result, ended, h.fail(d, fmt.Errorf("claim: %w", err))
		case err != nil || time.Until(d.until) <= 0:
			return result, ended, h.inProgress(d, err)
		}
		// The row was there when it was claimed, and gone when it was looked up.
		if err := pause(ctx, d.retries); err != nil {
			return result, ended, h.inProgress(d, err)
		}
		d.retries++
	}
}

func (h *Handler[Tx, E, R]) joinOnce(ctx context.Context, tx Tx, claim store.Claim, d *delivery, inside body[Tx, R]) (result R, next step, err error) {
	s, err := h.guard.driver.Join(tx)
	if err != nil {
		return result, ended, h.fail(d, err)
	}
	defer s.Close(ctx)
	return h.once(ctx, s, claim, d, inside)
}

// shadowIn is shadow mode in a savepoint of tx.
func (h *Handler[Tx, E, R]) shadowIn(ctx context.Context, tx Tx, e E, claim store.Claim, d *delivery, keyless error) (result R, err error) {
	s, err := h.guard.driver.Join(tx)
	if err != nil {
		return result, h.fail(d, err)
	}
	defer s.Close(ctx)
	var v *verdict
	if keyless != nil {
		v = &verdict{OutcomeError, h.wrap("", keyless)}
	} else {
		v = h.judge(ctx, s, claim)
	}
	if v != nil {
		if err := s.Begin(ctx); err != nil {
			return result, h.fail(d, fmt.Errorf("no savepoint: %w", commitError(err)))
		}
	}
	defer func() { d.judged(v) }()
	result, next, err := h.shadowExecute(ctx, s, e, claim, d, v == nil)
	if next == unusable {
		err = h.fail(d, h.guard.diagnose(ctx, err))
	}
	return result, err
}
