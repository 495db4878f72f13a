package idemsql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"testing"
)

// breaking is a database whose connections break.
type breaking struct {
	stale    int // how many connections, counted from the first, are broken before anything is done on them
	opened   int
	executed int // statements, each of which is executed and not answered
	pinged   int
}

func (b *breaking) Connect(context.Context) (sqldriver.Conn, error) {
	b.opened++
	return &breakingConn{b: b, broken: b.opened <= b.stale}, nil
}

func (b *breaking) Driver() sqldriver.Driver { return nil }

type breakingConn struct {
	scriptedConn

	b      *breaking
	broken bool
}

func (c *breakingConn) Close() error { return nil }

func (c *breakingConn) BeginTx(context.Context, sqldriver.TxOptions) (sqldriver.Tx, error) {
	if c.broken {
		return nil, sqldriver.ErrBadConn
	}
	c.answer = func(string) error { return nil }
	return c, nil
}

func (c *breakingConn) Ping(context.Context) error {
	c.b.pinged++
	if c.broken {
		return sqldriver.ErrBadConn
	}
	return nil
}

func (c *breakingConn) ExecContext(context.Context, string, []sqldriver.NamedValue) (sqldriver.Result, error) {
	c.b.executed++
	return nil, sqldriver.ErrBadConn
}

// open opens b with n idle connections.
func (b *breaking) open(t *testing.T, n int) *sql.DB {
	t.Helper()
	db := sql.OpenDB(b)
	db.SetMaxIdleConns(n)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	idle := make([]*sql.Conn, n)
	for i := range idle {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		idle[i] = conn
	}
	for _, conn := range idle {
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// A restart of the server breaks all idle connections at once. None of them costs a delivery.
func TestBeginOnStaleConnections(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		idle, stale int
		want        error
	}{
		{"one", 1, 1, nil},
		{"many", 12, 12, nil},
		{"without end", 3, 1 << 30, sqldriver.ErrBadConn},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := &breaking{stale: tt.stale}
			d := &database{db: b.open(t, tt.idle), engine: postgresql{}}
			acquired, err := d.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer acquired.Close(t.Context())
			if err := acquired.Begin(t.Context()); !errors.Is(err, tt.want) {
				t.Errorf("got %v after %d connections", err, b.opened)
			}
		})
	}
}

// A statement that may have been executed is not sent again behind the engine's back. But what the engine sends next does not
// meet the other connections that broke.
func TestOnce(t *testing.T) {
	t.Parallel()
	b := &breaking{stale: 3}
	db := b.open(t, 3)
	_, err := once{db, postgresql{}}.ExecContext(t.Context(), "UPDATE")
	if !errors.Is(err, sqldriver.ErrBadConn) || b.executed != 1 {
		t.Errorf("got %v, executed %d times", err, b.executed)
	}
	if n := db.Stats().InUse; n != 0 {
		t.Errorf("%d connections in use", n)
	}
	if b.pinged != 3 || b.opened != 4 {
		t.Errorf("%d connections were looked at and %d opened: the two that were idle beside it, and one that works", b.pinged, b.opened)
	}
	b.executed = 0
	if _, err = db.ExecContext(t.Context(), "UPDATE"); err == nil || b.executed < 2 {
		t.Errorf("database/sql by itself: %v, executed %d times: then there is no need for once", err, b.executed)
	}
}
