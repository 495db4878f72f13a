package idem

import (
	"context"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/point"
	"github.com/idemgen/idemgen/runtime/store"
)

// Mark records e as handled, with the result r, without running the handler: for the events that were handled before
// idemgen was there, and may come again. The window is counted from now on. Pass struct{}{} for a handler without a result.
//
// A key that has a row keeps it: Mark returns nil if e is recorded as handled, with this result or another, and otherwise
// what a repeat would get, [ErrPayloadMismatch] or a [*FailedError]. Errors are as of [Handler.Do]. It is not a delivery, and
// no [Observer] is told of it.
func (h *Handler[Tx, E, R]) Mark(ctx context.Context, e E, r R) error {
	if h.err != nil {
		return h.wrap("", h.err)
	}
	key, err := h.spec.Key(e)
	if err != nil {
		return h.wrap("", err)
	}
	d := delivery{key: key}
	_, err = h.deliver(ctx, h.claim(e, key), &d, func(ctx context.Context, s driver.Session[Tx], claim store.Claim, d *delivery) (none R, _ step, _ error) {
		d.run()
		completion, err := h.completion(claim, r)
		if err != nil {
			return none, ended, h.fail(d, err)
		}
		point.At(point.MarkClaimed)
		if err := s.Commit(ctx, completion); err != nil {
			return h.uncommitted(d, none, err)
		}
		point.At(point.Marked)
		return none, ended, nil
	})
	if d.outcome == OutcomeDuplicate {
		// Whether the stored result can be returned does not matter here.
		return nil
	}
	return err
}
