package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/idemgen/idemgen/runtime/store"
)

// faults are what goes wrong next.
type faults struct {
	commit func(*Tx) // what becomes of a transaction whose COMMIT is not answered
	answer string    // the query whose answer gets lost
	query  string    // the query that before is called before
	before func()
}

// errUnanswered is what a client has in place of an answer.
var errUnanswered = errors.New("memory: the connection broke")

// LoseCommit has the next transaction commit, and the answer get lost.
func (db *DB) LoseCommit() {
	db.FailCommit(func(tx *Tx) {
		_ = tx.Commit() // what can be refused has been
	})
}

// FailCommit has the next COMMIT not be answered, and do decide what becomes of its transaction, then or later.
func (db *DB) FailCommit(do func(*Tx)) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.faults.commit = do
}

func (db *DB) commitFault() func(*Tx) {
	db.mu.Lock()
	defer db.mu.Unlock()
	do := db.faults.commit
	db.faults.commit = nil
	return do
}

// LoseAnswer has the next query of a lease with this name be executed, and its answer get lost.
func (db *DB) LoseAnswer(query string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.faults.answer = query
}

// answer is what a client gets to know of what a query has done. db.mu is held.
func (db *DB) answer(query string, done bool) (bool, error) {
	if db.faults.answer != query {
		return done, nil
	}
	db.faults.answer = ""
	return false, errUnanswered
}

// Before has do run once, before the next query with this name.
func (db *DB) Before(query string, do func()) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.faults.query, db.faults.before = query, do
}

// begins is called before each query.
func (db *DB) begins(query string) {
	db.mu.Lock()
	var do func()
	if db.faults.query == query {
		do, db.faults.query, db.faults.before = db.faults.before, "", nil
	}
	db.mu.Unlock()
	if do != nil {
		do()
	}
}

// Lock holds all rows until the function that it returns is called.
func (db *DB) Lock() (unlock func()) {
	tx := db.Begin()
	db.mu.Lock()
	defer db.mu.Unlock()
	for k := range db.rows {
		tx.hold(k)
	}
	return tx.Rollback
}

// Row is a row as a test sees it.
type Row struct {
	Handler, Key string
	store.Row
	// ExpiresIn and LeaseLeft are nil where there is no such time.
	ExpiresIn, LeaseLeft *time.Duration
}

// Rows are the committed rows, in order.
func (db *DB) Rows() []Row {
	db.mu.Lock()
	defer db.mu.Unlock()
	now := time.Now()
	left := func(at time.Time) *time.Duration {
		if at.IsZero() {
			return nil
		}
		d := at.Sub(now)
		return &d
	}
	var all []Row
	for k, r := range db.rows {
		all = append(all, Row{k.handler, k.key, r.at(now), left(r.expires), left(r.lease)})
	}
	slices.SortFunc(all, func(a, b Row) int {
		return strings.Compare(a.Handler+"\x00"+a.Key, b.Handler+"\x00"+b.Key)
	})
	return all
}

// Alter changes all rows: times where they are not nil, the state and the result where there are some.
func (db *DB) Alter(state store.State, expiresIn, leaseLeft *time.Duration, result []byte) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for k, r := range db.rows {
		now := time.Now()
		if state != "" {
			r.State = state
		}
		if expiresIn != nil {
			r.expires = after(now, expiresIn)
		}
		if leaseLeft != nil {
			r.lease = after(now, leaseLeft)
		}
		if result != nil {
			r.Result = slices.Clone(result)
		}
		db.rows[k] = r
	}
}

// Put inserts a row with a window; nil for none.
func (db *DB) Put(handler, key string, state store.State, expiresIn *time.Duration) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.rows[id{handler, key}] = row{Row: store.Row{State: state, Fence: 1}, expires: after(time.Now(), expiresIn)}
}

// Clear deletes all rows.
func (db *DB) Clear() {
	db.mu.Lock()
	defer db.mu.Unlock()
	clear(db.rows)
}

// Fill inserts n done rows that are past their window.
func (db *DB) Fill(handler string, n int) {
	past := -time.Second
	for i := range n {
		db.Put(handler, fmt.Sprint(i), store.Done, &past)
	}
}

// Effects is how many there are.
func (db *DB) Effects() int {
	db.mu.Lock()
	defer db.mu.Unlock()
	return len(db.effects)
}

// Counter is a counter's value.
func (db *DB) Counter(name string) int {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.counters[name]
}

// Waiting is how many statements wait for a row.
func (db *DB) Waiting() int {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.waiting
}

// InUse is how many sessions are open.
func (db *DB) InUse() int {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.open
}
