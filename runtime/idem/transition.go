package idem

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/point"
)

// TransitionSpec is what generated code says about a change of state for events E, whose statements run on a DB.
type TransitionSpec[DB, E any] struct {
	// Name is the handler's name, for errors and for the [Observer].
	Name string
	// Column is the column of the state, for errors: "orders.status".
	Column string
	// From are the states that the change may begin in, To the one that it leads to.
	From []string
	To   string
	// Past are the states that a row can only be in if it has been in To before, To itself first: a row in one of them makes
	// a repeat of the event.
	Past []string
	// OneRow says that the row's identity covers a unique key, so that no statement can change more than one.
	OneRow bool
	// Row builds the row's identity, for errors, with a [KeyBuilder]: an event that does not say which row it is about is
	// [ErrZeroKey].
	Row func(E) (string, error)
	// Update runs the UPDATE and returns how many rows it has changed.
	Update func(context.Context, DB, E) (int64, error)
	// Look reads the row.
	Look func(context.Context, DB, E) (RowState, error)
	// Expect is the version that the event knows. Nil for none.
	Expect func(E) int64
	// Attempt is the queue's delivery count, for the Observer alone. Nil for none.
	Attempt func(E) int
}

// RowState is a row as the look-up of a transition has found it.
type RowState struct {
	State   string
	Version int64 // only where the event knows one
	// Rows is how many rows there are; 0 where the look-up is for one that is there.
	Rows int64
}

func (s *TransitionSpec[DB, E]) check() error {
	switch {
	case s.Name == "":
		return errors.New("the transition has no name")
	case s.To == "" || len(s.From) == 0:
		return errors.New("the transition has no states")
	case s.Row == nil || s.Update == nil || s.Look == nil:
		return errors.New("the transition has no statements")
	}
	return nil
}

// Transition is a change of state whose repeats are harmless: one conditional UPDATE decides, without a key. Generated code
// makes transitions and has an accessor for each. A Transition is safe for concurrent use.
//
// The row's state is all that it remembers. Two different events that ask for the same state are one to it: the second is a
// repeat. Where that is wrong, the handler needs a key as well.
type Transition[Tx, E any] struct {
	name string
	row  func(E) (string, error)
	do   func(context.Context, E) error
	inTx func(context.Context, Tx, E) error
}

// NewTransition makes a transition on the database of g. run is the handler, which runs in the transaction of the UPDATE if
// that has changed the row; nil for none. What is wrong with spec is returned by every delivery.
func NewTransition[Tx, DB, E any](g *Guard[Tx], spec TransitionSpec[DB, E], run func(context.Context, Tx, E) error) *Transition[Tx, E] {
	m := &mover[Tx, DB, E]{guard: g, spec: spec, run: run}
	switch {
	case g == nil:
		m.err = errors.New("the transition has no guard")
	case g.err != nil:
		m.err = g.err
	case g.settings.driver.Leases != nil:
		m.err = driver.ErrNoTransactions
	default:
		var ok bool
		if m.driver, ok = driver.InnerDriver(g.driver).(driver.Transitions[Tx, DB]); !ok {
			m.err = errNotItsDriver
		} else {
			m.err = spec.check()
		}
	}
	return &Transition[Tx, E]{name: spec.Name, row: m.key, do: m.do, inTx: m.inTx}
}

// Name is the handler's name.
func (t *Transition[Tx, E]) Name() string { return t.name }

// Row is the identity of e's row, in the form of a key. The error is an [*Error], of [ErrZeroKey] where a part of it is zero.
func (t *Transition[Tx, E]) Row(e E) (string, error) { return t.row(e) }

// Do delivers e: it moves e's row to the state that the transition leads to, and runs the handler in the same transaction, if
// there is one. A row that is there already, or has been, makes a repeat: Do returns nil and nothing runs.
//
// An error of the handler rolls everything back and comes back as it is; [Permanent] has no effect, since there is no key to
// record it under. Other errors are an [*Error] that wraps [ErrZeroKey], [ErrRowNotFound], a [*ConflictError], a
// [*StaleVersionError], [ErrManyRows], [ErrUnmoved], an [*InProgressError], [ErrTransactionAborted], [ErrTransactionLost],
// [ErrCommitUnknown], or an error of the database or of ctx. Nothing was written then, unless it is ErrTransactionLost or
// ErrCommitUnknown.
//
// The handler may run more than once within one call, in a new transaction each time, but what it writes through its
// transaction takes effect once. A COMMIT whose answer is lost is asked about, by running the UPDATE again: it waits for the
// old transaction, and then it moves the row or finds it moved, which is a success (outcome settled). The functions of
// [AfterCommit] are not called then, because the row does not tell whose commit it was.
func (t *Transition[Tx, E]) Do(ctx context.Context, e E) error { return t.do(ctx, e) }

// InTx delivers e within tx, a transaction that the caller has begun and will end. The UPDATE and the handler are in a
// savepoint of it: they take effect if and when the caller commits. An error rolls back to the savepoint, and tx can go on.
// Nothing is run again, and the outcome is [OutcomeJoined]; see [Handler.InTx].
func (t *Transition[Tx, E]) InTx(ctx context.Context, tx Tx, e E) error { return t.inTx(ctx, tx, e) }

// mover is a transition with the type of what its statements run on.
type mover[Tx, DB, E any] struct {
	guard  *Guard[Tx]
	driver driver.Transitions[Tx, DB]
	spec   TransitionSpec[DB, E]
	run    func(context.Context, Tx, E) error
	err    error
}

// key is the row's identity.
func (m *mover[Tx, DB, E]) key(e E) (string, error) {
	if m.spec.Row == nil {
		return "", m.wrap("", m.spec.check())
	}
	key, err := m.spec.Row(e)
	if err != nil {
		return "", m.wrap("", err)
	}
	return key, nil
}

func (m *mover[Tx, DB, E]) wrap(row string, err error) error {
	return &Error{Handler: m.spec.Name, Key: row, Err: err}
}

// fail ends the delivery with an error that is not the handler's own.
func (m *mover[Tx, DB, E]) fail(d *delivery, err error) error {
	d.outcome = OutcomeError
	return m.wrap(d.key, err)
}

// begin begins a delivery. The function that it returns is deferred.
func (m *mover[Tx, DB, E]) begin(ctx context.Context, e E, d *delivery, err *error) func() {
	if m.guard == nil {
		return func() {}
	}
	spec := Spec[E]{Name: m.spec.Name, Attempt: m.spec.Attempt}
	return observing(ctx, m.guard.settings.observer, &spec, e, d, err)
}

func (m *mover[Tx, DB, E]) do(ctx context.Context, e E) (err error) {
	var d delivery
	defer m.begin(ctx, e, &d, &err)()
	if m.err != nil {
		return m.fail(&d, m.err)
	}
	if d.key, err = m.spec.Row(e); err != nil {
		return m.fail(&d, err)
	}
	d.until = time.Now().Add(m.guard.settings.inFlightTimeout)
	err = m.deliver(ctx, e, &d)
	if d.committed && d.hook != nil {
		point.At(point.BeforeHooks)
		callAll(context.WithoutCancel(ctx), d.hook.fns)
		point.At(point.AfterHooks)
	}
	return err
}

// deliver attempts until one attempt ends the delivery or the bounds are reached.
func (m *mover[Tx, DB, E]) deliver(ctx context.Context, e E, d *delivery) error {
	attempt := m.attempt
	if m.bare() {
		attempt = m.alone
	}
	for unmoved := 0; ; {
		next, err := attempt(ctx, e, d)
		if next == unsettled {
			next, err = m.settle(ctx, e, d, err)
		}
		switch next {
		case ended:
			return err
		case unclaimed:
			if errors.Is(err, ErrUnmoved) {
				unmoved++
			}
			if time.Until(d.until) <= 0 || unmoved > maxUnmoved {
				return m.tooLate(d, err)
			}
		case undone:
			if d.runs > m.guard.settings.retries {
				return err
			}
			d.until = d.until.Add(time.Since(d.began))
		}
		if perr := pause(ctx, d.retries); perr != nil {
			if next == unclaimed {
				return m.tooLate(d, perr)
			}
			return err
		}
		point.At(point.BeforeRetry)
		d.retries++
		d.outcome = ""
	}
}

// bare says that the UPDATE is a transaction by itself: there is no handler, and no more than one row.
func (m *mover[Tx, DB, E]) bare() bool { return m.run == nil && m.spec.OneRow }

// tooLate ends a delivery whose row could not be moved in time: mostly because another transaction had it.
func (m *mover[Tx, DB, E]) tooLate(d *delivery, err error) error {
	if errors.Is(err, ErrUnmoved) {
		return m.fail(d, err)
	}
	d.outcome = OutcomeInProgress
	return m.wrap(d.key, d.inProgress(m.guard.settings.inFlightTimeout, err))
}

// alone runs the UPDATE in a transaction of its own.
func (m *mover[Tx, DB, E]) alone(ctx context.Context, e E, d *delivery) (step, error) {
	d.began = time.Now()
	point.At(point.BeforeMove)
	n, err := m.driver.Update(ctx, waitUntil(ctx, d.until), m.update(e))
	if err != nil {
		next, err := m.unmoved(ctx, d, "update", err)
		if next == unsettled {
			d.runs++
		}
		return next, err
	}
	switch n {
	case 0:
		row, err := m.look(ctx, e, m.driver.Look)
		return m.judge(ctx, e, d, row, err)
	case 1:
		point.At(point.Moved)
		d.ran()
		return ended, nil
	default:
		// The schema that the code was generated for says that this cannot be.
		return ended, m.fail(d, fmt.Errorf("%w: %d, and they may stay changed: run go generate with the schema as it is", ErrManyRows, n))
	}
}

func (m *mover[Tx, DB, E]) update(e E) func(context.Context, DB) (int64, error) {
	return func(ctx context.Context, db DB) (int64, error) { return m.spec.Update(ctx, db, e) }
}

// look reads the row.
func (m *mover[Tx, DB, E]) look(ctx context.Context, e E, look func(context.Context, func(context.Context, DB) error) error) (row RowState, err error) {
	point.At(point.BeforeRowLookup)
	err = look(ctx, func(ctx context.Context, db DB) error {
		row, err = m.spec.Look(ctx, db, e)
		return err
	})
	point.At(point.RowLookedUp)
	return row, err
}

// attempt goes once through UPDATE, handler and commit, on one connection.
func (m *mover[Tx, DB, E]) attempt(ctx context.Context, e E, d *delivery) (step, error) {
	s, err := m.driver.AcquireTransition(ctx)
	if d.retries == 0 {
		// What is waited for a connection, the context bounds.
		d.until = time.Now().Add(m.guard.settings.inFlightTimeout)
	}
	switch {
	case err != nil && m.guard.driver.Classify(err) == driver.Locked:
		// A new connection to SQLite may begin with a statement of the DSN's, and meet a lock in it.
		return unclaimed, err
	case err != nil:
		return ended, m.fail(d, fmt.Errorf("no connection: %w", withEnd(ctx, err)))
	}
	// Also on a panic and on Goexit, without a recover: the panic goes on as it was.
	defer s.Close(ctx)
	return m.once(ctx, s, e, d)
}

// once is an attempt on a session.
func (m *mover[Tx, DB, E]) once(ctx context.Context, s driver.TransitionSession[Tx, DB], e E, d *delivery) (step, error) {
	point.At(point.BeforeMove)
	n, err := s.Update(ctx, waitUntil(ctx, d.until), m.update(e))
	switch {
	case err != nil:
		return m.unmoved(ctx, d, "update", err)
	case n > 1:
		return ended, m.fail(d, fmt.Errorf("%w: %d", ErrManyRows, n))
	case n == 0:
		row, err := m.look(ctx, e, s.Look)
		return m.judge(ctx, e, d, row, err)
	case !m.spec.OneRow:
		// The others may be in states that are not moved.
		row, err := m.spec.read(ctx, s.Read, waitUntil(ctx, d.until), e)
		if err != nil {
			return m.unmoved(ctx, d, "look-up", err)
		}
		if row.Rows > 1 {
			return ended, m.fail(d, fmt.Errorf("%w: %d", ErrManyRows, row.Rows))
		}
	}
	point.At(point.Moved)
	d.run()
	if err := m.body(ctx, s.Tx(), e, d); err != nil {
		d.outcome = OutcomeError
		return m.undone(err), err
	}
	if err := ctx.Err(); err != nil {
		return ended, m.fail(d, err)
	}
	if err := s.Commit(ctx, nil); err != nil {
		var end *driver.CommitError
		if errors.As(err, &end) && end.Fate == driver.Unknown {
			return unsettled, end.Err
		}
		return m.undone(err), m.fail(d, fmt.Errorf("commit: %w", commitError(err)))
	}
	point.At(point.Committed)
	d.ran()
	return ended, nil
}

// body runs the handler, with a hook for what it wants done after the commit.
func (m *mover[Tx, DB, E]) body(ctx context.Context, tx Tx, e E, d *delivery) error {
	if m.run == nil {
		return nil
	}
	run := Run{Handler: m.spec.Name, Key: d.key, Attempt: d.attempt}
	if run.Attempt == 0 && m.spec.Attempt != nil {
		run.Attempt = m.spec.Attempt(e)
	}
	d.hook = &commitHook{run: run, outer: hookOf(ctx), closed: d.joined}
	defer d.hook.close()
	point.At(point.BeforeHandler)
	err := m.run(context.WithValue(ctx, hookKey{}, d.hook), tx, e)
	point.At(point.AfterHandler)
	return err
}

// undone is the step after an error of the handler or of COMMIT, as of a Handler.
func (m *mover[Tx, DB, E]) undone(err error) step {
	var end *driver.CommitError
	if errors.As(err, &end) && end.Fate != driver.Refused {
		return ended
	}
	switch m.guard.driver.Classify(err) {
	case driver.Conflict, driver.Locked:
		return undone
	default:
		return ended
	}
}

// maxUnmoved bounds how often a row is tried to be moved that is where it should be moved from: it may have moved there
// meanwhile, but not time and again.
const maxUnmoved = 10
