package idempgx

import (
	"context"
	"encoding/hex"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/point"
	"github.com/idemgen/idemgen/runtime/store"
)

// The owners of a transaction's claims are kept in a setting of our own, which goes with the transaction, and back with a
// savepoint of it.
const (
	freeLockNoting = `SELECT set_config('lock_timeout', current_setting('idemgen.lock_timeout'), true), set_config('idemgen.owners', concat(current_setting('idemgen.owners', true), $1::text), true)`
	ownersNoted    = `SELECT coalesce(strpos(current_setting('idemgen.owners', true), $1::text), 0) > 0`
)

// noted is an owner as it stands in the setting.
func noted(o store.Owner) string { return "/" + hex.EncodeToString(o[:]) }

// points numbers the savepoints of this process, so that no two of a transaction share a name: a handler that has ended its
// own by SQL text shall not be taken for having ended another one.
var points atomic.Uint64

// joined is a savepoint in a transaction of the caller's. It is not pgx's own kind, which is left in the transaction when one
// goes back to it: a repeat would leave one each.
type joined struct {
	pool  *pool
	outer pgx.Tx
	point string // the savepoint's name; empty outside of it
	state txState
}

func (s *joined) Begin(ctx context.Context) error {
	if err := s.back(ctx); err != nil {
		return err
	}
	name := "idemgen_" + strconv.FormatUint(points.Add(1), 10)
	if _, err := s.outer.Exec(ctx, "savepoint "+name); err != nil {
		switch {
		case errors.Is(err, pgx.ErrTxClosed):
			return &driver.CommitError{Fate: driver.Lost, Err: err}
		case driver.NoSavepointState(driver.SQLState(err)):
			// The caller has ended it by SQL text. Nobody shall go on in a transaction that is none: the first error tells more
			// than this one.
			_ = s.outer.Conn().Close(ctx)
			return &driver.CommitError{Fate: driver.Lost, Err: err}
		}
		return err
	}
	s.point = name
	point.At(point.SavepointSet)
	return nil
}

// back goes back to the savepoint, if there is one, and releases it, whether the caller's context is over or not. Where it
// cannot, what should be undone must not be committed either: then the connection is closed.
func (s *joined) back(ctx context.Context) error {
	if s.point == "" {
		return nil
	}
	ctx, cancel := driver.Detach(ctx)
	defer cancel()
	point.At(point.BeforeSavepointRollback)
	_, err := s.outer.Exec(ctx, "rollback to savepoint "+s.point+"; release savepoint "+s.point)
	s.point = ""
	if err != nil && !errors.Is(err, pgx.ErrTxClosed) {
		// The first error tells more than the second.
		_ = s.outer.Conn().Close(ctx)
	}
	point.At(point.SavepointRolledBack)
	return err
}

func (s *joined) Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error) {
	return s.claim(ctx, c.Owner, wait, func(ctx context.Context, db DBTX) (int64, error) {
		return s.pool.queries.Claim(ctx, db, c)
	})
}

func (s *joined) TakeOver(ctx context.Context, c store.Claim, seen store.Owner, wait time.Duration) (bool, error) {
	return s.claim(ctx, c.Owner, wait, func(ctx context.Context, db DBTX) (int64, error) {
		return s.pool.queries.TakeOver(ctx, db, c, seen)
	})
}

func (s *joined) claim(ctx context.Context, owner store.Owner, wait time.Duration, run func(context.Context, DBTX) (int64, error)) (bool, error) {
	if err := s.Begin(ctx); err != nil {
		return false, err
	}
	bounded, cancel := driver.BoundWait(ctx, wait)
	defer cancel()
	n, err := run(bounded, joining{tx: s.outer, owner: owner, wait: wait})
	return n == 1, driver.WaitError(ctx, bounded, err)
}

// joining is the DBTX of a claim or a take-over in a savepoint: it sends the bound of the wait before the statement, and the
// bound's removal behind it.
type joining struct {
	noQuery
	tx    pgx.Tx
	owner store.Owner
	wait  time.Duration
}

func (p joining) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	b := &pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, 3)}
	b.Queue(boundLock, driver.LockTimeout(p.wait))
	b.Queue(sql, args...)
	b.Queue(freeLockNoting, noted(p.owner))
	tags, err := readTags(p.tx.SendBatch(ctx, b), 3)
	return tags[1], err
}

func (s *joined) Lookup(ctx context.Context, handler, key string) (store.Row, error) {
	if err := s.back(ctx); err != nil {
		return store.Row{}, err
	}
	return s.pool.queries.Lookup(ctx, s.outer, handler, key)
}

func (s *joined) Mine(ctx context.Context, owner store.Owner) (mine bool, err error) {
	err = s.outer.QueryRow(ctx, ownersNoted, noted(owner)).Scan(&mine)
	return mine, err
}

func (s *joined) Tx() pgx.Tx { return &guardedTx{native: s.outer, state: &s.state} }

func (s *joined) Commit(ctx context.Context, c *store.Completion) error {
	s.state.closed.Store(true)
	conn := s.outer.Conn().PgConn()
	switch {
	case conn.IsClosed():
		return errors.Join(errors.New("the connection was closed under the handler"), s.state.failed)
	case conn.IsBusy():
		return errors.New("the handler returned with rows, a batch or a copy still open")
	case conn.TxStatus() == statusAborted:
		return &driver.CommitError{Fate: driver.Aborted, Err: s.state.failed}
	case conn.TxStatus() == statusIdle:
		return &driver.CommitError{Fate: driver.Lost}
	}

	ctx, cancel := driver.Detach(ctx)
	defer cancel()
	if c != nil {
		n, err := s.pool.queries.Complete(ctx, s.outer, *c)
		switch {
		case err != nil:
			return err
		case n != 1:
			return &driver.CommitError{Fate: driver.Lost, Err: errors.New("the claim is gone")}
		}
	}
	point.At(point.BeforeSavepointRelease)
	if _, err := s.outer.Exec(ctx, "release savepoint "+s.point); err != nil {
		if driver.NoSavepointState(driver.SQLState(err)) {
			return &driver.CommitError{Fate: driver.Lost, Err: err}
		}
		return err
	}
	s.point = ""
	point.At(point.SavepointReleased)
	return nil
}

func (s *joined) Close(ctx context.Context) {
	s.state.closed.Store(true)
	// Where it cannot go back, the caller's transaction cannot go on, which the caller will see.
	_ = s.back(ctx)
}
