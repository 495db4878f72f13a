package e2e

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/idemmysql"
	"github.com/idemgen/idemgen/runtime/idempgx"
	"github.com/idemgen/idemgen/runtime/idemsql"
	"github.com/idemgen/idemgen/runtime/idemtest"

	litedb "github.com/idemgen/idemgen/testdata/e2e/liteshop/idemdb"
	mydb "github.com/idemgen/idemgen/testdata/e2e/myshop/idemdb"
	pgxdb "github.com/idemgen/idemgen/testdata/e2e/pgxshop/idemdb"
	stddb "github.com/idemgen/idemgen/testdata/e2e/stdshop/idemdb"
)

// matrix is what the drivers have proved in this run.
var matrix idemtest.Matrix

// Each driver proves each promise, on a guard without generated code.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, d := range drivers() {
		matrix.Expect(d.name)
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() {
				if t.Skipped() {
					matrix.LeaveOut(d.name, "what it needs is not there")
				}
			})
			d.need(t)
			d.conformance(t)
		})
	}
	matrix.Expect("memory")
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		idemtest.Conformance(t, idemtest.InMemoryBackend(&matrix))
	})
}

// conformance runs the suite on a driver.
func (d driver) conformance(t *testing.T) {
	switch d.name {
	case "pgx":
		idemtest.Conformance(t, backend(d, func(s *shop, opts ...idem.Option) *idem.Guard[pgx.Tx] {
			return idempgx.New(s.pool, pgxdb.Store, opts...)
		}, func(_ driver, tx pgx.Tx) Tx { return pgxTx{tx} }, (*shop).beginPGX, pgxSteps))
	case "std", "pq":
		idemtest.Conformance(t, backend(d, func(s *shop, opts ...idem.Option) *idem.Guard[*sql.Tx] {
			return idemsql.New(s.db, stddb.Store, opts...)
		}, asSQL, (*shop).beginTx, sqlSteps[idemsql.DBTX]))
	case "maria":
		idemtest.Conformance(t, backend(d, func(s *shop, opts ...idem.Option) *idem.Guard[*sql.Tx] {
			return idemmysql.New(s.db, mydb.Store, opts...)
		}, asSQL, (*shop).beginTx, sqlSteps[idemmysql.DBTX]))
	case "lite", "mattn":
		idemtest.Conformance(t, backend(d, func(s *shop, opts ...idem.Option) *idem.Guard[*sql.Tx] {
			return idemsql.New(s.db, litedb.Store, opts...)
		}, asSQL, (*shop).beginTx, sqlSteps[idemsql.DBTX]))
	default:
		t.Fatalf("the suite has no backend for %s", d.name)
	}
}

func asSQL(d driver, tx *sql.Tx) Tx { return sqlTx{d, tx} }

func (s *shop) beginTx(t *testing.T) idemtest.Caller[*sql.Tx] {
	t.Helper()
	tx, err := s.db.BeginTx(context.WithoutCancel(t.Context()), nil)
	require.NoError(t, err)
	return idemtest.Caller[*sql.Tx]{Tx: tx, Commit: tx.Commit, Rollback: tx.Rollback}
}

func (s *shop) beginPGX(t *testing.T) idemtest.Caller[pgx.Tx] {
	t.Helper()
	ctx := t.Context()
	tx, err := s.pool.Begin(ctx)
	require.NoError(t, err)
	return idemtest.Caller[pgx.Tx]{
		Tx:     tx,
		Commit: func() error { return tx.Commit(ctx) }, Rollback: func() error { return tx.Rollback(ctx) },
	}
}

// conform is the job of a worker process of the suite, on the guard of generated code.
func (j job) conform(ctx context.Context, w worker) error {
	work := idemtest.Job{Stage: j.Stage, ID: j.Suite}
	effect := func(ctx context.Context, tx Tx, what string) error { return new(shop).effect(ctx, tx, what) }
	switch g := w.placer.(type) {
	case interface{ Guard() *idem.Guard[pgx.Tx] }:
		return idemtest.Worker(ctx, idemtest.Place[pgx.Tx]{
			Guard:  func(...idem.Option) *idem.Guard[pgx.Tx] { return g.Guard() },
			Effect: func(ctx context.Context, tx pgx.Tx, what string) error { return effect(ctx, pgxTx{tx}, what) },
			Steps:  pgxSteps(driverOf(j.Driver)),
		}, work, j.reached)
	case interface{ Guard() *idem.Guard[*sql.Tx] }:
		return idemtest.Worker(ctx, idemtest.Place[*sql.Tx]{
			Guard: func(...idem.Option) *idem.Guard[*sql.Tx] { return g.Guard() },
			Effect: func(ctx context.Context, tx *sql.Tx, what string) error {
				return effect(ctx, sqlTx{newShop(j.Driver).driver, tx}, what)
			},
			Steps: j.sqlSteps(),
		}, work, j.reached)
	default:
		return fmt.Errorf("the suite has no worker for %s", j.Driver)
	}
}

// matrixVariable names a file that the matrix is written to, for who runs the tests: go test shows what a test prints only
// where one fails.
const matrixVariable = "IDEMGEN_MATRIX"

// reportMatrix prints the matrix. In a run of all tests it is an error if a cell is missing.
func reportMatrix() (err error) {
	if everything() {
		err = matrix.Incomplete()
	}
	err = errors.Join(err, matrix.Write(os.Stdout))
	if name := os.Getenv(matrixVariable); name != "" {
		file, ferr := os.Create(name)
		if ferr != nil {
			return errors.Join(err, ferr)
		}
		err = errors.Join(err, matrix.Write(file), file.Close())
	}
	return err
}

// everything reports whether no test was chosen by name.
func everything() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return true
}

// The suite's drivers are the tests'.
func TestConformance_HasAnEngineForEachDriver(t *testing.T) {
	t.Parallel()
	for _, d := range drivers() {
		assert.Contains(t, engines, d.name)
	}
}
