package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/idemtest"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// heard is a test whose failures are listened to.
type heard struct {
	testing.TB
	mu   sync.Mutex
	said []string
}

func (h *heard) Helper() {}

func (h *heard) say(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, text)
}

func (h *heard) Errorf(format string, args ...any) { h.say(fmt.Sprintf(format, args...)) }

func (h *heard) Fatalf(format string, args ...any) {
	h.say(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func (h *heard) Fatal(args ...any) {
	h.say(fmt.Sprint(args...))
	runtime.Goexit()
}

// complaints are what a replay says.
func complaints[E, R any](t *testing.T, c idemtest.Case[E, R]) []string {
	t.Helper()
	h := &heard{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		idemtest.Replay(h, c)
	}()
	select {
	case <-done:
	case <-time.After(2 * patience):
		require.FailNow(t, "the replay does not end", h.said)
	}
	return h.said
}

// faults are handlers of orders with something wrong, and words that the harness finds for each.
var faults = map[string]struct {
	spoil func(*testing.T, *shop, *idemtest.Case[events.OrderPlaced, events.Receipt])
	words []string
	only  bool // nothing else is said
}{
	"writes through another connection": {
		spoil: func(t *testing.T, s *shop, c *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			db := elsewhere(t)
			s.placeOrder = func(ctx context.Context, _ Tx, e events.OrderPlaced) (events.Receipt, error) {
				_, err := db.ExecContext(ctx, `INSERT INTO effects (what) VALUES (?)`, e.OrderID.String())
				return s.answer(e), err
			}
			c.Effects = func(ctx context.Context, e events.OrderPlaced) (n int, err error) {
				err = db.QueryRowContext(ctx, `SELECT count(*) FROM effects WHERE what = ?`, e.OrderID.String()).Scan(&n)
				return n, err
			}
		},
		words: []string{
			"a worker that dies before COMMIT: after a worker had died before COMMIT, 1 effect remained, and nothing should. " +
				"Is every write made through the transaction that the handler is given?",
			"a COMMIT that does not arrive: after a COMMIT that did not arrive, the delivery succeeded, and the event left 2 effects instead of 1.",
			"a panic: after a panic at the end of the handler, 1 effect remained",
			"a context that ends: after the context had ended when the handler had done its work, 1 effect remained",
		},
	},
	"writes through its own pool": {
		spoil: func(_ *testing.T, s *shop, _ *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			s.placeOrder = func(ctx context.Context, _ Tx, e events.OrderPlaced) (events.Receipt, error) {
				return s.receipt(ctx, sqlTx{s.driver, s.db}, e)
			}
		},
		words: []string{"the first delivery of Event(0) ", "ran the handler 4 times", "wait for its own transaction"},
		only:  true,
	},
	"swallows errors": {
		spoil: func(_ *testing.T, s *shop, _ *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				_ = s.effect(ctx, tx, e.OrderID.String())
				return s.answer(e), nil
			}
		},
		words: []string{"statements that fail: after every statement of the handler that heeds its context had failed, the delivery succeeded, " +
			"and the event left 0 effects instead of 1. An error that the handler does not return, or an event that it has changed, looks handled."},
		only: true,
	},
	"writes after its return": {
		spoil: func(t *testing.T, s *shop, c *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			counts := c.Effects
			late := make(chan struct{})
			var handed sync.Once
			var writer sync.WaitGroup
			honest := s.placeOrder
			s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				handed.Do(func() {
					writer.Go(func() {
						<-late
						_, err := s.look.ExecContext(context.WithoutCancel(ctx), `INSERT INTO effects (what, worker) VALUES (?, '')`, e.OrderID.String())
						assert.NoError(t, err)
					})
				})
				return honest(ctx, tx, e)
			}
			first := uuid.Nil
			c.Effects = func(ctx context.Context, e events.OrderPlaced) (int, error) {
				if first == uuid.Nil {
					first = e.OrderID
				}
				n, err := counts(ctx, e)
				if e.OrderID != first && n == 0 {
					// The harness has done with the first event, and begins with another.
					select {
					case <-late:
					default:
						close(late)
						writer.Wait()
					}
				}
				return n, err
			}
		},
		words: []string{"afterwards: Event(0) had left 1 effect when its last delivery had ended, and has now left 2. " +
			"Does the handler start a goroutine that it does not wait for?"},
		only: true,
	},
	"has the time in its key": {
		spoil: func(_ *testing.T, _ *shop, c *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			make := c.Event
			c.Event = func(i int) events.OrderPlaced {
				e := make(i)
				e.TenantID = time.Now().Format(time.RFC3339Nano)
				return e
			}
		},
		words: []string{"idemtest: Event(0), made twice, has two keys, ", "no time of receipt"},
		only:  true,
	},
	"has the time in its fingerprint": {
		spoil: func(_ *testing.T, _ *shop, c *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			make := c.Event
			c.Event = func(i int) events.OrderPlaced {
				e := make(i)
				e.Total = time.Now().UnixNano()
				return e
			}
		},
		words: []string{"one delivery after another: delivery 2 of one event failed: ", "A field tagged fingerprint differs between two deliveries"},
	},
	"has no key": {
		spoil: func(_ *testing.T, _ *shop, c *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			c.Event = func(int) events.OrderPlaced { return events.OrderPlaced{TenantID: "acme"} }
		},
		words: []string{"the key of Event(0) is not complete: ", "Fill in the fields"},
		only:  true,
	},
	"has one key for all events": {
		spoil: func(_ *testing.T, _ *shop, c *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			make := c.Event
			c.Event = func(int) events.OrderPlaced { return make(0) }
		},
		words: []string{"Event(0) and Event(1) have one key", "an event of its own"},
		only:  true,
	},
	"had its events before": {
		spoil: func(t *testing.T, s *shop, c *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			_, err := s.PlaceOrder(t.Context(), c.Event(0))
			require.NoError(t, err)
		},
		words: []string{"did not run the handler: an event of its key has been handled before this test"},
		only:  true,
	},
	"is not given the options": {
		spoil: func(_ *testing.T, _ *shop, c *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			with := c.Handler
			c.Handler = func(...idem.Option) placing { return with() }
		},
		words: []string{"the options that Case.Handler is given do not reach the generated constructor"},
		only:  true,
	},
	"returns what its codec loses": {
		spoil: func(_ *testing.T, _ *shop, c *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			with := c.Handler
			c.Handler = func(opts ...idem.Option) placing { return with(append(opts, idem.WithCodec(forgetful{}))...) }
		},
		words: []string{
			"one delivery after another: the repeat returned another result than the first run: ",
			"deliveries at once: two of 4 deliveries of one event at once returned different results",
			"a worker that dies after COMMIT: the repeat returned another result",
		},
	},
	"ends its transaction": {
		spoil: func(t *testing.T, s *shop, _ *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			honest := s.placeOrder
			s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				r, err := honest(ctx, tx, e)
				return r, errors.Join(err, tx.(sqlTx).tx.(*sql.Tx).Commit())
			}
		},
		words: []string{"the first delivery of Event(0) failed: ", "must leave the transaction's end"},
		only:  true,
	},
	"keeps an order in memory": {
		spoil: func(_ *testing.T, s *shop, _ *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			var known sync.Map
			s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				if _, again := known.LoadOrStore(e.OrderID, true); again {
					return events.Receipt{}, errors.New("this order is known")
				}
				return s.receipt(ctx, tx, e)
			}
		},
		words: []string{
			"a worker that dies before COMMIT: after a worker had died before COMMIT, the redelivery failed: this order is known",
			"a COMMIT that does not arrive: the handler's transaction was rolled back and the handler run again within one delivery, " +
				"as after a deadlock, and then it failed: this order is known",
		},
	},
	"drops an order that it remembers": {
		spoil: func(_ *testing.T, s *shop, _ *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			var known sync.Map
			s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				if _, again := known.LoadOrStore(e.OrderID, true); again {
					return s.answer(e), nil
				}
				return s.receipt(ctx, tx, e)
			}
		},
		words: []string{
			"a worker that dies before COMMIT: after a worker had died before COMMIT and the event was redelivered, it has left 0 effects instead of 1. " +
				"Does the handler keep in memory what an earlier run did, or was to do? That run may have been undone",
			"a panic: ", "a context that ends: ", "statements that fail: ",
		},
	},
	"collects orders, and writes those of other runs too": {
		spoil: func(_ *testing.T, s *shop, _ *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			var lock sync.Mutex
			var batch []events.OrderPlaced
			s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				lock.Lock()
				defer lock.Unlock()
				batch = append(batch, e)
				for len(batch) > 0 {
					if err := s.effect(ctx, tx, batch[0].OrderID.String()); err != nil {
						return events.Receipt{}, err
					}
					batch = batch[1:]
				}
				return s.answer(e), nil
			}
		},
		words: []string{"statements that fail: ", "it has left 2 effects instead of 1. ", "Does the handler keep in memory"},
		only:  true,
	},
	"keeps orders for later": {
		spoil: func(_ *testing.T, s *shop, _ *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			s.placeOrder = func(_ context.Context, _ Tx, e events.OrderPlaced) (events.Receipt, error) { return s.answer(e), nil }
		},
		words: []string{"left 0 effects. Does Effects look where the handler writes?", "Does it keep the event for later?"},
		only:  true,
	},
	"has its effect after the commit": {
		spoil: func(t *testing.T, s *shop, _ *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			s.placeOrder = func(ctx context.Context, _ Tx, e events.OrderPlaced) (events.Receipt, error) {
				return s.answer(e), idem.AfterCommit(ctx, func(ctx context.Context) {
					_, err := s.look.ExecContext(ctx, `INSERT INTO effects (what, worker) VALUES (?, '')`, e.OrderID.String())
					assert.NoError(t, err)
				})
			}
		},
		words: []string{"a worker that dies after COMMIT: after a worker had died after COMMIT, the event has left 0 effects instead of 1. ",
			"What is left to idem.AfterCommit is lost with the worker."},
		only: true,
	},
	"is made once, with the options of the first call": {
		spoil: func(_ *testing.T, _ *shop, c *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			with := c.Handler
			var made placing
			c.Handler = func(opts ...idem.Option) placing {
				if made == nil {
					made = with(opts...)
				}
				return made
			}
		},
		words: []string{"a worker that dies before COMMIT: the delivery succeeded, and nothing went wrong with it, since the options of this call " +
			"of Case.Handler did not reach it: make a handler in each call", "a panic: "},
	},
	"is in a goroutine that writes a little later": {
		spoil: func(t *testing.T, s *shop, c *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			counted, count := make(chan struct{}), c.Effects
			var once sync.Once
			var writers sync.WaitGroup
			t.Cleanup(writers.Wait)
			t.Cleanup(func() { once.Do(func() { close(counted) }) })
			c.Effects = func(ctx context.Context, e events.OrderPlaced) (int, error) {
				n, err := count(ctx, e)
				if n > 0 {
					once.Do(func() { close(counted) })
				}
				return n, err
			}
			honest := s.placeOrder
			s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				writers.Go(func() {
					<-counted
					later := time.NewTimer(50 * time.Millisecond) // by then all else has often been played
					defer later.Stop()
					<-later.C
					_, err := s.look.ExecContext(context.WithoutCancel(ctx), `INSERT INTO effects (what, worker) VALUES (?, '')`, e.OrderID.String())
					assert.NoError(t, err)
				})
				return honest(ctx, tx, e)
			}
		},
		words: []string{"goroutine that"},
	},
	"has a consumer that acknowledges what failed": {
		spoil: func(_ *testing.T, _ *shop, c *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			with := c.Handler
			c.Handler = func(opts ...idem.Option) placing { return acknowledging{with(opts...)} }
		},
		words: []string{"a worker that dies before COMMIT: after a worker had died before COMMIT, the delivery succeeded, and the event left 0 effects",
			"a panic: ", "a context that ends: ", "statements that fail: "},
	},
	"gives up for good what another run would do": {
		spoil: func(_ *testing.T, s *shop, _ *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				r, err := s.receipt(ctx, tx, e)
				return r, idem.Permanent(err)
			}
		},
		words: []string{"statements that fail: ", "the redelivery failed: ", "one that another run would not meet"},
		only:  true,
	},
	"has effects that are all counted": {
		spoil: func(_ *testing.T, s *shop, c *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			c.Effects = func(ctx context.Context, _ events.OrderPlaced) (n int, err error) {
				err = s.look.QueryRowContext(ctx, `SELECT count(*) FROM effects`).Scan(&n)
				return n, err
			}
		},
		words: []string{"when Event(1) was delivered, the effects of Event(0) went from 1 to 2: let Effects count what its event did, and no other."},
		only:  true,
	},
	"has effects that are not counted": {
		spoil: func(_ *testing.T, _ *shop, c *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			c.Effects = func(context.Context, events.OrderPlaced) (int, error) { return 0, nil }
		},
		words: []string{"the first delivery of Event(0) succeeded and left 0 effects. Does Effects look where the handler writes?"},
		only:  true,
	},
	"has events that do not do as much as each other": {
		spoil: func(_ *testing.T, _ *shop, c *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			counts, second := c.Effects, c.Event(1).OrderID
			c.Effects = func(ctx context.Context, e events.OrderPlaced) (int, error) {
				n, err := counts(ctx, e)
				if e.OrderID == second {
					n *= 3
				}
				return n, err
			}
		},
		words: []string{"one delivery of Event(0) left 1 effect, and one of Event(1) 3: make events that do as much as each other"},
		only:  true,
	},
	"cannot be counted": {
		spoil: func(_ *testing.T, _ *shop, c *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			c.Effects = func(context.Context, events.OrderPlaced) (int, error) { return 0, errors.New("no such table") }
		},
		words: []string{"idemtest: Effects of Event(0): no such table"},
		only:  true,
	},
	"is in shadow mode": {
		spoil: func(_ *testing.T, _ *shop, c *idemtest.Case[events.OrderPlaced, events.Receipt]) {
			with := c.Handler
			c.Handler = func(opts ...idem.Option) placing { return with(append(opts, idem.WithShadow())...) }
		},
		words: []string{
			"one delivery after another: 2 deliveries of one event left 2 effects, and one left 1.",
			"deliveries at once: 4 deliveries of one event at once left 4 effects instead of 1.",
		},
	},
}

// Each fault is found, and named.
func TestReplay_Faults(t *testing.T) {
	t.Parallel()
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openLite(t, setup{})
			c := idemtest.Case[events.OrderPlaced, events.Receipt]{
				Handler: s.workers().place, Event: replayed(), Effects: s.effectsOf(""), AtOnce: 4,
			}
			fault.spoil(t, s, &c)
			heardWords(t, complaints(t, c), fault.words, fault.only)
		})
	}
}

// A handler that changes its event is found out by the run that comes after another one in one delivery.
func TestReplay_ChangedEvent(t *testing.T) {
	t.Parallel()
	s := openLite(t, setup{})
	s.rushOrder = func(ctx context.Context, tx Tx, e *events.OrderPlaced) (*events.Receipt, error) {
		e.OrderID = uuid.NewSHA1(e.OrderID, nil)
		r, err := s.receipt(ctx, tx, *e)
		return &r, err
	}
	count := s.effectsOf("")
	said := complaints(t, idemtest.Case[*events.OrderPlaced, *events.Receipt]{
		Handler: s.workers().rush, Event: pointers(replayed()),
		Effects: func(ctx context.Context, e *events.OrderPlaced) (int, error) {
			changed := *e
			changed.OrderID = uuid.NewSHA1(e.OrderID, nil)
			return count(ctx, changed)
		},
	})
	heardWords(t, said, []string{"a COMMIT that does not arrive: after a COMMIT that did not arrive, the delivery succeeded, and the event left 0 effects instead of 1."}, true)
}

// A write through the pool, which PostgreSQL lets by, is found on its drivers too.
func TestReplay_PoolOfPostgres(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		s.placeOrder = func(ctx context.Context, _ Tx, e events.OrderPlaced) (events.Receipt, error) {
			return s.receipt(ctx, sqlTx{s.driver, s.look}, e)
		}
		said := complaints(t, idemtest.Case[events.OrderPlaced, events.Receipt]{
			Handler: s.workers().place, Event: replayed(), Effects: s.effectsOf(""), AtOnce: 4,
		})
		heardWords(t, said, []string{"a worker that dies before COMMIT: after a worker had died before COMMIT, 1 effect remained", "a panic: "}, false)
	})
}

// What the database has aborted and the handler has not said.
func TestReplay_AbortedOnPostgres(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			r, err := s.receipt(ctx, tx, e)
			_, _ = tx.Exec(ctx, `SELECT 1 / 0`)
			return r, err
		}
		said := complaints(t, idemtest.Case[events.OrderPlaced, events.Receipt]{
			Handler: s.workers().place, Event: replayed(), Effects: s.effectsOf(""),
		})
		heardWords(t, said, []string{"the first delivery of Event(0) failed: ", "A statement failed, and the handler went on"}, true)
	})
}

// Leases with something wrong.
func TestReplay_FaultyLeases(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct {
		bank  *bank
		spoil func(*shop, *bank)
		words []string
		only  bool
	}{
		"the outside does not recognise the key": {
			bank: &bank{charges: map[string]string{}, keyOf: func(_ idem.Run, call int) string { return fmt.Sprint(call) }},
			words: []string{
				"a worker that dies after the effect: after a worker had died between the effect and its record, and its lease had passed " +
					"and the event was redelivered, it has left 2 effects instead of 1. Does the handler give ExternalKey()",
				"a lease that is lost: ", "a panic: ",
			},
		},
		"the key is another in each run": {
			bank:  &bank{charges: map[string]string{}, keyOf: func(r idem.Run, _ int) string { return fmt.Sprint(r.Key, r.Fence) }},
			words: []string{"a worker that dies after the effect: ", "a lease that is lost: "},
		},
		"errors are swallowed": {
			bank: &bank{charges: map[string]string{}},
			spoil: func(s *shop, b *bank) {
				s.cards.charge = func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
					_ = b.charge(ctx, e)
					return s.answer(e), nil
				}
			},
			words: []string{"calls that fail: after every call of the handler that heeds its context had failed, the delivery succeeded, " +
				"and the event left 0 effects instead of 1."},
			only: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openLite(t, setup{})
			s.cards.charge = func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
				err := fault.bank.charge(ctx, e)
				return s.answer(e), err
			}
			if fault.spoil != nil {
				fault.spoil(s, fault.bank)
			}
			said := complaints(t, idemtest.Case[events.OrderPlaced, events.Receipt]{
				Handler: s.workers().charge, Event: replayed(), Effects: fault.bank.count, AtOnce: 4,
			})
			heardWords(t, said, fault.words, fault.only)
		})
	}
}

// heardWords says that the harness has found these words, in this order, and, with only, that it has complained once.
func heardWords(t *testing.T, said, words []string, only bool) {
	t.Helper()
	for _, line := range said {
		t.Log(line)
	}
	if only {
		require.Len(t, said, 1)
		for _, w := range words {
			assert.Contains(t, said[0], w)
		}
		return
	}
	for _, w := range words {
		assert.Condition(t, func() bool {
			for _, line := range said {
				if strings.Contains(line, w) {
					return true
				}
			}
			return false
		}, "nothing is said like %q", w)
	}
}

// elsewhere is another database, with a table for effects.
func elsewhere(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(t.TempDir(), "other.db"))+"?_pragma=busy_timeout(60000)")
	require.NoError(t, err)
	closeInTheEnd(t, db)
	_, err = db.ExecContext(t.Context(), `CREATE TABLE effects (what TEXT NOT NULL)`)
	require.NoError(t, err)
	return db
}

// acknowledging is a consumer that takes every event for handled.
type acknowledging struct{ placing }

func (a acknowledging) Do(ctx context.Context, e events.OrderPlaced) (r events.Receipt, _ error) {
	defer func() { _ = recover() }()
	r, _ = a.placing.Do(ctx, e)
	return r, nil
}

// forgetful is a codec that does not keep who has placed an order.
type forgetful struct{}

func (forgetful) Encode(v any) ([]byte, error) {
	r := v.(events.Receipt)
	r.PlacedBy = ""
	return json.Marshal(r)
}

func (forgetful) Decode(data []byte, v any) error { return json.Unmarshal(data, v) }
