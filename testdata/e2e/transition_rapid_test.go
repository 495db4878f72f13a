package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/idemsql"

	liteordersdb "github.com/idemgen/idemgen/testdata/e2e/liteorders/idemdb"
)

// arrows are a random machine: which states follow each.
type arrows map[string][]string

// drawMachine draws a machine of up to six states, cycles included. Rows begin in "a".
func drawMachine(t *rapid.T) arrows {
	states := []string{"a", "b", "c", "d", "e", "f"}[:rapid.IntRange(2, 6).Draw(t, "states")]
	m := arrows{}
	for _, from := range states {
		for _, to := range states {
			if from != to && rapid.Float64Range(0, 1).Draw(t, from+to) < 0.35 {
				m[from] = append(m[from], to)
			}
		}
	}
	return m
}

// past says by the definition, and not by the generator's way to it, whether every path from "a" to a state passes through
// another one. A state that no path leads to says nothing.
func (m arrows) past(state, through string) bool {
	if state == through {
		return true
	}
	reached, around := false, false
	var walk func(at string, path []string)
	walk = func(at string, path []string) {
		path = append(slices.Clone(path), at)
		if at == state {
			reached = true
			around = around || !slices.Contains(path, through)
		}
		for _, next := range m[at] {
			if !slices.Contains(path, next) {
				walk(next, path)
			}
		}
	}
	walk("a", nil)
	return reached && !around
}

func (m arrows) states() []string {
	all := []string{"a"}
	for _, from := range []string{"a", "b", "c", "d", "e", "f"} {
		for _, s := range append([]string{from}, m[from]...) {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// ask is an event: which row it is about.
type ask struct{ row string }

// asking is a transition of a random machine as generated code would make it, from all states that an arrow leads from to the
// one that it leads to.
func asking(g *idem.Guard[*sql.Tx], m arrows, to string) *idem.Transition[*sql.Tx, ask] {
	var from, past []string
	for _, s := range m.states() {
		if slices.Contains(m[s], to) {
			from = append(from, s)
		}
		if m.past(s, to) {
			past = append(past, s)
		}
	}
	if len(from) == 0 {
		return nil
	}
	in := "'" + strings.Join(from, "', '") + "'"
	return idem.NewTransition(g, idem.TransitionSpec[idemsql.DBTX, ask]{
		Name: "to " + to, Column: "things.state", From: from, To: to, Past: past, OneRow: true,
		Row: func(e ask) (string, error) { return e.row, nil },
		Update: func(ctx context.Context, db idemsql.DBTX, e ask) (int64, error) {
			r, err := db.ExecContext(ctx, `UPDATE things SET state = ? WHERE id = ? AND state IN (`+in+`)`, to, e.row)
			if err != nil {
				return 0, err
			}
			return r.RowsAffected()
		},
		Look: func(ctx context.Context, db idemsql.DBTX, e ask) (s idem.RowState, err error) {
			err = db.QueryRowContext(ctx, `SELECT state FROM things WHERE id = ?`, e.row).Scan(&s.State)
			return s, err
		},
	}, func(ctx context.Context, tx *sql.Tx, e ask) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO passed (id, state) VALUES (?, ?)`, e.row, to)
		return err
	})
}

// newThings makes a database with one row for the machine.
func newThings(t *rapid.T) *sql.DB {
	db, err := sql.Open("sqlite", ":memory:")
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	_, err = db.Exec(`CREATE TABLE things (id TEXT PRIMARY KEY, state TEXT NOT NULL);
		CREATE TABLE passed (n INTEGER PRIMARY KEY, id TEXT NOT NULL, state TEXT NOT NULL);
		INSERT INTO things VALUES ('x', 'a')`)
	require.NoError(t, err)
	return db
}

// passed are the states that the row has been in, in order.
func passed(t *rapid.T, db *sql.DB) []string {
	rows, err := db.Query(`SELECT state FROM passed ORDER BY n`)
	require.NoError(t, err)
	defer rows.Close()
	all := []string{"a"}
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		all = append(all, s)
	}
	require.NoError(t, rows.Err())
	return all
}

// Over random machines, cyclic ones included, and random events: what is delivered one after another does what a model of one
// thread does, and a repeat is only ever what has been.
func TestTransition_ModelOneByOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMachine(t)
		db := newThings(t)
		defer db.Close()
		var seen idem.Delivery
		g := idemsql.New(db, liteordersdb.Store, idem.WithObserver(idem.ObserverFunc(func(_ context.Context, d idem.Delivery) { seen = d })))
		state, been := "a", []string{"a"}
		for range rapid.IntRange(1, 15).Draw(t, "events") {
			to := rapid.SampledFrom(m.states()).Draw(t, "to")
			tr := asking(g, m, to)
			if tr == nil {
				continue
			}
			err := tr.Do(context.Background(), ask{"x"})
			switch {
			case slices.Contains(m[state], to):
				require.NoError(t, err)
				require.Equal(t, idem.OutcomeExecuted, seen.Outcome)
				state, been = to, append(been, to)
			case m.past(state, to):
				require.NoError(t, err)
				require.Equal(t, idem.OutcomeDuplicate, seen.Outcome)
				require.Contains(t, been, to, "what is called a repeat has been")
			default:
				var conflict *idem.ConflictError
				require.ErrorAs(t, err, &conflict)
				require.Equal(t, idem.ConflictError{Column: "things.state", Have: state, Want: to}, *conflict)
			}
			require.Equal(t, been, passed(t, db))
		}
	})
}

// The same at once: the row takes a way that there is, each step ran its body once, and every success is one.
func TestTransition_ModelAtOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMachine(t)
		db := newThings(t)
		defer db.Close()
		g := idemsql.New(db, liteordersdb.Store)
		var all sync.WaitGroup
		var mu sync.Mutex
		var faults []error
		told := map[string]bool{}
		for n := range rapid.IntRange(2, 12).Draw(t, "events") {
			to := rapid.SampledFrom(m.states()).Draw(t, fmt.Sprint("to ", n))
			tr := asking(g, m, to)
			if tr == nil {
				continue
			}
			all.Go(func() {
				err := tr.Do(context.Background(), ask{"x"})
				var conflict *idem.ConflictError
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					told[to] = true
				case !errors.As(err, &conflict):
					faults = append(faults, err)
				}
			})
		}
		all.Wait()
		require.NoError(t, errors.Join(faults...))
		been := passed(t, db)
		for i, s := range been[1:] {
			require.Contains(t, m[been[i]], s, "there is no way from %s in %v", been[i], been)
		}
		var state string
		require.NoError(t, db.QueryRow(`SELECT state FROM things`).Scan(&state))
		require.Equal(t, been[len(been)-1], state)
		for to := range told {
			require.Contains(t, been, to)
		}
	})
}
