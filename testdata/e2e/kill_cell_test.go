package e2e

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/idemgen/idemgen/testdata/e2e/kill"
)

// A cell's measures.
const (
	killsPerCell = 3
	freshEvents  = 4 // of each kill, besides those that are not acknowledged
	sweptRows    = 8 // of each round of a janitor
)

// killCell is one point in one mode on one engine.
type killCell struct {
	killEngine
	point kill.Point
	mode  string
	killResult
}

// killResult is what became of a cell.
type killResult struct {
	kills   int
	doubled int // effects beyond an event's one, or its none
	lost    int // events that were acknowledged and have no effect
	err     error
}

func (c *killCell) name() string { return c.point.Name + "/" + c.driver.name + "/" + c.mode }

// run kills a worker at the point several times, has the next one go on each time, and compares in the end what was promised
// with what is there.
func (c *killCell) run(ctx context.Context, bin, dir string) (err error) {
	var more []string
	if c.moves() {
		more = c.orders
	}
	place, err := c.open(ctx, c.killEngine, dir, more...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.drop()) }()
	r := &killRun{killCell: c, place: place, script: scriptFor(c.point.Name, c.mode)}
	r.queue = queue{bin: bin, until: r.script.last, job: kill.Job{
		Driver: c.driver.name, Server: place.server, Place: place.place, Outside: place.outside,
		Texts: c.point.Wire || r.script.losing != "",
	}}
	if r.script.losing != "" {
		r.queue.job.Lose, r.queue.job.Losing = 2*freshEvents, r.script.losing
		if r.script.losing == kill.Granted {
			// On a busy machine a claim may not be taken back in its second, and has to be lost again.
			r.queue.job.Lose = 10 * freshEvents
		}
	}
	err = r.deliver(ctx)
	c.kills = r.queue.kills
	// Also what came to no end is counted: an event that is refused for ever is lost.
	return errors.Join(err, r.judge(context.WithoutCancel(ctx)))
}

// killRun is a cell at work.
type killRun struct {
	*killCell
	script
	place  killPlace
	queue  queue
	events []*event
	swept  []*event // the events whose rows a janitor is to delete
}

// deliver goes through all of the cell's deliveries.
func (r *killRun) deliver(ctx context.Context) error {
	for n := range killsPerCell {
		if err := r.fresh(ctx); err != nil {
			return err
		}
		killed, err := r.queue.work(ctx, r.point.Name+":"+strconv.Itoa(n+1))
		if err != nil {
			return err
		}
		if !killed {
			return fmt.Errorf("kill %d: the worker did not come to the point", n+1)
		}
	}
	if r.parks() {
		r.queue.then = append(r.queue.then, r.unpark)
	}
	// What was lost with its row would be made good by a repeat, so it is looked for before.
	r.queue.then = append(r.queue.then, r.count, r.repeat)
	_, err := r.queue.work(ctx, "")
	return err
}

// unpark is a person who has looked at the keys that are parked, and has their events run.
func (r *killRun) unpark(ctx context.Context) error {
	r.queue.until = nil
	return errors.Join(r.place.unpark(ctx), r.repeat(ctx))
}

// fresh adds new events to the queue.
func (r *killRun) fresh(ctx context.Context) error {
	for i := range freshEvents {
		e := &event{OrderPlaced: order(), call: r.calls[i%len(r.calls)], how: r.hows[i%len(r.hows)]}
		r.events = append(r.events, e)
		if r.moves() {
			e.refusal = r.refusals[i%len(r.refusals)]
			if err := r.place.order(ctx, e); err != nil {
				return err
			}
		}
		if len(r.seeds) > 0 {
			if err := r.place.seed(ctx, e, r.seeds[i%len(r.seeds)]); err != nil {
				return err
			}
		}
		for range r.copies {
			r.queue.add(e, e.call)
		}
	}
	if !r.sweep {
		return nil
	}
	for range sweptRows {
		e := &event{OrderPlaced: order(), call: r.calls[0]}
		r.swept = append(r.swept, e)
		if err := r.place.seed(ctx, e, pastWindow); err != nil {
			return err
		}
	}
	r.queue.add(&event{}, kill.Sweep)
	return nil
}

// repeat has every event delivered once more, after its end.
func (r *killRun) repeat(context.Context) error {
	for _, e := range r.events {
		r.queue.add(e, e.repeat())
	}
	return nil
}

// effectsThere are the effects in the mode's system.
func (r *killRun) effectsThere(ctx context.Context) (map[string][]string, error) {
	if r.mode == leaseMode {
		return r.place.outsiders("charge")
	}
	return r.place.effects(ctx)
}

// count counts what is doubled and what is lost, of effects and of steps, when every event has been acknowledged.
func (r *killRun) count(ctx context.Context) error {
	effects, err := r.effectsThere(ctx)
	if err != nil {
		return err
	}
	moves, err := r.movesThere(ctx)
	if err != nil {
		return err
	}
	doubled, lost := 0, 0
	for _, e := range r.events {
		n, steps := len(effects[e.what()]), len(moves.of[e.id()])
		doubled += max(0, n-e.wanted())
		lost += max(0, e.wanted()-n)
		if r.moves() {
			doubled += max(0, steps-e.steps())
			lost += max(0, e.steps()-steps)
		}
	}
	r.doubled, r.lost = max(r.doubled, doubled), max(r.lost, lost)
	return nil
}

// judge counts the effects, and compares what each delivery was told with what is there.
func (r *killRun) judge(ctx context.Context) error {
	if err := r.count(ctx); err != nil {
		return err
	}
	effects, err := r.effectsThere(ctx)
	if err != nil {
		return err
	}
	states, err := r.place.states(ctx)
	if err != nil {
		return err
	}
	moves, err := r.movesThere(ctx)
	if err != nil {
		return err
	}
	calls, err := r.place.outsiders("call")
	if err != nil {
		return err
	}
	var faults []error
	for _, e := range r.events {
		faults = append(faults, e.told(effects[e.what()], r.mode), e.row(states[e.key()]), e.called(len(calls[e.what()])))
		if r.moves() {
			faults = append(faults, moves.judge(e))
		}
		delete(effects, e.what())
		delete(states, e.key())
	}
	for what := range effects {
		faults = append(faults, fmt.Errorf("an effect that nobody asked for: %s", what))
	}
	for key := range states {
		faults = append(faults, fmt.Errorf("a row that should not be there: %s", key))
	}
	if r.doubled+r.lost > 0 {
		faults = append(faults, fmt.Errorf("%d doubled, %d lost", r.doubled, r.lost))
	}
	return errors.Join(faults...)
}

// told compares what deliveries were told with the event's effects: all of them the same, and with a transaction it is the run
// whose effect is there.
func (e *event) told(effects []string, mode string) error {
	if e.refusal != "" {
		if len(e.receipts) > 0 || e.refused == 0 {
			return fmt.Errorf("%s is refused: told %d times, and %d times that it went well", e.what(), e.refused, len(e.receipts))
		}
		return nil
	}
	if e.how == kill.Permanent {
		if len(e.receipts) > 0 || e.failed == 0 {
			return fmt.Errorf("%s has failed for good: told %d times, and %d times that it went well", e.what(), e.failed, len(e.receipts))
		}
		return nil
	}
	if len(e.receipts) == 0 || e.failed > 0 || e.refused > 0 {
		return fmt.Errorf("%s went well: told %d times, and %d times that it has failed for good, %d times that it is refused",
			e.what(), len(e.receipts), e.failed, e.refused)
	}
	var want string
	for _, got := range e.receipts {
		switch {
		case !e.answers(), got.PlacedBy == "" && e.marked():
			// There is no result to tell, or it is Mark's.
			continue
		case want == "":
			want = got.PlacedBy
		}
		if got.PlacedBy != want {
			return fmt.Errorf("%s: one delivery was told of %q, another of %q", e.what(), want, got.PlacedBy)
		}
	}
	switch {
	case e.hooks > 1:
		return fmt.Errorf("%s: told %d times that it is committed", e.what(), e.hooks)
	case e.marked() && want != kill.MarkedBy:
		return fmt.Errorf("%s was marked, and a delivery was told of %q", e.what(), want)
	case mode != leaseMode && want != "" && !e.marked() && (len(effects) != 1 || effects[0] != want):
		return fmt.Errorf("%s: deliveries were told of %q, and the effects are of %q", e.what(), want, effects)
	}
	return nil
}

// row checks the state that the event's row has in the end.
func (e *event) row(states []string) error {
	want := "done"
	switch {
	case !e.keyed():
		if len(states) > 0 {
			return fmt.Errorf("%s: it has no key to keep, and its rows are %q", e.what(), states)
		}
		return nil
	case e.how == kill.Permanent:
		want = "failed"
	}
	if len(states) != 1 || states[0] != want {
		return fmt.Errorf("%s: its rows are %q", e.what(), states)
	}
	return nil
}

// called checks that the outside was called no more often than has a reason: once, and once more for each delivery that was cut
// off or refused. A delivery runs its handler once at most.
func (e *event) called(calls int) error {
	if most := 1 + e.cut + e.nacks + e.failed; calls > most {
		return fmt.Errorf("%s: %d calls of the outside, and there was a reason for %d", e.what(), calls, most)
	}
	return nil
}
