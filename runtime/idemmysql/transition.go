package idemmysql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/sqltx"
)

var _ driver.Transitions[*sql.Tx, DBTX] = (*database)(nil)

// Update has a connection for itself that commits it, whatever the pool's connections do otherwise.
func (d *database) Update(ctx context.Context, wait time.Duration, update func(context.Context, DBTX) (int64, error)) (n int64, err error) {
	limited, cancel := driver.BoundWait(ctx, toDuration(max(seconds(ctx, wait), 1)))
	defer cancel()
	sent := false
	err = d.alone(limited, wait, sql.LevelDefault, func(conn *sql.Conn) (err error) {
		sent = true
		n, err = update(limited, conn)
		return err
	})
	if err != nil && sent && !definite(err) {
		return n, &driver.CommitError{Fate: driver.Unknown, Err: err}
	}
	return n, waitError(ctx, limited, err)
}

// Look sees what is committed and no more, whatever the session's level is.
func (d *database) Look(ctx context.Context, look func(context.Context, DBTX) error) error {
	return d.alone(ctx, shortWait, sql.LevelReadCommitted, func(conn *sql.Conn) error { return look(ctx, conn) })
}

func (d *database) AcquireTransition(ctx context.Context) (driver.TransitionSession[*sql.Tx, DBTX], error) {
	conn, err := d.take(ctx, hold)
	if err != nil {
		return nil, err
	}
	return moving{&session{db: d, conn: conn}}, nil
}

// moving is a session whose transaction begins with an UPDATE rather than with a claim.
type moving struct{ *session }

func (s moving) Update(ctx context.Context, wait time.Duration, update func(context.Context, DBTX) (int64, error)) (int64, error) {
	if err := s.begin(ctx); err != nil {
		return 0, err
	}
	n, err := engine{s.db}.Update(ctx, s.tx, sqltx.Waiting{Wait: wait, Run: func(ctx context.Context) (int64, error) { return update(ctx, s.tx) }})
	var kept *keptError
	s.broken = s.broken || errors.As(err, &kept)
	return n, err
}

func (s moving) Look(ctx context.Context, look func(context.Context, DBTX) error) error {
	if err := s.rollback(); err != nil {
		return err
	}
	if _, err := s.conn.ExecContext(ctx, readNewest); err != nil {
		return err
	}
	s.reading = true
	return look(ctx, s.conn)
}

func (d *database) JoinTransition(tx *sql.Tx) (driver.TransitionSession[*sql.Tx, DBTX], error) {
	if tx == nil {
		return nil, errors.New("idemmysql: the transaction is nil")
	}
	return d.joined(tx), nil
}
