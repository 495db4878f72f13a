package memory

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// session is a transaction of its own for one attempt.
type session struct {
	db *DB
	tx *Tx
}

// Acquire opens a session.
func (db *DB) Acquire(ctx context.Context) (driver.Session[*Tx], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.open++
	return &session{db: db}, nil
}

// Join opens a savepoint in a transaction of the caller's.
func (db *DB) Join(tx *Tx) (driver.Session[*Tx], error) {
	if tx == nil {
		return nil, errors.New("memory: the transaction is nil")
	}
	return &joined{tx: tx}, nil
}

func unclaimed(_ store.Row, there bool) bool { return !there }

func takenFrom(seen store.Owner) func(store.Row, bool) bool {
	return func(r store.Row, there bool) bool { return there && r.Free() && r.Owner == seen }
}

func (s *session) Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error) {
	s.tx = s.db.Begin()
	return s.tx.claim(ctx, c, wait, unclaimed)
}

func (s *session) TakeOver(ctx context.Context, c store.Claim, seen store.Owner, wait time.Duration) (bool, error) {
	s.tx = s.db.Begin()
	return s.tx.claim(ctx, c, wait, takenFrom(seen))
}

func (s *session) rollback() {
	if s.tx != nil {
		s.tx.Rollback()
	}
}

func (s *session) Lookup(ctx context.Context, handler, key string) (store.Row, error) {
	s.rollback()
	if err := ctx.Err(); err != nil {
		return store.Row{}, err
	}
	s.db.begins("Lookup")
	return s.db.read(id{handler, key})
}

func (s *session) Mine(context.Context, store.Owner) (bool, error) { return false, nil }

func (s *session) Begin(context.Context) error {
	s.rollback()
	s.tx = s.db.Begin()
	return nil
}

func (s *session) Tx() *Tx { return s.tx }

func (s *session) Commit(_ context.Context, c *store.Completion) error {
	if err := s.tx.complete(c); err != nil {
		return err
	}
	if fate := s.db.commitFault(); fate != nil {
		server := s.tx
		s.tx = nil // the client's side is gone
		fate(server)
		return &driver.CommitError{Fate: driver.Unknown}
	}
	return s.tx.Commit()
}

func (s *session) Close(context.Context) {
	s.rollback()
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	s.db.open--
}

// complete makes the claim of the transaction a final row.
func (tx *Tx) complete(c *store.Completion) error {
	switch err := tx.statement(); {
	case errors.Is(err, errEnded):
		return &driver.CommitError{Fate: driver.Lost, Err: err}
	case err != nil:
		return &driver.CommitError{Fate: driver.Aborted, Err: err}
	case c == nil:
		return nil
	}
	k := id{c.Handler, c.Key}
	r, there := tx.done.rows[k]
	if !there || r.State != store.Open || r.Owner != c.Owner {
		return &driver.CommitError{Fate: driver.Lost, Err: errors.New("the claim is gone")}
	}
	r.State, r.Result, r.expires = store.Done, slices.Clone(c.Result), after(time.Now(), c.Window)
	tx.done.rows[k] = r
	return nil
}

// joined is a savepoint in a transaction of the caller's.
type joined struct {
	tx   *Tx
	back func() // nil outside of it
}

func (s *joined) undo() {
	if s.back != nil {
		s.back()
		s.back = nil
	}
}

func (s *joined) Begin(context.Context) error {
	s.undo()
	if err := s.tx.statement(); err != nil {
		return err
	}
	s.back = s.tx.point()
	return nil
}

func (s *joined) claim(ctx context.Context, c store.Claim, wait time.Duration, free func(store.Row, bool) bool) (bool, error) {
	if err := s.Begin(ctx); err != nil {
		return false, err
	}
	return s.tx.claim(ctx, c, wait, free)
}

func (s *joined) Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error) {
	return s.claim(ctx, c, wait, unclaimed)
}

func (s *joined) TakeOver(ctx context.Context, c store.Claim, seen store.Owner, wait time.Duration) (bool, error) {
	return s.claim(ctx, c, wait, takenFrom(seen))
}

func (s *joined) Lookup(_ context.Context, handler, key string) (store.Row, error) {
	s.undo()
	k := id{handler, key}
	if r, there := s.tx.done.rows[k]; there {
		return r.at(time.Now()), nil
	}
	return s.tx.db.read(k)
}

func (s *joined) Mine(_ context.Context, owner store.Owner) (bool, error) {
	for _, r := range s.tx.done.rows {
		if r.Owner == owner {
			return true, nil
		}
	}
	return false, nil
}

func (s *joined) Tx() *Tx { return s.tx }

func (s *joined) Commit(_ context.Context, c *store.Completion) error {
	if err := s.tx.complete(c); err != nil {
		return err
	}
	s.back = nil
	return nil
}

func (s *joined) Close(context.Context) { s.undo() }
