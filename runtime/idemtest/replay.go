package idemtest

import (
	"context"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"
)

// Handler is a guarded handler as the generated accessors return it, an [*idem.Handler] or an [*idem.Lease]. One without a
// result has R struct{}. A type of your own may stand for it, whose Do goes through your consumer.
type Handler[E, R any] interface {
	Key(E) (string, error)
	Do(context.Context, E) (R, error)
}

// Case is a handler to be replayed.
type Case[E, R any] struct {
	// Handler makes the handler under test as a worker process does when it starts, on the database of the test. It is called
	// several times. The options have to reach the generated constructor: they are how deliveries go wrong.
	Handler func(opts ...idem.Option) Handler[E, R]
	// Event makes the i-th event, i = 0, 1, 2 …, as your consumer would make it of the message. It is called for every
	// delivery, and gives the same event for the same i. No event may have been handled before the test: where the database
	// outlives the test, make something random a part of the key, chosen once.
	Event func(i int) E
	// Effects counts what e has done so far, and no other event, in the database or in the outside system: an order's rows, a
	// payment's charges. The first delivery of an event shows what one run leaves. It is called between deliveries.
	Effects func(ctx context.Context, e E) (int, error)
	// Equal says that a repeat's result is as good as the first one. Without it, results are equal that reflect.DeepEqual or
	// their JSON say are.
	Equal func(first, repeat R) bool
	// AtOnce is how many deliveries run at the same time where several do; 8 if it is 0.
	AtOnce int
	// Patience is how long one delivery may take; a minute if it is 0.
	Patience time.Duration
}

const (
	defaultAtOnce   = 8
	defaultPatience = time.Minute
)

// Replay delivers events of c as a bad queue would, and reports by t.Error, in a sentence for each, what was not as it
// should be: an event whose effects are more or fewer than those of one run, a repeat with another result, something left of
// a run that failed. These are played, each with events of its own:
//
//   - an event one time after another, many times at once, and many events at once, each several times, by two workers;
//   - a worker that dies before COMMIT, and one that dies after it;
//   - a COMMIT that arrives and is not answered, and one that does not arrive;
//   - a panic and an end of the context when the handler has done its work, and statements that fail.
//
// A handler with a lease has no COMMIT: there the worker dies between the effect and its record, or the record is not answered;
// and a lease is lost to another worker in the middle of a run. The lease is not waited for: it is ended in the
// database. As the outside system is called again then, Effects has to count what that did and not how often it was called.
//
// A moment after the last of them all effects are counted once more, for those of goroutines that nobody has waited for. One that
// writes later than a fifth of a second after its handler's return may be missed.
//
// A handler with a lease needs no database for this: with [InMemory], make the Option once, outside of Case.Handler, since the
// workers share their keys.
//
// A worker that dies is a goroutine that gets no further, and a connection that breaks is a transaction that is rolled back:
// for the database they are the same. Nothing of the handler's is changed for it.
//
// Where a play cannot go on, because the first delivery fails, say, Replay ends the test by t.Fatal.
func Replay[E, R any](t testing.TB, c Case[E, R]) {
	t.Helper()
	switch {
	case c.Handler == nil:
		t.Fatal("idemtest: Case.Handler is nil: it makes the handler under test, by the generated constructor and accessor")
	case c.Event == nil:
		t.Fatal("idemtest: Case.Event is nil: it makes the events to deliver")
	case c.Effects == nil:
		t.Fatal("idemtest: Case.Effects is nil: it counts what an event did")
	}
	if c.AtOnce <= 0 {
		c.AtOnce = defaultAtOnce
	}
	if c.Patience <= 0 {
		c.Patience = defaultPatience
	}
	p := &player[E, R]{t: t, c: c, keys: map[string]int{}}
	p.calm = p.open(script{})
	p.inOrder()
	p.atOnce()
	p.manyAtOnce()
	if p.leased.Load() {
		p.leasePlays()
	} else {
		p.transactionPlays()
	}
	p.eitherPlays()
	p.recount()
}
