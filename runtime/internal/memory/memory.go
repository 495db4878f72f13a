// Package memory is a driver that keeps keys in the memory of the process. It is for tests: of programs that use leases
// (idemtest.InMemory), for which Store is enough, and of the conformance suite itself, for which the whole driver is
// there, transactions and faults included. It is no cache and no fallback: what it holds ends with the process, and no
// other process sees it.
//
// Time is time.Now, so that it runs in a bubble of testing/synctest.
package memory

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// DB is a table of keys, and tables of effects and of items for the handlers of tests. New makes one.
type DB struct {
	mu       sync.Mutex
	rows     map[id]row
	counters map[string]int
	effects  []string
	items    map[string]Item
	triggers triggers
	held     map[id]*Tx    // rows that a transaction has changed
	freed    chan struct{} // closed when one of them is given up
	waiting  int           // statements that wait for that
	open     int           // sessions
	faults   faults
}

// New makes an empty one.
func New() *DB {
	return &DB{rows: map[id]row{}, counters: map[string]int{}, items: map[string]Item{}, held: map[id]*Tx{}, freed: make(chan struct{})}
}

type id struct{ handler, key string }

// row is a row with its times.
type row struct {
	store.Row
	expires time.Time // zero: never
	lease   time.Time // zero: none
}

// at is the row as it is read now.
func (r row) at(now time.Time) store.Row {
	seen := r.Row
	seen.Result = slices.Clone(r.Result)
	seen.Expired = !r.expires.IsZero() && !now.Before(r.expires)
	if !r.lease.IsZero() {
		seen.LeaseLeft = r.lease.Sub(now)
	}
	return seen
}

// after is d from now on; nil is never.
func after(now time.Time, d *time.Duration) time.Time {
	if d == nil {
		return time.Time{}
	}
	return now.Add(*d)
}

// claimed is the row that a claim writes.
func claimed(c store.Claim, fence int64) row {
	now := time.Now()
	return row{
		Row:     store.Row{State: c.State, Owner: c.Owner, Fence: fence, Fingerprint: c.Fingerprint, Result: slices.Clone(c.Result), Failure: c.Failure},
		expires: after(now, c.Window), lease: after(now, c.Lease),
	}
}

// errConflict is the answer to a transaction that has lost against another one.
var errConflict = errors.New("memory: the transaction has lost against another one")

// errEnded is the answer to a statement behind the end of its transaction.
var errEnded = errors.New("memory: the transaction has ended")

// errAborted is the answer to a statement behind one that has failed.
var errAborted = errors.New("memory: an earlier statement has failed")

// lock waits until no other transaction than tx holds the row, for at most wait, or as long as ctx lasts where that is
// negative. Without an error it returns with db.mu held.
func (db *DB) lock(ctx context.Context, k id, tx *Tx, wait time.Duration) error {
	var bound <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		bound = t.C
	}
	db.mu.Lock()
	for {
		err := ctx.Err()
		holder := db.held[k]
		switch {
		case err == nil && (holder == nil || holder == tx):
			return nil
		case err == nil && wait == 0:
			err = &driver.BusyError{Err: errConflict}
		}
		if err != nil {
			db.mu.Unlock()
			return err
		}
		freed := db.freed
		db.waiting++
		db.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
		case <-bound:
			wait = 0
		}
		db.mu.Lock()
		db.waiting--
	}
}

// give gives rows up that a transaction held. db.mu is held.
func (db *DB) give(held []id) {
	if len(held) == 0 {
		return
	}
	for _, k := range held {
		delete(db.held, k)
	}
	close(db.freed)
	db.freed = make(chan struct{})
}

// Classify knows this package's errors.
func (db *DB) Classify(err error) driver.Class {
	var busy *driver.BusyError
	switch {
	case errors.As(err, &busy):
		return driver.Busy
	case errors.Is(err, errConflict):
		return driver.Conflict
	default:
		return driver.Other
	}
}

// Sweep deletes a batch of final rows that are past their window, those first that have waited longest.
func (db *DB) Sweep(ctx context.Context, batch int) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	now := time.Now()
	var due []id
	for k, r := range db.rows {
		final := r.State == store.Done || r.State == store.Failed
		if final && r.at(now).Expired && db.held[k] == nil {
			due = append(due, k)
		}
	}
	slices.SortFunc(due, func(a, b id) int { return db.rows[a].expires.Compare(db.rows[b].expires) })
	due = due[:min(batch, len(due))]
	maps.DeleteFunc(db.rows, func(k id, _ row) bool { return slices.Contains(due, k) })
	return int64(len(due)), nil
}

// Keys are the statements of leases.
func (db *DB) Keys() driver.Keys { return keys{db} }

// Table is for messages.
func (db *DB) Table() string { return "in memory" }

// Columns are all there.
func (db *DB) Columns(context.Context) ([]string, error) { return store.Columns(), nil }

// ClaimCompletes is false, so that a window begins at the end of its run.
func (db *DB) ClaimCompletes() bool { return false }
