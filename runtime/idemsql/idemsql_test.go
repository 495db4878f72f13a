package idemsql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

type stateError string

func (e stateError) Error() string    { return "state " + string(e) }
func (e stateError) SQLState() string { return string(e) }

type codedError int

func (e codedError) Error() string { return fmt.Sprintf("code %d", int(e)) }
func (e codedError) Code() int     { return int(e) }

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
	level := func(l sql.IsolationLevel) []idem.Option { return []idem.Option{idem.WithIsolation(l)} }
	for _, tt := range []struct {
		name  string
		db    *sql.DB
		store store.Queries[DBTX]
		opts  []idem.Option
		want  string
	}{
		{"no database", nil, namedStore{engine: store.SQLite}, nil, "the database is nil"},
		{"no store", db, nil, nil, "the store is nil"},
		{"unknown engine", db, namedStore{engine: "oracle"}, nil, "engine=oracle"},
		{"isolation on PostgreSQL", db, namedStore{engine: store.PostgreSQL}, level(sql.LevelSnapshot), "Snapshot"},
		{"isolation on SQLite", db, namedStore{engine: store.SQLite}, level(sql.LevelReadCommitted), "Read Committed"},
		{"nothing", db, namedStore{engine: store.SQLite}, level(sql.LevelSerializable), "no connection"},
		{"nothing on PostgreSQL", db, namedStore{engine: store.PostgreSQL}, level(sql.LevelSerializable), "no connection"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := idem.NewHandler(New(tt.db, tt.store, tt.opts...), idem.Spec[string]{
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
	for _, tt := range []struct {
		engine     engine
		level, got sql.IsolationLevel
	}{
		{postgresql{}, sql.LevelDefault, sql.LevelReadCommitted},
		{postgresql{}, sql.LevelRepeatableRead, sql.LevelRepeatableRead},
		{sqlite{}, sql.LevelDefault, sql.LevelDefault},
		{sqlite{}, sql.LevelSerializable, sql.LevelDefault},
	} {
		if got, err := tt.engine.isolation(tt.level); got != tt.got || err != nil {
			t.Errorf("%T, %s: got %s, %v", tt.engine, tt.level, got, err)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		engine engine
		err    error
		want   driver.Class
	}{
		{postgresql{}, stateError("40001"), driver.Conflict},
		{postgresql{}, stateError("40P01"), driver.Conflict},
		{postgresql{}, stateError("55P03"), driver.Busy},
		{postgresql{}, stateError("23505"), driver.Other},
		{postgresql{}, codedError(5), driver.Other},
		{postgresql{}, &driver.BusyError{Err: errors.New("x")}, driver.Busy},
		{sqlite{}, codedError(5), driver.Locked},   // BUSY
		{sqlite{}, codedError(6), driver.Locked},   // LOCKED
		{sqlite{}, codedError(261), driver.Locked}, // BUSY_RECOVERY
		{sqlite{}, codedError(262), driver.Locked}, // LOCKED_SHAREDCACHE
		{sqlite{}, codedError(517), driver.Locked}, // BUSY_SNAPSHOT
		{sqlite{}, codedError(19), driver.Other},   // CONSTRAINT
		{sqlite{}, codedError(9), driver.Other},    // INTERRUPT
		{sqlite{}, errors.New("database is locked (5)"), driver.Other},
	} {
		if got := (&database{engine: tt.engine}).Classify(fmt.Errorf("wrapped: %w", tt.err)); got != tt.want {
			t.Errorf("%T, %v: class %d, want %d", tt.engine, tt.err, got, tt.want)
		}
	}
}

func TestRolledBack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		engine engine
		err    error
		want   bool
	}{
		{postgresql{}, nil, true},
		{postgresql{}, stateError("08006"), false},
		{sqlite{}, nil, true},
		{sqlite{}, codedError(1), true}, // there was nothing to roll back
		{sqlite{}, codedError(10), false},
	} {
		if got := tt.engine.rolledBack(tt.err); got != tt.want {
			t.Errorf("%T, %v: got %t", tt.engine, tt.err, got)
		}
	}
}
