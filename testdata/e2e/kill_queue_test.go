package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/kill"
)

// event is an event of a kill cell, and what became of it so far.
type event struct {
	events.OrderPlaced
	call     kill.Call
	how      kill.How
	receipts []events.Receipt // of each delivery that was answered, the answers that nobody heard included
	failed   int              // deliveries that were answered with a *FailedError
	refused  int              // deliveries that were answered with a *ConflictError or ErrManyRows
	refusal  string           // why the event has to be refused; "" where it has not
	twin     string           // another order of its customer's
	nacks    int              // deliveries that were answered with another error
	cut      int              // deliveries that a worker's death has cut off
	hooks    int              // of AfterCommit
}

// message is one copy of an event in the queue. It is delivered until it is acknowledged.
type message struct {
	id   int
	of   *event
	call kill.Call
	out  bool // it is with the worker
	done bool
}

// queue delivers at least once.
type queue struct {
	messages []*message
	job      kill.Job
	bin      string
	kills    int
	workers  int
	until    func(kill.Answer) bool // whether an error is the last word on a delivery

	// then is what is done when nothing is left, one after another: they may add messages.
	then []func(context.Context) error
}

// add has an event delivered.
func (q *queue) add(e *event, call kill.Call) {
	q.messages = append(q.messages, &message{id: len(q.messages), of: e, call: call})
}

// redelivery is how long a message waits that was not acknowledged.
const redelivery = 20 * time.Millisecond

// work has one worker process handle all that is not acknowledged, and what comes then. With a point, it is killed there; it ends
// when nothing is left. killed says whether it came to the point.
func (q *queue) work(ctx context.Context, point string) (killed bool, err error) {
	q.workers++
	q.job.Name = fmt.Sprintf("worker %d", q.workers)
	p, err := start(ctx, q.bin, point, q.job)
	if err != nil {
		return false, err
	}
	if err := q.deliver(p, q.pending()...); err != nil {
		return false, errors.Join(err, p.kill(nil))
	}
	again := time.NewTicker(redelivery)
	defer again.Stop()
	var refused []*message
	for {
		if len(q.pending()) == 0 {
			if len(q.then) == 0 {
				return false, p.end()
			}
			if err := q.next(ctx, p); err != nil {
				return false, errors.Join(err, p.kill(nil))
			}
		}
		select {
		case <-again.C:
			if err := q.deliver(p, refused...); err != nil {
				return false, errors.Join(err, p.kill(nil))
			}
			refused = nil
		case line, ok := <-p.lines:
			if !ok {
				return false, errors.Join(errors.New("the worker went away"), p.died())
			}
			if _, ok := at(line); ok {
				return true, q.killed(p)
			}
			m, err := q.answered(line, true)
			if err != nil {
				return false, errors.Join(err, p.kill(nil))
			}
			if m != nil && !m.done {
				refused = append(refused, m)
			}
		}
	}
}

// next does the next thing that is to be done when nothing is left.
func (q *queue) next(ctx context.Context, p *process) error {
	do := q.then[0]
	q.then = q.then[1:]
	if err := do(ctx); err != nil {
		return err
	}
	return q.deliver(p, q.pending()...)
}

// pending are the messages without an acknowledgement.
func (q *queue) pending() []*message {
	return slices.DeleteFunc(slices.Clone(q.messages), func(m *message) bool { return m.done })
}

func (q *queue) deliver(p *process, messages ...*message) error {
	for _, m := range messages {
		m.of.Attempt++
		m.out = true
		if err := p.write(kill.Delivery{ID: m.id, Call: m.call, How: m.of.how, Event: m.of.OrderPlaced}); err != nil {
			return fmt.Errorf("%w\n%s", err, p.stderr.String())
		}
	}
	return nil
}

// killed kills a worker. What it has said on its way is an acknowledgement that got lost: what was stored must still be the same.
func (q *queue) killed(p *process) error {
	q.kills++
	var failed error
	err := p.kill(func(line string) {
		_, err := q.answered(line, false)
		failed = errors.Join(failed, err)
	})
	for _, m := range q.pending() {
		if m.out {
			m.out = false
			m.of.cut++
		}
	}
	return errors.Join(err, failed)
}

// answered notes an answer, and returns the message that it is for. If the queue heard it, it may be an acknowledgement.
func (q *queue) answered(line string, heard bool) (*message, error) {
	var a kill.Answer
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		return nil, fmt.Errorf("%q: %w", line, err)
	}
	if a.Hook != "" {
		return nil, q.hooked(a.Hook)
	}
	m := q.messages[a.ID]
	m.out = false
	switch {
	case a.Err == "":
		m.of.receipts = append(m.of.receipts, a.Receipt)
	case a.Failed:
		m.of.failed++
	case a.Refused:
		m.of.refused++
	default:
		m.of.nacks++
		if m.of.nacks > maxNacks {
			return nil, fmt.Errorf("%s was refused %d times: %s", kill.What(m.call, m.of.OrderPlaced), m.of.nacks, a.Err)
		}
	}
	m.done = heard && (a.Err == "" || q.until != nil && q.until(a))
	return m, nil
}

// maxNacks bounds what would otherwise go on for ever.
const maxNacks = 1000

func (q *queue) hooked(what string) error {
	for _, m := range q.messages {
		if kill.What(m.call, m.of.OrderPlaced) == what {
			m.of.hooks++
			return nil
		}
	}
	return fmt.Errorf("a hook for %q, which nobody sent", strings.TrimSpace(what))
}
