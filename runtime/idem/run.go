package idem

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
)

// Run is one run of a handler, as its function can ask for it by [FromContext].
type Run struct {
	// Handler and Key are the two halves of the row's identity. Of a [Transition], which has no key, it is that of the row that is
	// moved, and so the same each time that one comes through.
	Handler string
	Key     string
	// Attempt is the queue's delivery count, where the payload has one tagged; otherwise 0.
	Attempt int
	// Fence grows whenever the key changes hands, as long as its row is there: after that has been deleted, by a [Janitor] when
	// the window has passed or by a person, it begins at 1 again. An outside system that keeps the highest one that it has seen,
	// for no longer than the window, can refuse a late owner. It is 0 in shadow mode.
	Fence int64
}

// FromContext returns the run that ctx belongs to, and false outside of a handler and where the event has an empty key.
func FromContext(ctx context.Context) (Run, bool) {
	hook := hookOf(ctx)
	if hook == nil || hook.run.Key == "" {
		return Run{}, false
	}
	return hook.run, true
}

// ExternalKey is an idempotency key for an outside system to recognise the event by: 64 hexadecimal digits that depend on
// handler and key and on nothing else, and so are the same in every run, whoever makes it. Of a Run that is none it is
// empty: one key for all events would have the outside take them for one.
func (r Run) ExternalKey() string {
	if r.Key == "" {
		return ""
	}
	// A key has no NUL in it.
	sum := sha256.Sum256([]byte(r.Handler + "\x00" + r.Key))
	return hex.EncodeToString(sum[:])
}

// newRun is the run that a delivery begins.
func newRun[E any](s *Spec[E], e E, d *delivery) Run {
	r := Run{Handler: s.Name, Key: d.key, Attempt: d.attempt, Fence: d.fence}
	if r.Attempt == 0 && s.Attempt != nil {
		r.Attempt = s.Attempt(e)
	}
	return r
}
