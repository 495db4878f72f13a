package idem

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime/store"
)

// Effects 22: what a worker's wall clock says does not matter. The database is told how long, and never until when: nothing
// that a statement takes or returns has a point in time in it.
func TestLeaseNoTimeTravels(t *testing.T) {
	t.Parallel()
	queries := reflect.TypeFor[store.Queries[int]]()
	seen := map[reflect.Type]bool{}
	var look func(reflect.Type, string)
	look = func(typ reflect.Type, where string) {
		if typ == reflect.TypeFor[time.Time]() {
			t.Errorf("%s is a point in time", where)
		}
		if seen[typ] {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			look(typ.Elem(), where)
		case reflect.Struct:
			for i := range typ.NumField() {
				look(typ.Field(i).Type, where+"."+typ.Field(i).Name)
			}
		}
	}
	for i := range queries.NumMethod() {
		m := queries.Method(i)
		for j := range m.Type.NumIn() {
			look(m.Type.In(j), m.Name)
		}
		for j := range m.Type.NumOut() {
			look(m.Type.Out(j), m.Name)
		}
	}
	if !seen[reflect.TypeFor[store.Claim]()] || !seen[reflect.TypeFor[store.Row]()] {
		t.Error("it has not looked into what statements take")
	}
}

// On this side only differences of times count that time.Now has just told, which are differences of the monotonic clock: the
// code of leases does nothing with a time by which it would lose that, or tell the wall clock's.
func TestLeaseOnlyTheMonotonicClock(t *testing.T) {
	t.Parallel()
	// Of package time, and of its Time.
	allowed := map[string]bool{
		"Now": true, "Since": true, "Until": true, "Add": true, "Sub": true, "Before": true, "After": true, "IsZero": true,
		"Time": true, "Duration": true, "Timer": true, "NewTimer": true, "AfterFunc": true,
		"Hour": true, "Minute": true, "Second": true, "Millisecond": true, "Microsecond": true,
	}
	lose := map[string]bool{
		"Round": true, "Truncate": true, "UTC": true, "Local": true, "In": true, "AddDate": true, "Unix": true, "UnixMilli": true,
		"UnixMicro": true, "UnixNano": true, "Format": true, "AppendFormat": true, "Equal": true, "Compare": true, "Date": true, "Clock": true,
		"MarshalJSON": true, "MarshalText": true, "MarshalBinary": true,
	}
	files, err := filepath.Glob("lease*.go")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, file := range append(files, "delivery.go") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		looked++
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, file, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, _ := s.X.(*ast.Ident)
			if ofTime := pkg != nil && pkg.Name == "time"; ofTime && !allowed[s.Sel.Name] || !ofTime && lose[s.Sel.Name] {
				t.Errorf("%s: %s", fset.Position(s.Pos()), s.Sel.Name)
			}
			return true
		})
	}
	if looked < 5 {
		t.Errorf("it has looked into %d files", looked)
	}
}

// A lease has no upper limit: it is what a dead worker costs, and nothing overflows on the way to the longest there is.
func TestLeaseForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, a := newFake(t), acquirer{}
		spec := chargeSpec()
		spec.Lease = math.MaxInt64
		l := NewLease(db.guard(), spec, a.charge)
		a.then = func(ctx context.Context, _ int) error {
			time.Sleep(1000 * time.Hour)
			other := spec
			other.InFlight = Fail
			_, err := NewLease(db.guard(), other, a.charge).Do(t.Context(), order{ID: "a"})
			var busy *InProgressError
			if !errors.As(err, &busy) || busy.RetryAfter < 10000*time.Hour {
				t.Errorf("a rival: %v", err)
			}
			return ctx.Err()
		}
		if _, err := l.Do(t.Context(), order{ID: "a"}); err != nil || a.runs() != 1 {
			t.Errorf("got %v, %d runs", err, a.runs())
		}
		state(t, db, store.Done)
	})
}

// Whatever way a delivery meets another one, it says when to come again.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	const timeout = 100 * time.Millisecond
	for _, rule := range []InFlight{Wait, Fail} {
		t.Run(rule.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, c := newFake(t), counter{}
				spec := orderSpec()
				spec.InFlight = rule
				holding, letGo := make(chan struct{}), make(chan struct{})
				first := NewHandler(db.guard(), orderSpec(), func(ctx context.Context, tx fakeTx, o order) (receipt, error) {
					close(holding)
					<-letGo
					return c.place(ctx, tx, o)
				})
				done := make(chan error, 1)
				go func() {
					_, err := first.Do(t.Context(), order{ID: "a"})
					done <- err
				}()
				<-holding
				g := db.guard(WithInFlightTimeout(timeout))
				rival := NewHandler(g, spec, c.place)
				leased := spec
				leased.Lease = lease
				for name, do := range map[string]func(context.Context) error{
					"do":    func(ctx context.Context) error { _, err := rival.Do(ctx, order{ID: "a"}); return err },
					"in tx": func(ctx context.Context) error { _, err := rival.InTx(ctx, db.begin(t), order{ID: "a"}); return err },
					"mark":  func(ctx context.Context) error { return rival.Mark(ctx, order{ID: "a"}, receipt{}) },
					"lease": func(ctx context.Context) error {
						_, err := NewLease(g, leased, func(context.Context, order) (receipt, error) { return receipt{}, nil }).Do(ctx, order{ID: "a"})
						return err
					},
				} {
					err := do(t.Context())
					var busy *InProgressError
					if !errors.As(err, &busy) || busy.RetryAfter != timeout {
						t.Errorf("%s: got %v", name, err)
					}
				}
				close(letGo)
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
