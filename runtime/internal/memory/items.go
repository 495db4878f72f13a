package memory

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// Item is a row that has a state, for transitions.
type Item struct {
	Group, State string
	Version      int64
	Note         string
}

// itemRow is what is locked of an item.
func itemRow(name string) id { return id{handler: "\x00item", key: name} }

// PutItem makes an item, and Item is where it is for others than those who are moving it.
func (db *DB) PutItem(name string, it Item) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.items[name] = it
}

func (db *DB) Item(name string) Item {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.items[name]
}

// Meddle has a trigger write into each item that is moved, and Suppress has one keep them from being moved.
func (db *DB) Meddle() { db.trigger(func(t *triggers) { t.meddle = true }) }

func (db *DB) Suppress() { db.trigger(func(t *triggers) { t.suppress = true }) }

type triggers struct{ meddle, suppress bool }

func (db *DB) trigger(set func(*triggers)) {
	db.mu.Lock()
	defer db.mu.Unlock()
	set(&db.triggers)
}

// Move is an UPDATE: it moves the items that fit to a state, and returns how many it has moved. One that a transaction holds is
// waited for, and has to fit after that.
func (tx *Tx) Move(ctx context.Context, fits func(name string, it Item) bool, to string) (n int64, err error) {
	if err := tx.statement(); err != nil {
		return 0, err
	}
	for _, name := range tx.Find(fits) {
		if err := tx.db.lock(ctx, itemRow(name), tx, tx.wait); err != nil {
			return n, err
		}
		n += tx.move(name, fits, to)
		tx.db.mu.Unlock()
	}
	return n, nil
}

// move moves an item that is locked, if it still fits. db.mu is held.
func (tx *Tx) move(name string, fits func(string, Item) bool, to string) int64 {
	it, there := tx.item(name)
	if !there || !fits(name, it) || tx.db.triggers.suppress {
		return 0
	}
	tx.hold(itemRow(name))
	it.State, it.Version = to, it.Version+1
	if tx.db.triggers.meddle {
		it.Note = "seen"
	}
	tx.done.items[name] = it
	return 1
}

// item is an item as the transaction sees it. db.mu is held.
func (tx *Tx) item(name string) (Item, bool) {
	if it, own := tx.done.items[name]; own {
		return it, true
	}
	it, there := tx.db.items[name]
	return it, there
}

// Find is a SELECT: the names of the items that fit, as the transaction sees them.
func (tx *Tx) Find(fits func(name string, it Item) bool) (names []string) {
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()
	for name := range tx.db.items {
		if it, _ := tx.item(name); fits(name, it) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Get is a SELECT of one item: sql.ErrNoRows where it is not there.
func (tx *Tx) Get(name string) (Item, error) {
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()
	it, there := tx.item(name)
	if !there {
		return it, sql.ErrNoRows
	}
	return it, nil
}

var _ driver.Transitions[*Tx, *Tx] = (*DB)(nil)

// Update runs an UPDATE and commits it.
func (db *DB) Update(ctx context.Context, wait time.Duration, update func(context.Context, *Tx) (int64, error)) (int64, error) {
	s := &session{db: db}
	defer s.rollback()
	n, err := moving{s}.Update(ctx, wait, update)
	if err != nil {
		return n, err
	}
	return n, s.Commit(ctx, nil)
}

// Look runs a SELECT.
func (db *DB) Look(ctx context.Context, look func(context.Context, *Tx) error) error {
	return look(ctx, db.Begin())
}

// AcquireTransition opens a session.
func (db *DB) AcquireTransition(ctx context.Context) (driver.TransitionSession[*Tx, *Tx], error) {
	s, err := db.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return moving{s.(*session)}, nil
}

// JoinTransition opens a savepoint in a transaction of the caller's.
func (db *DB) JoinTransition(tx *Tx) (driver.TransitionSession[*Tx, *Tx], error) {
	s, err := db.Join(tx)
	if err != nil {
		return nil, err
	}
	return movingIn{s.(*joined)}, nil
}

var _, _ driver.Mover[*Tx] = (*session)(nil), (*joined)(nil)

// Move and Read are for a claim's transaction.
func (s *session) Move(ctx context.Context, wait time.Duration, update func(context.Context, *Tx) (int64, error)) (int64, error) {
	s.tx.wait = wait
	return update(ctx, s.tx)
}

func (s *session) Read(ctx context.Context, _ time.Duration, look func(context.Context, *Tx) error) error {
	return look(ctx, s.tx)
}

func (s *joined) Move(ctx context.Context, wait time.Duration, update func(context.Context, *Tx) (int64, error)) (int64, error) {
	s.tx.wait = wait
	return update(ctx, s.tx)
}

func (s *joined) Read(ctx context.Context, _ time.Duration, look func(context.Context, *Tx) error) error {
	return look(ctx, s.tx)
}

// moving is a session whose transaction begins with an UPDATE.
type moving struct{ *session }

func (s moving) Update(ctx context.Context, wait time.Duration, update func(context.Context, *Tx) (int64, error)) (int64, error) {
	s.tx = s.db.Begin()
	return s.Move(ctx, wait, update)
}

func (s moving) Look(ctx context.Context, look func(context.Context, *Tx) error) error {
	s.rollback()
	return s.db.Look(ctx, look)
}

func (s moving) Commit(ctx context.Context, _ *store.Completion) error {
	return s.session.Commit(ctx, nil)
}

// movingIn is a savepoint for an UPDATE.
type movingIn struct{ *joined }

func (s movingIn) Update(ctx context.Context, wait time.Duration, update func(context.Context, *Tx) (int64, error)) (int64, error) {
	if err := s.Begin(ctx); err != nil {
		return 0, err
	}
	return s.Move(ctx, wait, update)
}

func (s movingIn) Look(ctx context.Context, look func(context.Context, *Tx) error) error {
	s.undo()
	return look(ctx, s.tx)
}

func (s movingIn) Commit(ctx context.Context, _ *store.Completion) error {
	return s.joined.Commit(ctx, nil)
}
