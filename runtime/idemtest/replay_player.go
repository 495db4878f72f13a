package idemtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"
)

// player plays one case.
type player[E, R any] struct {
	t      testing.TB
	c      Case[E, R]
	calm   Handler[E, R] // nothing goes wrong with it
	events []*event
	keys   map[string]int // whose event a key is
	one    int            // effects of one run
	leased atomic.Bool
	runs   atomic.Int64 // of the handler's function, by all workers
}

// event is one that the play has made.
type event struct {
	i     int
	base  int // effects before its first delivery
	left  int // effects when they were counted last
	spent bool
}

// fresh makes an event that nobody has delivered, and looks at its key.
func (p *player[E, R]) fresh() *event {
	p.t.Helper()
	ev := &event{i: len(p.events)}
	key := p.key(ev)
	if again := p.key(ev); again != key {
		p.t.Fatalf("idemtest: Event(%d), made twice, has two keys, %q and %q: a redelivery would not be recognised. "+
			"Make the key of what the sender has sent: no time of receipt, nothing random, no number of the delivery.", ev.i, key, again)
	}
	if other, taken := p.keys[key]; taken {
		p.t.Fatalf("idemtest: Event(%d) and Event(%d) have one key, %q: each i needs an event of its own.", other, ev.i, key)
	}
	p.keys[key] = ev.i
	p.events = append(p.events, ev)
	ev.base = p.count(ev)
	return ev
}

func (p *player[E, R]) key(ev *event) string {
	p.t.Helper()
	key, err := p.calm.Key(p.c.Event(ev.i))
	if errors.Is(err, idem.ErrZeroKey) {
		p.t.Fatalf("idemtest: the key of Event(%d) is not complete: %v. Fill in the fields that the key is made of.", ev.i, err)
	}
	if err != nil {
		p.t.Fatalf("idemtest: the key of Event(%d): %v", ev.i, err)
	}
	return key
}

// count asks for the effects of an event.
func (p *player[E, R]) count(ev *event) int {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), p.c.Patience)
	defer cancel()
	n, err := p.c.Effects(ctx, p.c.Event(ev.i))
	if err != nil {
		p.t.Fatalf("idemtest: Effects of Event(%d): %v", ev.i, err)
	}
	return n
}

// effects are what the deliveries of an event have left.
func (p *player[E, R]) effects(ev *event) int {
	p.t.Helper()
	ev.left = p.count(ev) - ev.base
	return ev.left
}

// broke reports what was not as it should be. The event is not looked at again.
func (p *player[E, R]) broke(ev *event, play, format string, args ...any) {
	p.t.Helper()
	ev.spent = true
	p.t.Errorf("%s: %s", play, fmt.Sprintf(format, args...))
}

// ended is how a delivery ended.
type ended[R any] struct {
	result   R
	err      error
	panicked any
	returned bool
	hung     bool
}

// succeeded says that whoever delivered acknowledges.
func (d ended[R]) succeeded() bool { return d.returned && d.err == nil }

// String tells how the delivery ended, for a sentence that begins with it.
func (d ended[R]) String() string {
	switch {
	case d.hung:
		return "did not return"
	case d.panicked != nil:
		return fmt.Sprintf("panicked: %v", d.panicked)
	case !d.returned:
		return "left its goroutine by runtime.Goexit"
	case d.err != nil:
		return fmt.Sprintf("failed: %v", d.err)
	default:
		return "succeeded"
	}
}

// start delivers an event in a goroutine of its own. ctx is the consumer's.
func (p *player[E, R]) start(ctx context.Context, h Handler[E, R], ev *event) <-chan ended[R] {
	done := make(chan ended[R], 1)
	e := p.c.Event(ev.i)
	go func() {
		var d ended[R]
		defer func() {
			if !d.returned {
				d.panicked = recover()
			}
			done <- d
		}()
		d.result, d.err = p.insist(ctx, h, e)
		d.returned = true
	}()
	return done
}

// await is the end of a delivery, if it comes.
func (p *player[E, R]) await(done <-chan ended[R]) ended[R] {
	// Its context has ended by then, and a handler may need a moment to notice.
	timer := time.NewTimer(2 * p.c.Patience)
	defer timer.Stop()
	select {
	case d := <-done:
		return d
	case <-timer.C:
		return ended[R]{hung: true}
	}
}

// deliver delivers an event and waits for the end.
func (p *player[E, R]) deliver(h Handler[E, R], ev *event) ended[R] {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), p.c.Patience)
	defer cancel()
	d := p.await(p.start(ctx, h, ev))
	if d.hung {
		p.t.Fatalf("idemtest: a delivery of Event(%d) does not return, although its context has ended: what does the handler wait for?", ev.i)
	}
	return d
}

// busyPause is the longest pause before an event is delivered again that was in progress elsewhere.
const busyPause = 20 * time.Millisecond

// insist delivers as a queue does: an event that is in progress elsewhere comes again.
func (p *player[E, R]) insist(ctx context.Context, h Handler[E, R], e E) (R, error) {
	for {
		result, err := h.Do(ctx, e)
		var busy *idem.InProgressError
		if !errors.As(err, &busy) || ctx.Err() != nil {
			return result, err
		}
		pause := time.NewTimer(min(busyPause, max(busy.RetryAfter, time.Millisecond)))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return result, err
		}
	}
}

// equal says that a repeat's result is as good as the first.
func (p *player[E, R]) equal(first, repeat R) bool {
	if p.c.Equal != nil {
		return p.c.Equal(first, repeat)
	}
	if reflect.DeepEqual(first, repeat) {
		return true
	}
	// Times with a monotonic part, messages with a state of their own.
	a, errA := json.Marshal(first)
	b, errB := json.Marshal(repeat)
	return errA == nil && errB == nil && string(a) == string(b)
}
