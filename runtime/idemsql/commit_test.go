package idemsql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/idemgen/idemgen/runtime/internal/driver"
)

// scriptedConn is a connection of a database that answers as the test says and keeps what it is asked.
type scriptedConn struct {
	answer func(statement string) error // nil for no error
	asked  []string
	closed bool
}

func (c *scriptedConn) ask(statement string) error {
	c.asked = append(c.asked, statement)
	return c.answer(statement)
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
func (c *scriptedConn) Ping(context.Context) error   { return c.ask("ping") }

func (c *scriptedConn) BeginTx(context.Context, sqldriver.TxOptions) (sqldriver.Tx, error) {
	return c, nil
}

func (c *scriptedConn) ExecContext(_ context.Context, query string, _ []sqldriver.NamedValue) (sqldriver.Result, error) {
	return sqldriver.RowsAffected(0), c.ask(query)
}

func (c *scriptedConn) QueryContext(_ context.Context, query string, _ []sqldriver.NamedValue) (sqldriver.Rows, error) {
	return &oneNumber{}, c.ask(query)
}

// oneNumber is a result of one row and column.
type oneNumber struct{ read bool }

func (r *oneNumber) Columns() []string { return []string{"n"} }
func (r *oneNumber) Close() error      { return nil }
func (r *oneNumber) Next(dest []sqldriver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read, dest[0] = true, int64(1234)
	return nil
}

// commit begins a transaction on c and has the engine commit it.
func (c *scriptedConn) commit(t *testing.T, e engine) error {
	t.Helper()
	db := sql.OpenDB(c)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &session{db: &database{db: db, engine: e}, conn: conn}
	defer s.Close(t.Context())
	if err := s.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e.commit(t.Context(), s)
}

func fate(err error) string {
	var end *driver.CommitError
	switch {
	case err == nil:
		return "committed"
	case !errors.As(err, &end), end.Fate == driver.Refused:
		return "refused"
	default:
		return end.Error()
	}
}

// An answer to COMMIT is definite only if the connection outlives it.
func TestCommitOnPostgreSQL(t *testing.T) {
	t.Parallel()
	gone := errors.New("connection reset")
	for _, tt := range []struct {
		name         string
		commit, ping error
		want         string
		discarded    bool
	}{
		{"yes", nil, gone, "committed", false},
		{"a deferred constraint", stateError("23505"), nil, "refused", false},
		{"a conflict", stateError("40001"), nil, "refused", false},
		{"no answer", gone, nil, "COMMIT was not answered: connection reset", true},
		{"fate unknown by its code", stateError("40003"), nil, "COMMIT was not answered: state 40003", true},
		{"shut down", stateError("57P01"), gone, "COMMIT was not answered: state 57P01", true},
		{"no space for the log", stateError("53100"), gone, "COMMIT was not answered: state 53100", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &scriptedConn{answer: func(statement string) error {
				switch statement {
				case "Tx.Commit":
					return tt.commit
				case "ping":
					return tt.ping
				}
				return nil
			}}
			if got := fate(c.commit(t, postgresql{})); got != tt.want || c.closed != tt.discarded {
				t.Errorf("got %q, discarded %t", got, c.closed)
			}
		})
	}
}

func TestCommitOnSQLite(t *testing.T) {
	t.Parallel()
	const (
		busy      = codedError(codeBusy)
		none      = codedError(codeError) // no transaction is active
		broken    = codedError(10)
		interrupt = codedError(9)
	)
	wait := []string{"COMMIT", "PRAGMA busy_timeout", "PRAGMA busy_timeout = 4500", "Tx.Commit", "PRAGMA busy_timeout = 1234"}
	for _, tt := range []struct {
		name    string
		answers map[string]error
		asked   []string
		want    string
	}{
		{"yes", map[string]error{"Tx.Rollback": none}, []string{"COMMIT", "Tx.Rollback"}, "committed"},
		{"a deferred constraint", map[string]error{"COMMIT": codedError(787)}, []string{"COMMIT", "Tx.Rollback"}, "refused"},
		{"no transaction", map[string]error{"COMMIT": none, "Tx.Rollback": none}, []string{"COMMIT", "Tx.Rollback"}, "the transaction ended before its time: code 1"},
		{"broken", map[string]error{"COMMIT": broken, "Tx.Rollback": broken}, []string{"COMMIT", "Tx.Rollback"}, "COMMIT was not answered: code 10"},
		{"busy for a while", map[string]error{"COMMIT": busy}, wait, "committed"},
		{"busy for long", map[string]error{"COMMIT": busy, "Tx.Commit": busy}, wait, "refused"},
		{"busy and broken", map[string]error{"COMMIT": busy, "Tx.Commit": interrupt}, wait, "COMMIT was not answered: code 9"},
		{"busy and impatient", map[string]error{"COMMIT": busy, "PRAGMA busy_timeout": broken}, []string{"COMMIT", "PRAGMA busy_timeout", "Tx.Rollback"}, "refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &scriptedConn{answer: func(statement string) error { return tt.answers[statement] }}
			if got := fate(c.commit(t, sqlite{})); got != tt.want || !slices.Equal(c.asked, tt.asked) {
				t.Errorf("got %q, asked %q", got, c.asked)
			}
		})
	}
}
