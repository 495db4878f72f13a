package idemmysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/sqltx"
)

var (
	_ driver.Transitions[*sql.Tx, DBTX] = (*database)(nil)
	_ driver.Mover[DBTX]                = (*session)(nil)
	_ driver.Mover[DBTX]                = (*sqltx.Joined[DBTX])(nil)
)

// Update has a connection for itself that commits it, whatever the pool's connections do otherwise.
func (d *database) Update(ctx context.Context, wait time.Duration, update func(context.Context, DBTX) (int64, error)) (n int64, err error) {
	limited, cancel := driver.BoundWait(ctx, toDuration(max(seconds(ctx, wait), 1)))
	defer cancel()
	unknown := false
	err = d.alone(limited, wait, sql.LevelDefault, func(conn *sql.Conn) (err error) {
		on := &sending{Conn: conn}
		n, err = update(limited, on)
		unknown = err != nil && on.sent && !definite(err) && !unsent(conn, err)
		return err
	})
	if unknown {
		return n, &driver.CommitError{Fate: driver.Unknown, Err: err}
	}
	return n, waitError(ctx, limited, err)
}

// sending is a connection that notes that a statement was given to it.
type sending struct {
	*sql.Conn
	sent bool
}

func (s *sending) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s.sent = true
	return s.Conn.ExecContext(ctx, query, args...)
}

// unsent reports whether an error without a number is about a statement that cannot be sent, for its size or its parameters. One
// that was sent and is not answered is known by its connection, which cannot be used any more.
func unsent(conn *sql.Conn, err error) bool {
	if number(err) != 0 || errors.Is(err, mysql.ErrMalformPkt) || errors.Is(err, mysql.ErrPktSync) || errors.Is(err, mysql.ErrPktSyncMul) {
		return false
	}
	valid := true
	rerr := conn.Raw(func(native any) error {
		if v, ok := native.(sqldriver.Validator); ok {
			valid = v.IsValid()
		}
		return nil
	})
	return rerr == nil && valid
}

// Look sees what is committed and no more, whatever the session's level is.
func (d *database) Look(ctx context.Context, look func(context.Context, DBTX) error) error {
	return d.alone(ctx, shortWait, sql.LevelReadCommitted, func(conn *sql.Conn) error { return look(ctx, conn) })
}

func (d *database) AcquireTransition(ctx context.Context) (driver.TransitionSession[*sql.Tx, DBTX], error) {
	conn, err := d.take(ctx, holding)
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
	return s.Move(ctx, wait, update)
}

func (s *session) Move(ctx context.Context, wait time.Duration, update func(context.Context, DBTX) (int64, error)) (int64, error) {
	return s.bounded(ctx, wait, func(ctx context.Context) (int64, error) { return update(ctx, s.tx) })
}

// Read locks what it reads where the transaction's snapshot may be older than what an UPDATE meets.
func (s *session) Read(ctx context.Context, wait time.Duration, look func(context.Context, DBTX) error) error {
	switch s.db.options.Isolation {
	case sql.LevelReadUncommitted, sql.LevelReadCommitted:
		return look(ctx, s.tx)
	}
	_, err := s.bounded(ctx, wait, func(ctx context.Context) (int64, error) { return 0, look(ctx, newest{s.tx}) })
	return err
}

// bounded runs a statement of a transition's, which may wait.
func (s *session) bounded(ctx context.Context, wait time.Duration, run func(context.Context) (int64, error)) (int64, error) {
	n, err := engine{s.db}.Update(ctx, s.tx, sqltx.Waiting{Wait: wait, Run: run})
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
