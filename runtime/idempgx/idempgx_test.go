package idempgx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// namedStore is a store that has an engine and nothing else.
type namedStore struct {
	store.Queries[DBTX]
	engine store.Engine
}

func (s namedStore) Engine() store.Engine { return s.engine }

func TestNewSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	// A pool connects when it is used, and this one never is.
	db, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/none")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	for _, tt := range []struct {
		name  string
		db    *pgxpool.Pool
		store store.Queries[DBTX]
		opts  []idem.Option
		want  string
	}{
		{"no pool", nil, namedStore{engine: store.PostgreSQL}, nil, "the pool is nil"},
		{"no store", db, nil, nil, "the store is nil"},
		{"another engine", db, namedStore{engine: store.SQLite}, nil, "engine=sqlite"},
		{"isolation", db, namedStore{engine: store.PostgreSQL}, []idem.Option{idem.WithIsolation(sql.LevelLinearizable)}, "Linearizable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := idem.NewHandler(New(tt.db, tt.store, tt.opts...), idem.Spec[string]{
				Name: "x", Window: time.Hour, Key: func(s string) (string, error) { return s, nil },
			}, idem.NoResult(func(context.Context, pgx.Tx, string) error { return nil }))
			if _, err := h.Do(t.Context(), "k"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestIsolation(t *testing.T) {
	t.Parallel()
	for level, want := range map[sql.IsolationLevel]pgx.TxIsoLevel{
		sql.LevelDefault:         pgx.ReadCommitted,
		sql.LevelReadUncommitted: pgx.ReadUncommitted,
		sql.LevelReadCommitted:   pgx.ReadCommitted,
		sql.LevelRepeatableRead:  pgx.RepeatableRead,
		sql.LevelSerializable:    pgx.Serializable,
	} {
		if got, err := isolation(level); got != want || err != nil {
			t.Errorf("%s: got %q, %v", level, got, err)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	coded := func(code string) error { return fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code}) }
	for _, tt := range []struct {
		err  error
		want driver.Class
	}{
		{coded("40001"), driver.Conflict},
		{coded("40P01"), driver.Conflict},
		{coded("55P03"), driver.Busy},
		{&driver.BusyError{Err: context.DeadlineExceeded}, driver.Busy},
		{coded("57014"), driver.Other},
		{coded("23505"), driver.Other},
		{errors.New("40001"), driver.Other}, // never by text
	} {
		if got := (&pool{}).Classify(tt.err); got != tt.want {
			t.Errorf("%v: class %d, want %d", tt.err, got, tt.want)
		}
	}
}

func TestTheTxIsClosedForGood(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tx := &guardedTx{state: &txState{}}
	if err := tx.Commit(ctx); !errors.Is(err, errNotYours) {
		t.Errorf("an early Commit: %v", err)
	}
	if err := tx.Rollback(ctx); !errors.Is(err, errNotYours) {
		t.Errorf("an early Rollback: %v", err)
	}
	tx.state.closed.Store(true)
	lo := tx.LargeObjects()
	for name, f := range map[string]func() error{
		"Commit":       func() error { return tx.Commit(ctx) },
		"Rollback":     func() error { return tx.Rollback(ctx) },
		"Begin":        func() error { _, err := tx.Begin(ctx); return err },
		"Exec":         func() error { _, err := tx.Exec(ctx, "SELECT 1"); return err },
		"Query":        func() error { _, err := tx.Query(ctx, "SELECT 1"); return err },
		"QueryRow":     func() error { return tx.QueryRow(ctx, "SELECT 1").Scan(new(int)) },
		"SendBatch":    func() error { return tx.SendBatch(ctx, &pgx.Batch{}).Close() },
		"Prepare":      func() error { _, err := tx.Prepare(ctx, "x", "SELECT 1"); return err },
		"CopyFrom":     func() error { _, err := tx.CopyFrom(ctx, pgx.Identifier{"x"}, nil, nil); return err },
		"LargeObjects": func() error { _, err := lo.Create(ctx, 0); return err },
	} {
		if err := f(); !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if tx.Conn() != nil {
		t.Error("there is a connection")
	}
	nested := &guardedTx{state: tx.state, nested: true}
	for name, f := range map[string]func(context.Context) error{"Commit": nested.Commit, "Rollback": nested.Rollback} {
		if err := f(ctx); !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("%s of a savepoint: %v", name, err)
		}
	}
}

func TestPipelinesServeOneKindOfStatement(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, db := range map[string]DBTX{"begin": beginning{}, "commit": &ending{}} {
		if _, err := db.Query(ctx, "SELECT 1"); !errors.Is(err, errOneStatement) {
			t.Errorf("%s: %v", name, err)
		}
		if err := db.QueryRow(ctx, "SELECT 1").Scan(); !errors.Is(err, errOneStatement) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (looking{}).Exec(ctx, "SELECT 1"); !errors.Is(err, errOneStatement) {
		t.Errorf("look-up: %v", err)
	}
	if _, err := (looking{}).Query(ctx, "SELECT 1"); !errors.Is(err, errOneStatement) {
		t.Errorf("look-up: %v", err)
	}
}

// An answer to COMMIT is definite only if the connection outlives it.
func TestCommitError(t *testing.T) {
	t.Parallel()
	answer := func(severity, code string) error {
		return fmt.Errorf("wrapped: %w", &pgconn.PgError{Severity: "ERREUR", SeverityUnlocalized: severity, Code: code})
	}
	for _, tt := range []struct {
		name    string
		err     error
		unknown bool
	}{
		{"a deferred constraint", answer("ERROR", "23505"), false},
		{"a conflict", answer("ERROR", "40001"), false},
		{"fate unknown by its code", answer("ERROR", "40003"), true},
		{"shut down", answer("FATAL", "57P01"), true},
		{"idle for too long", answer("FATAL", "25P03"), true},
		{"no space for the log", answer("PANIC", "53100"), true},
		{"an old server's", &pgconn.PgError{Severity: "PANIC", Code: "XX000"}, true},
		{"preprocessing", pgx.ErrPreprocessingBatch{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var end *driver.CommitError
			err := newSession(nil, nil).commitError(tt.err, true)
			if got := errors.As(err, &end) && end.Fate == driver.Unknown; got != tt.unknown || !errors.Is(err, tt.err) {
				t.Errorf("got %v", err)
			}
		})
	}
	var end *driver.CommitError
	if err := newSession(nil, nil).commitError(pgx.ErrTxCommitRollback, true); !errors.As(err, &end) || end.Fate != driver.Aborted {
		t.Errorf("answered with ROLLBACK: %v", err)
	}
	denied := answer("ERROR", "42501")
	if err := newSession(nil, nil).commitError(denied, true); !errors.As(err, &end) || end.Fate != driver.Refused {
		t.Errorf("a deferred trigger's error: %v", err)
	}
	if err := newSession(nil, nil).commitError(denied, false); err != denied {
		t.Errorf("an error before COMMIT: %v", err)
	}
	lost := &driver.CommitError{Fate: driver.Lost}
	if err := newSession(nil, nil).commitError(lost, true); !errors.As(err, &end) || end != lost {
		t.Errorf("lost: %v", err)
	}
}
