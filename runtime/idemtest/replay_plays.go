package idemtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"
)

// inOrder delivers one event several times in a row, to two workers. It also learns what one run leaves.
func (p *player[E, R]) inOrder() {
	p.t.Helper()
	const play = "one delivery after another"
	ev := p.fresh()
	first := p.deliver(p.calm, ev)
	p.one = p.effects(ev)
	runs := p.runs.Load()
	switch ran := runs > 0; {
	case !first.succeeded() && runs > 1:
		p.t.Fatalf("idemtest: the first delivery of Event(%d) ran the handler %d times, since it met a conflict with another transaction or a locked database "+
			"each time, and %s. Nobody else is there: does the handler write through the pool, or through another connection, and wait for "+
			"its own transaction?", ev.i, runs, first)
	case !first.succeeded():
		p.t.Fatalf("idemtest: the first delivery of Event(%d) %s.%s", ev.i, first, because(first.err))
	case !ran && p.one == 0:
		p.t.Fatalf("idemtest: the first delivery of Event(%d) did not run the handler: an event of its key has been handled before this test. "+
			"Make something random a part of the key, chosen once, or empty the database.", ev.i)
	case !ran:
		p.t.Fatal("idemtest: the options that Case.Handler is given do not reach the generated constructor: pass them on.")
	case p.one <= 0:
		p.t.Fatalf("idemtest: the first delivery of Event(%d) succeeded and left %s. Does Effects look where the handler writes? %s "+
			"Does it keep the event for later?", ev.i, number(p.one), lateHint)
	}
	other := p.open(script{})
	for n := 2; n <= 4; n++ {
		h := p.calm
		if n%2 == 0 {
			h = other
		}
		d := p.deliver(h, ev)
		if !d.succeeded() {
			p.broke(ev, play, "delivery %d of one event %s.%s", n, d, because(d.err))
			return
		}
		if left := p.effects(ev); left != p.one {
			p.broke(ev, play, "%d deliveries of one event left %s, and one left %d. %s", n, number(left), p.one, p.hint(left))
			return
		}
		if p.runs.Load() != runs {
			p.t.Fatalf("idemtest: delivery %d of Event(%d) ran the handler again: let all handlers that Case.Handler makes share one database or, "+
				"with idemtest.InMemory, one Option that is made before. In shadow mode there is nothing to test.", n, ev.i)
		}
		if !p.same(ev, play, first.result, d.result) {
			return
		}
	}
	p.apart(ev)
}

// apart sees whether the effects of one event are counted without those of another.
func (p *player[E, R]) apart(ev *event) {
	p.t.Helper()
	other := p.fresh()
	before := p.count(ev)
	if d := p.deliver(p.calm, other); !d.succeeded() {
		p.broke(other, "another event", "the delivery of a second event %s.%s", d, because(d.err))
		return
	}
	if after := p.count(ev); after != before {
		p.t.Fatalf("idemtest: when Event(%d) was delivered, the effects of Event(%d) went from %d to %d: let Effects count what its event did, "+
			"and no other. %s", other.i, ev.i, before, after, lateHint)
	}
	if left := p.effects(other); left != p.one {
		p.t.Fatalf("idemtest: one delivery of Event(%d) left %s, and one of Event(%d) %d: make events that do as much as each other, "+
			"or let Effects count something that every event does once.", ev.i, number(p.one), other.i, left)
	}
}

// same reports a repeat whose result is not the first one's.
func (p *player[E, R]) same(ev *event, play string, first, repeat R) bool {
	p.t.Helper()
	if p.equal(first, repeat) {
		return true
	}
	p.broke(ev, play, "the repeat returned another result than the first run: %+v instead of %+v. %s", show(repeat), show(first), codecHint)
	return false
}

// show is a result as it is printed: what a pointer points to.
func show(v any) any {
	if s, ok := v.(fmt.Stringer); ok {
		return s
	}
	return pointee(v)
}

// atOnce delivers one event many times at the same time, to two workers.
func (p *player[E, R]) atOnce() {
	p.t.Helper()
	const play = "deliveries at once"
	ev := p.fresh()
	all := p.together([]*event{ev}, p.c.AtOnce)[0]
	for _, d := range all {
		if !d.succeeded() {
			p.broke(ev, play, "one of %d deliveries of one event at once %s.%s", len(all), d, because(d.err))
			return
		}
	}
	if left := p.effects(ev); left != p.one {
		p.broke(ev, play, "%d deliveries of one event at once left %s instead of %d. %s", len(all), number(left), p.one, p.hint(left))
		return
	}
	for _, d := range all[1:] {
		if !p.equal(all[0].result, d.result) {
			p.broke(ev, play, "two of %d deliveries of one event at once returned different results, %+v and %+v. %s",
				len(all), show(all[0].result), show(d.result), codecHint)
			return
		}
	}
}

// manyAtOnce delivers several events, each more than once, in turn and at the same time.
func (p *player[E, R]) manyAtOnce() {
	p.t.Helper()
	const play = "many events at once"
	const times = 3
	var events []*event
	for range max(2, p.c.AtOnce/2) {
		events = append(events, p.fresh())
	}
	for i, all := range p.together(events, times) {
		ev := events[i]
		for _, d := range all {
			if !d.succeeded() {
				spend(events)
				p.broke(ev, play, "a delivery among %d %s.%s", len(events)*times, d, because(d.err))
				return
			}
		}
	}
	for _, ev := range events {
		if left := p.effects(ev); left != p.one {
			spend(events)
			p.broke(ev, play, "Event(%d), delivered %d times among others, left %s instead of %d. "+
				"Does the handler keep something between two events, or between two deliveries at once? %s",
				ev.i, times, number(left), p.one, p.hint(left))
			return
		}
	}
}

// spend has events not looked at again.
func spend(events []*event) {
	for _, ev := range events {
		ev.spent = true
	}
}

// together delivers each event so many times, all at the same time.
func (p *player[E, R]) together(events []*event, times int) [][]ended[R] {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), p.c.Patience)
	defer cancel()
	workers := []Handler[E, R]{p.open(script{}), p.open(script{})}
	started := make([][]<-chan ended[R], len(events))
	for n := range times {
		for i, ev := range events {
			started[i] = append(started[i], p.start(ctx, workers[n%len(workers)], ev))
		}
	}
	all := make([][]ended[R], len(events))
	hung := -1
	for i := range started {
		for _, done := range started[i] {
			d := p.await(done)
			if d.hung {
				hung = events[i].i
			}
			all[i] = append(all[i], d)
		}
	}
	if hung >= 0 {
		p.t.Fatalf("idemtest: one of several deliveries at once, of Event(%d), does not return, although its context has ended: "+
			"does the handler take a second connection from a pool that has no more?", hung)
	}
	return all
}

// outcome is what a play expects of the effects of a delivery that did not succeed.
type outcome int

const (
	nothing    outcome = iota // rolled back
	everything                // committed
	either                    // outside of the database
)

// judge looks at the effects of a delivery that something went wrong with, and delivers the event again. What is how the
// report calls what went wrong.
func (p *player[E, R]) judge(ev *event, play, what string, d ended[R], want outcome) (again ended[R], ok bool) {
	p.t.Helper()
	left := p.effects(ev)
	switch {
	case d.succeeded() && left < p.one:
		p.broke(ev, play, "%s, the delivery succeeded, and the event left %s instead of %d. "+
			"An error that the handler does not return, or an event that it has changed, looks handled.", what, number(left), p.one)
		return again, false
	case d.succeeded() && left != p.one:
		p.broke(ev, play, "%s, the delivery succeeded, and the event left %s instead of %d. %s", what, number(left), p.one, p.hint(left))
		return again, false
	case d.succeeded(), want == either:
	case want == nothing && left != 0:
		p.broke(ev, play, "%s, %s remained, and nothing should. %s", what, number(left), insideHint)
		return again, false
	case want == everything && left != p.one:
		p.broke(ev, play, "%s, the event has left %s instead of %d. %s", what, number(left), p.one, p.hint(left))
		return again, false
	}
	again = p.deliver(p.calm, ev)
	left = p.effects(ev)
	switch {
	case p.leased.Load() && errors.Is(again.err, idem.ErrParked) && left <= p.one:
		// A person has to look, as the directive says.
	case !again.succeeded():
		p.broke(ev, play, "%s, the redelivery %s.%s", what, again, because(again.err))
		return again, false
	case left != p.one:
		p.broke(ev, play, "%s and the event was redelivered, it has left %s instead of %d. %s", what, number(left), p.one, p.hint(left))
		return again, false
	}
	return again, true
}

// unready reports a delivery that failed before something could go wrong with it.
func (p *player[E, R]) unready(ev *event, play string, d ended[R]) {
	p.t.Helper()
	if d.succeeded() {
		p.broke(ev, play, "the delivery succeeded, and nothing went wrong with it, since the options of this call of Case.Handler did not reach it: "+
			"make a handler in each call, by the generated constructor, and pass the options on.")
		return
	}
	p.broke(ev, play, "the handler was to do its work before something goes wrong, and the delivery %s.%s", d, because(d.err))
}

// linger is how long the effects of a goroutine that nobody waits for are waited for, before all events are counted once more.
const linger = 200 * time.Millisecond

// recount looks at all events once more.
func (p *player[E, R]) recount() {
	p.t.Helper()
	late := time.NewTimer(linger)
	defer late.Stop()
	select {
	case <-late.C:
	case <-p.t.Context().Done():
	}
	for _, ev := range p.events {
		before := ev.left
		if ev.spent {
			continue
		}
		if left := p.effects(ev); left != before {
			p.broke(ev, "afterwards", "Event(%d) had left %s when its last delivery had ended, and has now left %d. %s",
				ev.i, number(before), left, lateHint)
		}
	}
}
