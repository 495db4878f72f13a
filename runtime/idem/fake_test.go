package idem

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// The fake's errors, by their class.
var (
	errConflict = errors.New("conflict")
	errLocked   = errors.New("locked")
	errBusy     = errors.New("busy")
	errBroken   = errors.New("broken")
	errMisfit   = errors.New("not understood")
	errDenied   = errors.New("not allowed")
	errNoRoom   = errors.New("no room")
)

// fakeDB is a database in memory, with as much of a transaction as the engine can see: a key that is claimed is held
// against others until its transaction ends, and what is not committed is gone.
type fakeDB struct {
	claimCompletes bool
	// fault, if set, is asked before each step ("acquire", "claim", "lookup", "takeover", "commit") for an error to
	// answer with; n counts the calls of that step from 1.
	fault func(step string, n int) error
	// lose, if set, is asked whether the answer to the nth commit is lost.
	lose func(n int) lost
	// gate, if set, is called before each statement of a lease, and may hold it up.
	gate func(step string)
	// The three below, if set, are asked once for each statement of a lease: whether it is executed twice, and answered the
	// second time; for an error that comes in the place of its answer; and for when it is executed if that is only after its
	// caller has gone.
	twice  func(step string) bool
	answer func(step string) error
	late   func(step string) <-chan struct{}
	// room, if set, is asked before a result or a failure is written.
	room    func(result []byte, failure string) error
	columns []string // of the table

	mu      sync.Mutex
	calls   map[string]int
	rows    map[string]store.Row // committed, by handler and key
	leases  map[string]time.Time // their ends, of rows that are running
	held    map[string]chan struct{}
	effects map[string]int // committed
	claims  []store.Claim  // all that were tried
	waits   []time.Duration
	open    int // sessions
}

// fakeTx is what handlers get.
type fakeTx struct{ s *fakeSession }

// effect is a write of the handler.
func (t fakeTx) effect(key string) { t.s.effects = append(t.s.effects, key) }

func newFake(t *testing.T) *fakeDB {
	t.Helper()
	db := &fakeDB{
		claimCompletes: true,
		calls:          map[string]int{},
		rows:           map[string]store.Row{},
		leases:         map[string]time.Time{},
		held:           map[string]chan struct{}{},
		effects:        map[string]int{},
	}
	t.Cleanup(func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		if db.open != 0 {
			t.Errorf("%d connections were not given back", db.open)
		}
		if len(db.held) != 0 {
			t.Errorf("%d keys are still held", len(db.held))
		}
	})
	return db
}

func (db *fakeDB) guard(opts ...Option) *Guard[fakeTx] {
	return NewGuard(func(c driver.Config) (driver.Driver[fakeTx], error) {
		if c.Isolation == sql.LevelLinearizable {
			return nil, errors.New("no such level")
		}
		return db, nil
	}, opts...)
}

func (db *fakeDB) ask(step string) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.calls[step]++
	if db.fault == nil {
		return nil
	}
	return db.fault(step, db.calls[step])
}

func (db *fakeDB) row(handler, key string) (store.Row, bool) {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.now(handler + " " + key)
}

// now is a row as it is at this time. db.mu is held.
func (db *fakeDB) now(key string) (store.Row, bool) {
	r, ok := db.rows[key]
	if until, leased := db.leases[key]; leased {
		r.LeaseLeft = time.Until(until)
	}
	return r, ok
}

func (db *fakeDB) putRow(handler, key string, r store.Row) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.rows[handler+" "+key] = r
}

func (db *fakeDB) effectsOf(key string) int {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.effects[key]
}

func (db *fakeDB) ClaimCompletes() bool { return db.claimCompletes }

func (db *fakeDB) Classify(err error) driver.Class {
	switch {
	case errors.Is(err, errConflict):
		return driver.Conflict
	case errors.Is(err, errLocked):
		return driver.Locked
	case errors.Is(err, errBusy):
		return driver.Busy
	case errors.Is(err, errMisfit):
		return driver.Misfit
	case errors.Is(err, errDenied):
		return driver.Denied
	case errors.Is(err, errNoRoom):
		return driver.NoRoom
	default:
		return driver.Other
	}
}

// Join makes a session of a transaction that the test has begun. Its savepoint's claim is the transaction's own once it is
// released, and its effects too.
func (db *fakeDB) Join(tx fakeTx) (driver.Session[fakeTx], error) {
	if tx.s == nil {
		return nil, errors.New("the transaction is nil")
	}
	return &fakeJoined{fakeSession: &fakeSession{db: db}, outer: tx.s}, nil
}

// begin begins a transaction of the test's, which ends with its end.
func (db *fakeDB) begin(t *testing.T) fakeTx {
	s := &fakeSession{db: db, joined: map[string]store.Row{}}
	t.Cleanup(s.abort)
	return fakeTx{s}
}

// abort rolls the test's transaction back.
func (s *fakeSession) abort() {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	for key := range s.joined {
		close(s.db.held[key])
		delete(s.db.held, key)
	}
	clear(s.joined)
	s.effects = nil
}

// commitAll commits the test's transaction.
func (s *fakeSession) commitAll() {
	s.db.mu.Lock()
	for key, row := range s.joined {
		s.db.rows[key] = row
	}
	s.apply()
	s.db.mu.Unlock()
	s.abort()
}

// fakeJoined is a savepoint.
type fakeJoined struct {
	*fakeSession
	outer *fakeSession
}

func (s *fakeJoined) Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error) {
	if _, there := s.outer.joined[c.Handler+" "+c.Key]; there {
		return false, s.db.ask("claim")
	}
	return s.fakeSession.Claim(ctx, c, wait)
}

func (s *fakeJoined) Lookup(ctx context.Context, handler, key string) (store.Row, error) {
	if row, there := s.outer.joined[handler+" "+key]; there {
		return row, s.db.ask("lookup")
	}
	return s.fakeSession.Lookup(ctx, handler, key)
}

func (s *fakeJoined) Mine(_ context.Context, owner store.Owner) (bool, error) {
	for _, row := range s.outer.joined {
		if row.Owner == owner {
			return true, nil
		}
	}
	return false, nil
}

func (s *fakeJoined) Commit(_ context.Context, c *store.Completion) error {
	if err := s.db.ask("release"); err != nil {
		return err
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if s.pending != nil {
		row := *s.pending
		if c != nil {
			row.State, row.Result = store.Done, slices.Clone(c.Result)
		}
		s.outer.joined[s.key] = row
		s.pending = nil // and the key stays held
	}
	s.outer.effects = append(s.outer.effects, s.effects...)
	return nil
}

func (s *fakeJoined) Close(context.Context) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	s.release()
}

func (db *fakeDB) Sweep(ctx context.Context, batch int) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := db.ask("sweep"); err != nil {
		return 0, err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	n := int64(0)
	for key, row := range db.rows {
		if row.Expired && n < int64(batch) {
			delete(db.rows, key)
			n++
		}
	}
	return n, nil
}

func (db *fakeDB) Table() string { return `"keys"` }

func (db *fakeDB) Columns(context.Context) ([]string, error) {
	if err := db.ask("columns"); err != nil {
		return nil, err
	}
	return db.columns, nil
}

func (db *fakeDB) Acquire(ctx context.Context) (driver.Session[fakeTx], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := db.ask("acquire"); err != nil {
		return nil, err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.open++
	return &fakeSession{db: db}, nil
}

// lost is an answer to a commit that does not arrive.
type lost struct {
	gone bool
	// until is when the transaction ends; nil for at once.
	until <-chan struct{}
	// commits tells how.
	commits bool
}

type fakeSession struct {
	db      *fakeDB
	key     string
	pending *store.Row
	effects []string
	done    bool
	joined  map[string]store.Row // of a transaction of the test's, what was released in it
}

func (s *fakeSession) Mine(context.Context, store.Owner) (bool, error) { return false, nil }

func (s *fakeSession) Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error) {
	s.db.mu.Lock()
	s.db.claims = append(s.db.claims, c)
	s.db.waits = append(s.db.waits, wait)
	s.db.mu.Unlock()
	return s.claim(ctx, "claim", c, wait, func(_ store.Row, there bool) bool { return !there })
}

func (s *fakeSession) TakeOver(ctx context.Context, c store.Claim, seen store.Owner, wait time.Duration) (bool, error) {
	return s.claim(ctx, "takeover", c, wait, func(r store.Row, there bool) bool {
		return there && r.Free() && r.Owner == seen
	})
}

// claim waits until nobody holds the key, as a unique index does.
func (s *fakeSession) claim(ctx context.Context, step string, c store.Claim, wait time.Duration, free func(store.Row, bool) bool) (bool, error) {
	if err := s.db.ask(step); err != nil {
		return false, err
	}
	if s.db.room != nil {
		if err := s.db.room(c.Result, c.Failure); err != nil {
			return false, err
		}
	}
	s.key = c.Handler + " " + c.Key
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		s.db.mu.Lock()
		rival, held := s.db.held[s.key]
		if !held {
			defer s.db.mu.Unlock()
			row, there := s.db.now(s.key)
			if !free(row, there) {
				return false, nil
			}
			s.db.held[s.key] = make(chan struct{})
			s.pending = &store.Row{State: c.State, Owner: c.Owner, Fence: row.Fence + 1, Fingerprint: c.Fingerprint, Failure: c.Failure}
			return true, nil
		}
		s.db.mu.Unlock()
		select {
		case <-rival:
		case <-timer.C:
			return false, errBusy
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

func (s *fakeSession) Lookup(_ context.Context, handler, key string) (store.Row, error) {
	if err := s.db.ask("lookup"); err != nil {
		return store.Row{}, err
	}
	s.db.mu.Lock()
	s.release()
	s.db.mu.Unlock()
	r, there := s.db.row(handler, key)
	if !there {
		return store.Row{}, store.ErrNotFound
	}
	return r, nil
}

func (s *fakeSession) Begin(context.Context) error {
	if err := s.db.ask("begin"); err != nil {
		return err
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	s.release()
	return nil
}

func (s *fakeSession) Tx() fakeTx { return fakeTx{s} }

func (s *fakeSession) Commit(_ context.Context, c *store.Completion) error {
	if err := s.db.ask("commit"); err != nil {
		return err
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if s.db.lose == nil {
		return s.commit(c)
	}
	l := s.db.lose(s.db.calls["commit"])
	switch {
	case !l.gone:
		return s.commit(c)
	case l.until != nil:
		// The client's side of the session goes, the server's stays.
		server := *s
		s.pending = nil
		go func() {
			<-l.until
			s.db.mu.Lock()
			defer s.db.mu.Unlock()
			if l.commits {
				_ = server.commit(c)
			}
			server.release()
		}()
	case l.commits:
		if err := s.commit(c); err != nil {
			return err
		}
	}
	return &driver.CommitError{Fate: driver.Unknown, Err: errBroken}
}

// commit makes the transaction's writes the database's. db.mu is held.
func (s *fakeSession) commit(c *store.Completion) error {
	if s.pending == nil {
		s.apply()
		return nil
	}
	row := *s.pending
	if c != nil {
		if c.Owner != row.Owner || row.State != store.Open {
			return &driver.CommitError{Fate: driver.Lost}
		}
		row.State, row.Result = store.Done, slices.Clone(c.Result)
	}
	s.db.rows[s.key] = row
	delete(s.db.leases, s.key)
	s.apply()
	s.release()
	return nil
}

// apply makes the handler's writes the database's. db.mu is held.
func (s *fakeSession) apply() {
	for _, e := range s.effects {
		s.db.effects[e]++
	}
}

// release ends the transaction. db.mu is held.
func (s *fakeSession) release() {
	if s.pending != nil {
		close(s.db.held[s.key])
		delete(s.db.held, s.key)
		s.pending = nil
	}
}

func (s *fakeSession) Close(context.Context) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if s.done {
		panic("closed twice")
	}
	s.done = true
	s.release()
	s.db.open--
}

// order and receipt are the events and results of the tests.
type order struct {
	ID     string
	Amount int64
	Try    int
}

type receipt struct{ Ref string }

func orderSpec() Spec[order] {
	return Spec[order]{
		Name:   "orders.Place",
		Window: time.Hour,
		Key: func(o order) (string, error) {
			var k KeyBuilder
			k.String("ID", o.ID)
			return k.Key()
		},
		Fingerprint: func(o order) string {
			var f FingerprintBuilder
			f.Int("Amount", o.Amount)
			return f.Sum()
		},
		Attempt: func(o order) int { return o.Try },
	}
}

// counter is a handler that counts its runs and writes one effect.
type counter struct {
	mu   sync.Mutex
	n    int
	fail func(n int) error // may also panic
}

func (c *counter) runs() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (c *counter) place(_ context.Context, tx fakeTx, o order) (receipt, error) {
	c.mu.Lock()
	c.n++
	n := c.n
	c.mu.Unlock()
	tx.effect(o.ID)
	if c.fail != nil {
		if err := c.fail(n); err != nil {
			return receipt{}, err
		}
	}
	return receipt{fmt.Sprintf("%s#%d", o.ID, n)}, nil
}

func (c *counter) reserve(ctx context.Context, tx fakeTx, o order) error {
	_, err := c.place(ctx, tx, o)
	return err
}

// watcher keeps what an observer is told.
type watcher struct {
	mu   sync.Mutex
	seen []Delivery
}

func (w *watcher) Observe(_ context.Context, d Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, d)
}

func (w *watcher) last(t *testing.T) Delivery {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) == 0 {
		t.Fatal("nothing was observed")
	}
	return w.seen[len(w.seen)-1]
}
