package idemmysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// numbered is an error of the server's, whose text says nothing.
func numbered(n uint16) error { return &mysql.MySQLError{Number: n, Message: "нечто"} }

// namedStore is a store that has an engine and nothing else.
type namedStore struct {
	store.Queries[DBTX]
	engine store.Engine
}

func (s namedStore) Engine() store.Engine { return s.engine }

// noConnector never connects.
type noConnector struct{}

func (noConnector) Connect(context.Context) (sqldriver.Conn, error) {
	return nil, errors.New("no connection")
}
func (noConnector) Driver() sqldriver.Driver { return nil }

func TestNewSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	db := sql.OpenDB(noConnector{})
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	my := namedStore{engine: store.MySQL}
	for _, tt := range []struct {
		name  string
		db    *sql.DB
		store store.Queries[DBTX]
		level sql.IsolationLevel
		want  string
	}{
		{"no database", nil, my, sql.LevelDefault, "the database is nil"},
		{"no store", db, nil, sql.LevelDefault, "the store is nil"},
		{"another engine", db, namedStore{engine: store.SQLite}, sql.LevelDefault, "engine=sqlite"},
		{"a level of others", db, my, sql.LevelSnapshot, "Snapshot"},
		{"nothing", db, my, sql.LevelSerializable, "no connection"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := idem.NewHandler(New(tt.db, tt.store, idem.WithIsolation(tt.level)), idem.Spec[string]{
				Name: "x", Window: time.Hour, Key: func(s string) (string, error) { return s, nil },
			}, idem.NoResult(func(context.Context, *sql.Tx, string) error { return nil }))
			if _, err := h.Do(t.Context(), "k"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestIsolation(t *testing.T) {
	t.Parallel()
	for level, want := range map[sql.IsolationLevel]sql.IsolationLevel{
		sql.LevelDefault: sql.LevelReadCommitted, sql.LevelRepeatableRead: sql.LevelRepeatableRead,
	} {
		if got, err := isolation(level); got != want || err != nil {
			t.Errorf("%s: got %s, %v", level, got, err)
		}
	}
}

// Only numbers decide, also of an error that the handler has wrapped.
func TestClassify(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want driver.Class
	}{
		{nil, driver.Other},
		{errors.New("Error 1213: Deadlock found"), driver.Other},
		{numbered(1213), driver.Conflict},
		{fmt.Errorf("take stock: %w", numbered(1213)), driver.Conflict},
		{numbered(1205), driver.Conflict},
		{numbered(1020), driver.Conflict},
		{&driver.BusyError{Err: numbered(1205)}, driver.Busy},
		{numbered(1062), driver.Other},
		{numbered(1146), driver.Misfit},
		{numbered(1153), driver.NoRoom},
		{fmt.Errorf("wrapped: %w", mysql.ErrPktTooLarge), driver.NoRoom},
		{numbered(1054), driver.Misfit},
		{numbered(1364), driver.Misfit},
		{numbered(3819), driver.Misfit},
		{numbered(4025), driver.Misfit},
		{&unfit{"another"}, driver.Misfit},
		{numbered(1142), driver.Denied},
		{numbered(1044), driver.Denied},
		{numbered(1143), driver.Denied},
		{mysql.ErrInvalidConn, driver.Other},
		{numbered(1927), driver.Other},
	} {
		if got := classify(tt.err); got != tt.want {
			t.Errorf("%v: got %d", tt.err, got)
		}
	}
}

// An answer to COMMIT is definite only if whoever gave it can have known.
func TestDefinite(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		numbered(1213): true, numbered(1205): true, numbered(3101): true, numbered(1062): true,
		numbered(1053): false, numbered(1927): false, numbered(1317): false, numbered(2006): false, numbered(2013): false,
		numbered(1180): false, numbered(1047): false, numbered(1105): false,
		mysql.ErrInvalidConn: false, sqldriver.ErrBadConn: false, context.DeadlineExceeded: false,
	} {
		if got := definite(err); got != want {
			t.Errorf("%v: got %t", err, got)
		}
	}
}

// Waits are whole seconds, rounded up; the caller's deadline is not to end them if that can be had.
func TestSeconds(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]int64{
		0: 0, time.Millisecond: 1, time.Second: 1, 1001 * time.Millisecond: 2, 5 * time.Second: 5,
		1 << 62: int64(maxWait / time.Second),
	} {
		if got := seconds(t.Context(), wait); got != want {
			t.Errorf("%s: got %d", wait, got)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
	defer cancel()
	for wait, want := range map[time.Duration]int64{4450 * time.Millisecond: 4, 3 * time.Second: 3, 100 * time.Millisecond: 1} {
		if got := seconds(ctx, wait); got != want {
			t.Errorf("%s within 4.5 s: got %d", wait, got)
		}
	}
}

func TestTableName(t *testing.T) {
	t.Parallel()
	for spelled, want := range map[string][2]string{
		"`idempotency_keys`":    {"", "idempotency_keys"},
		"`shop`.`keys`":         {"shop", "keys"},
		"`a.b`.`c``d`":          {"a.b", "c`d"},
		"idempotency_keys":      {"", "idempotency_keys"},
		"shop.keys":             {"shop", "keys"},
		"`shop`.keys":           {"shop", "keys"},
		"`an ``odd`` . name```": {"", "an `odd` . name`"},
	} {
		schema, table := tableName(spelled)
		if schema.String != want[0] || schema.Valid != (want[0] != "") || table != want[1] {
			t.Errorf("%s: got %v %q", spelled, schema, table)
		}
	}
}
