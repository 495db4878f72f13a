package idem

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime/store"
)

// What is wrong with the table is said with its name and what to do, by the first delivery and by Check alike.
func TestTableError(t *testing.T) {
	t.Parallel()
	all := store.Columns()
	older := slices.DeleteFunc(slices.Clone(all), func(c string) bool { return c == "failure" || c == "successor" })
	for _, tt := range []struct {
		name    string
		err     error
		columns []string
		broken  bool // nothing more can be asked
		missing []string
		want    string
	}{
		{name: "no table", err: errMisfit, want: "does not exist"},
		{name: "older", err: errMisfit, columns: older, missing: []string{"failure", "successor"}, want: "no column failure, successor"},
		{name: "other", err: errMisfit, columns: all, want: "is not as"},
		{name: "unknown", err: errMisfit, columns: all, broken: true, want: "is not as"},
		{name: "denied", err: errDenied, columns: all, want: "must not be used"},
	} {
		for _, step := range []string{"claim", "lookup", "takeover", "commit"} {
			t.Run(tt.name+" "+step, func(t *testing.T) {
				t.Parallel()
				db, c, w := newFake(t), counter{}, watcher{}
				db.columns = tt.columns
				if step == "lookup" || step == "takeover" {
					db.putRow("orders.Place", "a", store.Row{State: store.Done, Expired: true})
				}
				db.fault = func(s string, _ int) error {
					switch {
					case s == step:
						return fmt.Errorf("the database: %w", tt.err)
					case s == "columns" && tt.broken:
						return errBroken
					default:
						return nil
					}
				}
				g := db.guard(WithObserver(&w))
				_, first := NewHandler(g, orderSpec(), c.place).Do(t.Context(), order{ID: "a"})
				for _, err := range []error{first, g.Check(t.Context())} {
					if step == "commit" && err == nil {
						continue // which Check does not do
					}
					var table *TableError
					if !errors.As(err, &table) || !errors.Is(err, tt.err) || table.Table != `"keys"` || !slices.Equal(table.Columns, tt.missing) {
						t.Errorf("got %v", err)
						continue
					}
					for _, want := range []string{`"keys"`, "idemdb/schema.sql", tt.want} {
						if !strings.Contains(err.Error(), want) {
							t.Errorf("%q is not in: %v", want, err)
						}
					}
				}
				if d := w.last(t); d.Outcome != OutcomeError || db.effectsOf("a") != 0 {
					t.Errorf("observed as %+v", d)
				}
			})
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	db := newFake(t)
	if err := db.guard().Check(t.Context()); err != nil {
		t.Error(err)
	}
	if len(db.rows) != 0 {
		t.Errorf("it left %v", db.rows)
	}
	if err := db.guard(WithRetries(-1)).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "WithRetries") {
		t.Errorf("with a wrong option: %v", err)
	}
	for _, step := range []string{"acquire", "claim", "lookup", "takeover"} {
		db.fault = func(s string, _ int) error {
			if s == step {
				return errBroken
			}
			return nil
		}
		if err := db.guard().Check(t.Context()); !errors.Is(err, errBroken) || errors.As(err, new(*TableError)) {
			t.Errorf("%s: got %v", step, err)
		}
	}
}

// A connection that is refused says nothing about a table, whatever the reason: a database that does not exist, no access to it.
func TestCheckWithoutConnection(t *testing.T) {
	t.Parallel()
	for _, refused := range []error{errMisfit, errDenied, errLocked, errBroken} {
		synctest.Test(t, func(t *testing.T) {
			db := newFake(t)
			db.fault = func(step string, _ int) error {
				if step == "acquire" {
					return refused
				}
				return nil
			}
			err := db.guard().Check(t.Context())
			if !errors.Is(err, refused) || errors.As(err, new(*TableError)) || !strings.Contains(err.Error(), "no connection") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A database that is locked for a moment is no fault.
func TestCheckWaits(t *testing.T) {
	t.Parallel()
	for _, forever := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			db := newFake(t)
			db.fault = func(step string, n int) error {
				if step == "claim" && (forever || n < 10) {
					return errLocked
				}
				return nil
			}
			start := time.Now()
			err := db.guard(WithInFlightTimeout(time.Second)).Check(t.Context())
			if forever != errors.Is(err, errLocked) || forever != (time.Since(start) >= time.Second) { // by synctest's clock
				t.Errorf("after %s: %v", time.Since(start), err)
			}
		})
	}
}
