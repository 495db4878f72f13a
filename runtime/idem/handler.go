package idem

import (
	"context"
	"errors"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// Handler is a handler of events E with results R whose repeats are harmless. Generated code makes handlers and has an
// accessor for each. A Handler is safe for concurrent use.
type Handler[Tx, E, R any] struct {
	guard *Guard[Tx]
	spec  Spec[E]
	run   func(context.Context, Tx, E) (R, error)
	err   error // returned by every delivery

	hasResult bool           // R is not struct{}
	state     store.State    // of a claim
	pending   *time.Duration // window of a claim
	window    *time.Duration // window of a completion
}

// NewHandler guards run by the keys of g. What is wrong with spec is returned by every delivery.
func NewHandler[Tx, E, R any](g *Guard[Tx], spec Spec[E], run func(context.Context, Tx, E) (R, error)) *Handler[Tx, E, R] {
	h := &Handler[Tx, E, R]{guard: g, spec: spec, run: run}
	switch {
	case g == nil:
		h.err = errors.New("the handler has no guard")
	case run == nil:
		h.err = errors.New("the handler has no function")
	case g.err != nil:
		h.err = g.err
	case g.settings.driver.Leases != nil:
		h.err = driver.ErrNoTransactions
	default:
		h.err = spec.check()
		if h.err == nil && spec.Lease != 0 {
			h.err = errors.New("a handler with a transaction has no lease")
		}
	}
	if h.err != nil {
		return h
	}
	_, none := any(*new(R)).(struct{})
	h.hasResult = !none
	h.window = spec.window()
	h.state = store.Open
	if !h.hasResult && g.driver.ClaimCompletes() {
		h.state, h.pending = store.Done, h.window
	}
	return h
}

// NoResult makes a handler function of one that returns nothing but an error.
func NoResult[Tx, E any](run func(context.Context, Tx, E) error) func(context.Context, Tx, E) (struct{}, error) {
	if run == nil {
		return nil
	}
	return func(ctx context.Context, tx Tx, e E) (struct{}, error) {
		return struct{}{}, run(ctx, tx, e)
	}
}

// Name is the handler's name, as it stands in the table.
func (h *Handler[Tx, E, R]) Name() string { return h.spec.Name }

// Key is the business key of e, as it stands in the table. The error is an [*Error], of [ErrZeroKey] where a part of the
// key is zero.
func (h *Handler[Tx, E, R]) Key(e E) (string, error) {
	if h.spec.Key == nil {
		return "", h.wrap("", h.spec.check())
	}
	key, err := h.spec.Key(e)
	if err != nil {
		return "", h.wrap("", err)
	}
	return key, nil
}

// wrap adds handler and key to an error that is not the handler's own.
func (h *Handler[Tx, E, R]) wrap(key string, err error) error {
	return &Error{Handler: h.spec.Name, Key: key, Err: err}
}
