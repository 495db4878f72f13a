package idem

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/store"
)

// schemaFile is what makes the table, as users know it.
const schemaFile = "idemdb/schema.sql"

// TableError is a table of keys that a delivery cannot use: it is missing, it is not as idemdb/schema.sql makes it, or the
// database does not allow it. Nothing ran, or what ran was rolled back; only beside [ErrCommitUnknown] a handler with a lease
// has run, and its end could not be recorded.
type TableError struct {
	// Table is the table's name as the statements spell it.
	Table string
	// Columns are the columns that it lacks, where that is the reason.
	Columns []string
	// Err is the database's error.
	Err error

	what string
}

func (e *TableError) Error() string { return fmt.Sprintf("table %s %s: %v", e.Table, e.what, e.Err) }

// Unwrap returns the database's error.
func (e *TableError) Unwrap() error { return e.Err }

// diagnoseTimeout bounds the question for the columns.
const diagnoseTimeout = time.Second

// diagnose finds out what is wrong with the table that a statement has met with err. Only codes decide; what err does not
// say, the database is asked for.
func (g *Guard[Tx]) diagnose(ctx context.Context, err error) error {
	e := &TableError{Table: g.driver.Table(), Err: err}
	e.what = "is not as " + schemaFile + " makes it: compare the two"
	if g.driver.Classify(err) == driver.Denied {
		e.what = "must not be used: idem needs to SELECT, INSERT and UPDATE, and its janitor to DELETE, in the table that " + schemaFile + " makes"
		return e
	}
	// Whoever joins a transaction holds a connection, and may have the only one.
	ctx, cancel := context.WithTimeout(ctx, diagnoseTimeout)
	defer cancel()
	has, cerr := g.driver.Columns(ctx)
	if cerr != nil {
		return e
	}
	if len(has) == 0 {
		e.what = "does not exist, or not where this connection looks for it: apply " + schemaFile
		return e
	}
	for _, column := range store.Columns() {
		if !slices.Contains(has, column) {
			e.Columns = append(e.Columns, column)
		}
	}
	if len(e.Columns) > 0 {
		e.what = "has no column " + strings.Join(e.Columns, ", ") + ", and " + schemaFile + " changes no table that is there: " +
			"add what it lacks, or name another table by table= of //idem:package"
	}
	return e
}

// checkHandler is the handler of the row that Check claims and never commits.
const checkHandler = "idemgen.check"

// Check reports whether the guard can work: whether its options are right, the database is there and the table of keys is
// as the generated statements need it. It claims a key of its own and takes the claim back. Call it at start-up, where a
// missing migration is better found than in the first delivery, which would return the same error: a [*TableError] where
// the table is the reason.
func (g *Guard[Tx]) Check(ctx context.Context) error {
	if g.err != nil {
		return fmt.Errorf("idem: %w", g.err)
	}
	if g.settings.driver.Leases != nil {
		return ctx.Err() // there is no table
	}
	until := time.Now().Add(g.settings.inFlightTimeout)
	for n := 0; ; n++ {
		connected, err := g.probe(ctx, until)
		if err == nil {
			return nil
		}
		switch class := g.driver.Classify(err); {
		case connected && (class == driver.Misfit || class == driver.Denied):
			return fmt.Errorf("idem: %w", g.diagnose(ctx, err))
		case (class == driver.Locked || class == driver.Conflict) && time.Now().Before(until) && pause(ctx, n) == nil:
			continue
		}
		return fmt.Errorf("idem: the table of keys could not be checked: %w", err)
	}
}

// probe runs the statements of a delivery, in transactions that are rolled back. Where it is not connected, err is no statement's:
// a database that does not exist, say, of which nothing is known about a table.
func (g *Guard[Tx]) probe(ctx context.Context, until time.Time) (connected bool, err error) {
	s, err := g.driver.Acquire(ctx)
	if err != nil {
		return false, fmt.Errorf("no connection: %w", err)
	}
	defer s.Close(ctx)
	window := MinWindow
	claim := store.Claim{Handler: checkHandler, Key: rand.Text(), State: store.Failed, Failure: "a check", Window: &window}
	if _, err := rand.Read(claim.Owner[:]); err != nil {
		return true, err
	}
	if _, err := s.Claim(ctx, claim, waitUntil(ctx, until)); err != nil {
		return true, err
	}
	if _, err := s.Lookup(ctx, claim.Handler, claim.Key); err != nil && !errors.Is(err, store.ErrNotFound) {
		return true, err
	}
	_, err = s.TakeOver(ctx, claim, claim.Owner, waitUntil(ctx, until))
	return true, err
}
