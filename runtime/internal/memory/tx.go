package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/idemgen/idemgen/runtime/store"
)

// Tx is a transaction. What it does is seen when it has committed. It is not safe for concurrent use.
type Tx struct {
	db      *DB
	done    contents
	held    []id
	aborted bool
	ended   bool
	wait    time.Duration // of an UPDATE of items; negative for as long as its context lasts
}

// contents is what a transaction has written.
type contents struct {
	rows     map[id]row
	counters map[string]int
	effects  []string
	items    map[string]Item
}

func (c contents) clone() contents {
	return contents{maps.Clone(c.rows), maps.Clone(c.counters), slices.Clone(c.effects), maps.Clone(c.items)}
}

// Begin begins a transaction.
func (db *DB) Begin() *Tx {
	return &Tx{db: db, done: contents{rows: map[id]row{}, counters: map[string]int{}, items: map[string]Item{}}, wait: -1}
}

// Effect writes a row into the table of effects.
func (tx *Tx) Effect(what string) error {
	if err := tx.statement(); err != nil {
		return err
	}
	tx.done.effects = append(tx.done.effects, what)
	return nil
}

// Refused is a statement that fails: the transaction cannot commit any more.
func (tx *Tx) Refused() error {
	if err := tx.statement(); err != nil {
		return err
	}
	tx.aborted = true
	return errAborted
}

// RefusedInSavepoint is a statement that fails and is undone.
func (tx *Tx) RefusedInSavepoint() error {
	back := tx.point()
	err := tx.Refused()
	back()
	return err
}

// Conflict has the transaction lose against another one.
func (tx *Tx) Conflict() error {
	tx.aborted = true
	return errConflict
}

// Update adds one to a counter, whose first writer wins.
func (tx *Tx) Update(name string) error {
	if err := tx.statement(); err != nil {
		return err
	}
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()
	k := id{handler: "\x00counter", key: name}
	if holder := tx.db.held[k]; holder != nil && holder != tx {
		tx.aborted = true
		return errConflict
	}
	tx.hold(k)
	tx.done.counters[name]++
	return nil
}

// statement is called before each.
func (tx *Tx) statement() error {
	switch {
	case tx.ended:
		return errEnded
	case tx.aborted:
		return errAborted
	default:
		return nil
	}
}

// hold keeps others away from a row. db.mu is held.
func (tx *Tx) hold(k id) {
	if tx.db.held[k] != tx {
		tx.db.held[k] = tx
		tx.held = append(tx.held, k)
	}
}

// claim claims a key, if free says so of the row that there is.
func (tx *Tx) claim(ctx context.Context, c store.Claim, wait time.Duration, free func(store.Row, bool) bool) (bool, error) {
	k := id{c.Handler, c.Key}
	if err := tx.db.lock(ctx, k, tx, wait); err != nil {
		return false, err
	}
	defer tx.db.mu.Unlock()
	r, there := tx.done.rows[k]
	if !there {
		r, there = tx.db.rows[k]
	}
	if !free(r.at(time.Now()), there) {
		return false, nil
	}
	tx.hold(k)
	tx.done.rows[k] = claimed(c, r.Fence+1)
	return true, nil
}

// point is a savepoint; the function that it returns goes back to it.
func (tx *Tx) point() (back func()) {
	before, held := tx.done.clone(), len(tx.held)
	return func() {
		tx.db.mu.Lock()
		defer tx.db.mu.Unlock()
		if tx.ended {
			return
		}
		tx.done, tx.aborted = before.clone(), false
		tx.db.give(tx.held[held:])
		tx.held = tx.held[:held:held]
	}
}

// Commit makes what the transaction has written everybody's.
func (tx *Tx) Commit() error {
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()
	return tx.commit()
}

// commit is Commit. db.mu is held.
func (tx *Tx) commit() error {
	if err := tx.statement(); err != nil {
		return err
	}
	maps.Copy(tx.db.rows, tx.done.rows)
	for name, n := range tx.done.counters {
		tx.db.counters[name] += n
	}
	tx.db.effects = append(tx.db.effects, tx.done.effects...)
	maps.Copy(tx.db.items, tx.done.items)
	tx.end()
	return nil
}

// Rollback ends the transaction; nothing of it remains, unless it has ended already.
func (tx *Tx) Rollback() {
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()
	tx.end()
}

// end gives up what is held. db.mu is held.
func (tx *Tx) end() {
	tx.ended = true
	tx.db.give(tx.held)
	tx.held = nil
}
