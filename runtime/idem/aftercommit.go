package idem

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrNoCommitHook is [AfterCommit] where there is no commit to wait for: outside of a handler, after it has returned, or in
// one whose transaction is its caller's (see [Handler.InTx]).
var ErrNoCommitHook = errors.New("idem: no commit to wait for")

// AfterCommit has fn called once the transaction of the handler that ctx belongs to has committed, after the connection has
// been given back and before the delivery returns. It is called at most once: not if the run is rolled back or fails, not
// for a repeat, and not if the process dies first. So it is for what may be lost, such as waking a worker or dropping an
// entry of a cache; what must happen is a row that is written in the transaction.
//
// Functions are called one after another, in their order, in the goroutine of the delivery. They get its context's values
// but not its end, since the commit has taken place. A panic in one goes on to the delivery's caller, after the others have
// been called; the event is done all the same.
func AfterCommit(ctx context.Context, fn func(context.Context)) error {
	if fn == nil {
		return errors.New("idem.AfterCommit: the function is nil")
	}
	hook := hookOf(ctx)
	if hook == nil || !hook.add(fn) {
		return ErrNoCommitHook
	}
	return nil
}

// hookKey is the context key of the run's commitHook.
type hookKey struct{}

// hookOf is the hook of the run that ctx belongs to, or nil.
func hookOf(ctx context.Context) *commitHook {
	hook, _ := ctx.Value(hookKey{}).(*commitHook)
	return hook
}

// commitHook collects what is to be done after one run's commit.
type commitHook struct {
	run   Run
	outer *commitHook // of the run that this one was begun in

	session any                                 // the driver's, for a change of state before the handler; nil of a Transition's run
	wait    func(context.Context) time.Duration // how long that may wait

	mu     sync.Mutex
	closed bool
	fns    []func(context.Context)
}

// add reports whether the run still goes on.
func (k *commitHook) add(fn func(context.Context)) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed {
		k.fns = append(k.fns, fn)
	}
	return !k.closed
}

// within reports whether the key is one of a run that goes on, this one or one around it.
func (k *commitHook) within(handler, key string) bool {
	for ; k != nil; k = k.outer {
		if k.run.Handler == handler && k.run.Key == key {
			return true
		}
	}
	return false
}

// close ends the run: what comes later has no commit to wait for.
func (k *commitHook) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
}

// callAll calls all functions, also where one of them panics or exits its goroutine; that goes on as it was.
func callAll(ctx context.Context, fns []func(context.Context)) {
	if len(fns) == 0 {
		return
	}
	defer callAll(ctx, fns[1:])
	fns[0](ctx)
}
