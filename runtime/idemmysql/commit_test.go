package idemmysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"slices"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// scriptedConn is a connection that answers as the test says and keeps what it is asked. Like the real one it is bad once it has been
// broken.
type scriptedConn struct {
	answers map[string]error
	asked   []string
	broken  bool
	closed  bool
}

func (c *scriptedConn) ask(statement string) error {
	if c.broken {
		return sqldriver.ErrBadConn
	}
	c.asked = append(c.asked, statement)
	err := c.answers[statement]
	c.broken = errors.Is(err, mysql.ErrInvalidConn)
	return err
}

func (c *scriptedConn) Connect(context.Context) (sqldriver.Conn, error) { return c, nil }
func (c *scriptedConn) Driver() sqldriver.Driver                        { return nil }
func (c *scriptedConn) Prepare(string) (sqldriver.Stmt, error) {
	return nil, errors.New("not prepared")
}
func (c *scriptedConn) Close() error                 { c.closed = true; return nil }
func (c *scriptedConn) Begin() (sqldriver.Tx, error) { return c, nil }
func (c *scriptedConn) Commit() error                { return c.ask("Tx.Commit") }
func (c *scriptedConn) Rollback() error              { return c.ask("Tx.Rollback") }

func (c *scriptedConn) BeginTx(context.Context, sqldriver.TxOptions) (sqldriver.Tx, error) {
	return c, nil
}

func (c *scriptedConn) ExecContext(_ context.Context, query string, _ []sqldriver.NamedValue) (sqldriver.Result, error) {
	return sqldriver.RowsAffected(0), c.ask(query)
}

// one completes one row.
type one struct{ store.Queries[DBTX] }

func (one) Complete(context.Context, DBTX, store.Completion) (int64, error) { return 1, nil }

func fate(err error) string {
	var end *driver.CommitError
	switch {
	case err == nil:
		return "committed"
	case !errors.As(err, &end), end.Fate == driver.Refused:
		return "refused"
	case end.Fate == driver.Lost:
		return "lost"
	default:
		return "unknown"
	}
}

// COMMIT is sent once and on one connection. What became of it is definite only where the server says so and goes on; a connection of
// which that is not known is closed.
func TestCommit(t *testing.T) {
	t.Parallel()
	committed := []string{hold, setMark, releaseMark, commit, "Tx.Rollback", restoreHold}
	refused := []string{hold, setMark, releaseMark, commit, rollback, "Tx.Rollback", restoreHold}
	gone := mysql.ErrInvalidConn
	for _, tt := range []struct {
		name    string
		answers map[string]error
		want    string
		asked   []string
		closed  bool
	}{
		{"yes", nil, "committed", committed, false},
		{"yes, and the end of the connection", map[string]error{"Tx.Rollback": gone}, "committed", committed[:5], true},
		{"yes, and the settings stay", map[string]error{restoreHold: numbered(1231)}, "committed", committed, true},
		{"a conflict", map[string]error{commit: numbered(1213)}, "refused", refused, false},
		{"a conflict and the end of the connection", map[string]error{commit: numbered(1213), rollback: gone}, "unknown", refused[:5], true},
		{"no answer", map[string]error{commit: gone}, "unknown", refused[:4], true},
		{"shut down", map[string]error{commit: numbered(1053)}, "unknown", refused[:6], true},
		{"killed", map[string]error{commit: numbered(1927)}, "unknown", refused[:6], true},
		{"an error of a proxy's", map[string]error{commit: numbered(2013)}, "unknown", refused[:6], true},
		{"another transaction", map[string]error{releaseMark: numbered(1305)}, "lost",
			[]string{hold, setMark, releaseMark, rollback, "Tx.Rollback", restoreHold}, false},
		{"the end of the connection before it", map[string]error{releaseMark: gone}, "refused", refused[:3], true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &scriptedConn{answers: tt.answers}
			db := sql.OpenDB(c)
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			s, err := (&database{db: db, queries: queries{one{}}}).Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := fate(s.Commit(t.Context(), &store.Completion{}))
			s.Close(t.Context())
			if got != tt.want || c.closed != tt.closed || !slices.Equal(c.asked, tt.asked) {
				t.Errorf("got %q, closed %t, asked %q", got, c.closed, c.asked)
			}
			if n := db.Stats().InUse; n != 0 {
				t.Errorf("%d connections left", n)
			}
		})
	}
}
