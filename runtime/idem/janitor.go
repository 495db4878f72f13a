package idem

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/point"
)

// The defaults of the janitor's options.
const (
	DefaultSweepBatch    = 500
	DefaultSweepPace     = 50 * time.Millisecond
	DefaultSweepInterval = time.Minute
)

// Janitor deletes the rows whose window has passed: only completed ones, only by the database's clock, in small batches with
// a pause between them, so that deliveries are not held up. An expired row counts as absent while it is still there, so a
// janitor that is late, or that is not run at all, costs nothing but space.
//
// Janitors of several processes can work on one table at once: where the engine can skip what another one holds they do not
// meet, and on SQLite they take turns.
type Janitor struct {
	sweep    sweeper
	err      error // returned by every round
	batch    int
	pace     time.Duration
	interval time.Duration
	report   func(context.Context, Sweep)
}

// sweeper is what a janitor needs of a driver and its guard.
type sweeper interface {
	Sweep(ctx context.Context, batch int) (int64, error)
	Classify(err error) driver.Class
}

// Sweep is what a janitor has done in one round.
type Sweep struct {
	// Removed is the number of rows that were deleted.
	Removed int64
	// Batches is the number of statements that deleted them.
	Batches int
	// Duration is the length of the round, pauses included.
	Duration time.Duration
	// Err is what ended the round early: the database's error or the context's. What was removed before is removed.
	Err error
}

// JanitorOption tunes a [Janitor].
type JanitorOption func(*Janitor) error

// WithSweepBatch sets how many rows are deleted by one statement, at most. The default is 500.
func WithSweepBatch(rows int) JanitorOption {
	return func(j *Janitor) error {
		if rows <= 0 {
			return fmt.Errorf("WithSweepBatch(%d): must be positive", rows)
		}
		j.batch = rows
		return nil
	}
}

// WithSweepPace sets the pause between two batches. The default is 50 ms.
func WithSweepPace(pause time.Duration) JanitorOption {
	return func(j *Janitor) error {
		if pause < 0 {
			return fmt.Errorf("WithSweepPace(%s): cannot be negative", pause)
		}
		j.pace = pause
		return nil
	}
}

// WithSweepInterval sets the time between two rounds of [Janitor.Run], give or take a tenth. The default is a minute.
func WithSweepInterval(d time.Duration) JanitorOption {
	return func(j *Janitor) error {
		if d <= 0 {
			return fmt.Errorf("WithSweepInterval(%s): must be positive", d)
		}
		j.interval = d
		return nil
	}
}

// WithSweepReport sets who is told of every round of [Janitor.Run], in its goroutine.
func WithSweepReport(report func(context.Context, Sweep)) JanitorOption {
	return func(j *Janitor) error {
		if report == nil {
			return errors.New("WithSweepReport(nil): a function is needed")
		}
		j.report = report
		return nil
	}
}

// NewJanitor makes a janitor for the table of g's keys, whichever handlers they belong to. What is wrong with g or the
// options is returned by every round.
func NewJanitor[Tx any](g *Guard[Tx], opts ...JanitorOption) *Janitor {
	j := &Janitor{batch: DefaultSweepBatch, pace: DefaultSweepPace, interval: DefaultSweepInterval}
	switch {
	case g == nil:
		j.err = errors.New("the janitor has no guard")
	case g.err != nil:
		j.err = g.err
	default:
		j.sweep = sweeping[Tx]{g}
	}
	for _, o := range opts {
		if o == nil {
			j.err = errors.Join(j.err, errors.New("an option is nil"))
		} else if err := o(j); err != nil {
			j.err = errors.Join(j.err, err)
		}
	}
	return j
}

// sweeping is a guard as a janitor sees it.
type sweeping[Tx any] struct{ guard *Guard[Tx] }

func (s sweeping[Tx]) Classify(err error) driver.Class { return s.guard.driver.Classify(err) }

func (s sweeping[Tx]) Sweep(ctx context.Context, batch int) (int64, error) {
	n, err := s.guard.driver.Sweep(ctx, batch)
	switch s.guard.driver.Classify(err) {
	case driver.Misfit, driver.Denied:
		err = s.guard.diagnose(ctx, err)
	}
	return n, err
}

// Once deletes what has expired by now. It returns the round, and as an error what ended it early.
func (j *Janitor) Once(ctx context.Context) (Sweep, error) {
	if j.err != nil {
		return Sweep{Err: j.err}, fmt.Errorf("idem: janitor: %w", j.err)
	}
	start := time.Now()
	s := Sweep{}
	s.Err = j.batches(ctx, &s)
	s.Duration = time.Since(start)
	if s.Err != nil {
		return s, fmt.Errorf("idem: janitor: %w", s.Err)
	}
	return s, nil
}

// sweepTries bounds the tries for one batch that others are in the way of.
const sweepTries = 10

// batches deletes batch after batch until one is not full.
func (j *Janitor) batches(ctx context.Context, s *Sweep) error {
	for tries := 0; ; {
		point.At(point.BeforeSweep)
		n, err := j.sweep.Sweep(ctx, j.batch)
		point.At(point.Swept)
		switch {
		case err == nil:
			tries = 0
			s.Removed += n
			s.Batches++
			if n < int64(j.batch) {
				return nil
			}
		case ctx.Err() != nil:
			return ctx.Err()
		case j.passing(err) && tries < sweepTries:
			tries++
		default:
			return err
		}
		if err := wait(ctx, j.pace); err != nil {
			return err
		}
	}
}

// passing reports whether an error is of others that are in the way: the next try may succeed.
func (j *Janitor) passing(err error) bool {
	switch j.sweep.Classify(err) {
	case driver.Conflict, driver.Locked, driver.Busy:
		return true
	default:
		return false
	}
}

// Run deletes what has expired, again and again, until ctx is done, and then returns nil. It takes no goroutine of its own:
// use it with go. An error of the database is reported and ends the round only; one of the options is returned at once.
//
// The first round is some time after the start, up to a tenth of the interval, so that processes that start together do not
// sweep together.
func (j *Janitor) Run(ctx context.Context) error {
	if j.err != nil {
		return fmt.Errorf("idem: janitor: %w", j.err)
	}
	tenth := int64(j.interval / 10)
	rest := time.Duration(rand.Int64N(tenth + 1))
	for wait(ctx, rest) == nil {
		s, _ := j.Once(ctx) // the error is in s
		if j.report != nil {
			j.report(ctx, s)
		}
		rest = j.interval + time.Duration(rand.Int64N(2*tenth+1)-tenth)
	}
	return nil
}

// wait waits for d, or until ctx is done.
func wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
