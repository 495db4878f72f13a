package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/idemgen/idemgen/testdata/e2e/bouncer"
	"github.com/idemgen/idemgen/testdata/e2e/pgtest"
)

// server is the PostgreSQL of all tests, and pooler a PgBouncer in front of it; nil where there is none.
var (
	server *pgtest.Server
	pooler *bouncer.Server
)

// poolerSize is few: who waits for a rival and who holds its transaction open have a connection each, and the next in the crowd
// gets one that another client had a moment ago.
const poolerSize = 3

// The environment of a run; see package pgtest for the server's.
const (
	requireVariable = "IDEMGEN_REQUIRE"  // what must not be left out, with commas
	leftOutVariable = "IDEMGEN_LEFT_OUT" // a file to add a line to for what was left out
	workerVariable  = "IDEMGEN_E2E_WORKER"
)

func TestMain(m *testing.M) {
	if job := os.Getenv(workerVariable); job != "" {
		os.Exit(work(job))
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	ctx := context.Background()
	missing := map[string]error{}
	var err error
	server, err = pgtest.Start(ctx)
	if err != nil && !errors.Is(err, pgtest.ErrNotInstalled) {
		fmt.Fprintln(os.Stderr, "PostgreSQL does not start:", err)
		return 1
	}
	if err != nil {
		missing["postgres"], missing["pgbouncer"] = err, err
	} else if pooler, err = bouncer.Start(ctx, server.DSN, poolerSize); err != nil {
		missing["pgbouncer"] = err
	}
	for _, d := range drivers() {
		if d.missing != "" {
			missing[d.name] = errors.New(d.missing)
		}
	}
	code := 0
	if err := missing["pgbouncer"]; err != nil && !errors.Is(err, bouncer.ErrNotInstalled) && server != nil {
		fmt.Fprintln(os.Stderr, "PgBouncer does not start:", err)
		code = 1
	} else {
		code = m.Run()
	}
	if err := errors.Join(stopServers(), leaveAllOut(missing)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines left behind:", err)
			return 1
		}
	}
	return code
}

// stopServers stops what the run has started.
func stopServers() (err error) {
	if pooler != nil {
		err = pooler.Stop()
	}
	if server != nil {
		err = errors.Join(err, server.Stop())
	}
	return err
}

// leaveAllOut says of each thing that the run did without it.
func leaveAllOut(missing map[string]error) (err error) {
	for _, what := range slices.Sorted(maps.Keys(missing)) {
		err = errors.Join(err, leaveOut(what, missing[what]))
	}
	return err
}

// leaveOut says what the run did without, in a line that begins with its name. It is an error where that was required.
func leaveOut(what string, why error) error {
	line := fmt.Sprintf("%s: all its tests in testdata/e2e (%v)", what, why)
	fmt.Println("left out:", line)
	if file := os.Getenv(leftOutVariable); file != "" {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(f, line)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	if slices.Contains(strings.Split(os.Getenv(requireVariable), ","), what) {
		return fmt.Errorf("%s is required by %s and was left out", what, requireVariable)
	}
	return nil
}
