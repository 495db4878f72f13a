package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// cards is what the handlers with a lease do.
type cards struct {
	charge func(context.Context, events.OrderPlaced) (events.Receipt, error)
	wire   func(context.Context, events.OrderPlaced) error
}

func (c *cards) Charge(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
	return c.charge(ctx, e)
}

func (c *cards) Wire(ctx context.Context, e events.OrderPlaced) error { return c.wire(ctx, e) }

// acquirer is an outside system that knows a charge by its key: a folder with a file for each, and one for each call.
type acquirer string

func (a acquirer) charge(ctx context.Context) error {
	run, ok := idem.FromContext(ctx)
	if !ok {
		return errors.New("there is no run")
	}
	call, err := os.CreateTemp(string(a), "call")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(string(a), "charge"+run.ExternalKey()), os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return call.Close()
	}
	return errors.Join(err, call.Close(), f.Close())
}

func (a acquirer) count(t *testing.T, what string) int {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(string(a), what+"*"))
	require.NoError(t, err)
	return len(names)
}

// charging has the shop's cards call a new acquirer.
func (s *shop) charging(t *testing.T) acquirer {
	a := acquirer(t.TempDir())
	s.cards.charge = func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
		return s.answer(e), a.charge(ctx)
	}
	s.cards.wire = func(ctx context.Context, _ events.OrderPlaced) error { return a.charge(ctx) }
	return a
}

// states are the states of all rows, and fences the sum of their fences.
func (s *shop) states(t *testing.T) (states []string, fences int) {
	t.Helper()
	for _, r := range s.rows(t) {
		states = append(states, r.state)
	}
	return states, s.count(t, `SELECT coalesce(sum(fence), 0) FROM idempotency_keys`)
}

// One key, delivered by 64 goroutines at once: one call, and 64 times the same typed result.
func TestLease_OneKeyAtOnce(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{long}})
		a := s.charging(t)
		e := order()
		const n = 64
		got := make([]answered, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { got[i].Receipt, got[i].err = s.Charge(t.Context(), e) })
		}
		all.Wait()
		for _, one := range got {
			require.NoError(t, one.err)
			require.Equal(t, got[0].Receipt, one.Receipt)
		}
		assert.Equal(t, 1, a.count(t, "call"))
		assert.Equal(t, map[idem.Outcome]int{idem.OutcomeExecuted: 1, idem.OutcomeDuplicate: n - 1}, s.outcomes())
		s.returned(t)
	})
}

// Effects 23: a worker that is killed with its key in progress, before its effect or after it. The key is taken over after
// the lease, and the outside system has seen one charge; or it is parked.
func TestLease_Effects23_Killed(t *testing.T) {
	for _, stage := range []string{beforeCharge, afterCharge} {
		t.Run(stage, func(t *testing.T) {
			eachDriver(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{options: []idem.Option{long}})
				a := s.charging(t)
				e := order()
				killWorker(t, d, job{Driver: d.name, Place: s.place, Stage: stage, Event: e, Outside: string(a)})
				_, err := s.Charge(t.Context(), e)
				require.NoError(t, err)
				assert.Equal(t, 1, a.count(t, "charge"), "charges")
				states, fences := s.states(t)
				assert.Equal(t, []string{"done"}, states)
				assert.Equal(t, 2, fences)
			})
		})
	}
	t.Run("parked", func(t *testing.T) {
		eachDriver(t, func(t *testing.T, d driver) {
			s := d.open(t, setup{})
			a := s.charging(t)
			e := order()
			killWorker(t, d, job{Driver: d.name, Place: s.place, Stage: afterCharge, Event: e, Outside: string(a), End: "wire"})
			eventually(t, func() bool { return errors.Is(s.Wire(t.Context(), e), idem.ErrParked) })
			require.ErrorIs(t, s.Wire(t.Context(), e), idem.ErrParked)
			states, _ := s.states(t)
			assert.Equal(t, []string{"parked"}, states)
			assert.Equal(t, 1, a.count(t, "call"))
		})
	})
}

// Effects 33: a failed run gives the key back and keeps the row; a permanent failure is recorded.
func TestLease_Effects33_Failed(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		charge := func(err error) func(context.Context, events.OrderPlaced) (events.Receipt, error) {
			return func(context.Context, events.OrderPlaced) (events.Receipt, error) { return events.Receipt{}, err }
		}
		e := order()
		s.cards.charge = charge(errBusiness)
		for n := range 2 {
			_, err := s.Charge(t.Context(), e)
			require.Same(t, errBusiness, err)
			states, fences := s.states(t)
			assert.Equal(t, []string{"released"}, states)
			assert.Equal(t, n+1, fences)
		}
		changed := e
		changed.Total++
		_, err := s.Charge(t.Context(), changed)
		require.ErrorIs(t, err, idem.ErrPayloadMismatch, "the first run may have charged the other amount")

		s.cards.charge = charge(idem.Permanent(errBusiness))
		_, err = s.Charge(t.Context(), e)
		require.ErrorAs(t, err, new(*idem.FailedError))
		a := s.charging(t)
		_, err = s.Charge(t.Context(), e)
		require.ErrorAs(t, err, new(*idem.FailedError))
		assert.Zero(t, a.count(t, "call"))
		states, fences := s.states(t)
		assert.Equal(t, []string{"failed"}, states)
		assert.Equal(t, 3, fences)

		s.expire(t)
		_, err = s.Charge(t.Context(), e)
		require.NoError(t, err, "past its window")
		marked := order()
		require.NoError(t, s.MarkCharge(t.Context(), marked, events.Receipt{PlacedBy: "before"}))
		got, err := s.Charge(t.Context(), marked)
		require.NoError(t, err)
		assert.Equal(t, "before", got.PlacedBy)
	})
}

// A handler that runs for several leases keeps its key, and others are told how long it is taken for.
func TestLease_Renewed(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		reached, letGo := make(chan struct{}), make(chan struct{})
		s.cards.wire = func(ctx context.Context, _ events.OrderPlaced) error {
			close(reached)
			<-letGo
			return ctx.Err()
		}
		e := order()
		done := make(chan error, 1)
		go func() { done <- s.Wire(t.Context(), e) }()
		<-reached
		first := s.count(t, s.leaseEnd())
		eventually(t, func() bool { return s.count(t, s.leaseEnd()) > first+2_000_000 }) // three leases, in microseconds
		var busy *idem.InProgressError
		require.ErrorAs(t, s.Wire(t.Context(), e), &busy)
		assert.Positive(t, busy.RetryAfter)
		assert.LessOrEqual(t, busy.RetryAfter, time.Second)
		close(letGo)
		require.NoError(t, <-done)
		states, fences := s.states(t)
		assert.Equal(t, []string{"done"}, states)
		assert.Equal(t, 1, fences)
	})
}

// leaseEnd asks for the end of the only row's lease, in microseconds.
func (s *shop) leaseEnd() string {
	if s.postgres {
		return `SELECT (extract(epoch FROM lease_until) * 1000000)::bigint FROM idempotency_keys`
	}
	return `SELECT lease_until FROM idempotency_keys`
}

// A handler that has got a transaction since a lease was begun waits for it, and takes it over when it has passed.
func TestLease_MetByATransaction(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{idem.WithInFlightTimeout(50 * time.Millisecond)}})
		e := order()
		_, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		for _, lease := range []struct {
			state, seconds string
			err            func(error) bool
		}{
			{"running", "100", func(err error) bool {
				var busy *idem.InProgressError
				return errors.As(err, &busy) && busy.RetryAfter > 90*time.Second && busy.RetryAfter <= 100*time.Second
			}},
			{"parked", "0", func(err error) bool { return errors.Is(err, idem.ErrParked) }},
			{"running", "-1", func(err error) bool { return err == nil }},
			{"released", "0", func(err error) bool { return err == nil }},
		} {
			s.exec(t, fmt.Sprintf(`UPDATE idempotency_keys SET state = '%s', expires_at = NULL, lease_until = %s`,
				lease.state, d.inSeconds(lease.seconds)))
			_, err := s.PlaceOrder(t.Context(), e)
			assert.True(t, lease.err(err), "%s %s: %v", lease.state, lease.seconds, err)
		}
		states, fences := s.states(t)
		assert.Equal(t, []string{"done"}, states)
		assert.Equal(t, 3, fences)
	})
}

// The stages that a charging worker process can report.
const (
	beforeCharge = "before the charge"
	afterCharge  = "after the charge"
	holding      = "holding the lease"
)

// cards is what a worker process charges with.
func (j job) cards() *cards {
	do := func(ctx context.Context) error {
		if j.Stage == holding {
			return j.hold(ctx)
		}
		return errors.Join(j.reached(beforeCharge), acquirer(j.Outside).charge(ctx), j.reached(afterCharge))
	}
	return &cards{
		charge: func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
			return events.Receipt{PlacedBy: "the worker process", Total: e.Total}, do(ctx)
		},
		wire: func(ctx context.Context, _ events.OrderPlaced) error { return do(ctx) },
	}
}

// The ends of a charge that has lost its lease.
const (
	endWell  = "complete"
	endError = "release"
	endBad   = "record"
)

// hold charges, and ends as the job says when its context has ended.
func (j job) hold(ctx context.Context) error {
	if err := acquirer(j.Outside).charge(ctx); err != nil {
		return err
	}
	fmt.Println(holding)
	<-ctx.Done()
	if cause := context.Cause(ctx); cause != idem.ErrLeaseLost {
		return fmt.Errorf("the context ended for another reason: %w", cause)
	}
	switch j.End {
	case endError:
		return errBusiness
	case endBad:
		return idem.Permanent(errBusiness)
	default:
		return nil
	}
}

// charge is the job of a charging worker process. It says how the delivery ended.
func (j job) charge(ctx context.Context, w charger) error {
	var err error
	if j.End == "wire" {
		err = w.Wire(ctx, j.Event)
	} else {
		_, err = w.Charge(ctx, j.Event)
	}
	fmt.Println(errors.Is(err, idem.ErrLeaseLost))
	return errors.Join(err, errors.New("was not killed"))
}
