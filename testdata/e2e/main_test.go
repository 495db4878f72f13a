package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/idemgen/idemgen/testdata/e2e/mytest"
	"github.com/idemgen/idemgen/testdata/e2e/pgtest"
)

// server is the PostgreSQL of all tests, and myServer the MariaDB; nil where there is none.
var (
	server   *pgtest.Server
	myServer *mytest.Server
)

// The environment of a run; see packages pgtest and mytest for the servers'.
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
	var postgres, mariadb error
	server, postgres = pgtest.Start(context.Background())
	myServer, mariadb = mytest.Start(context.Background())
	code := 1
	switch {
	case postgres != nil && !errors.Is(postgres, pgtest.ErrNotInstalled):
		fmt.Fprintln(os.Stderr, "PostgreSQL does not start:", postgres)
	case mariadb != nil && !errors.Is(mariadb, mytest.ErrNotInstalled):
		fmt.Fprintln(os.Stderr, "MariaDB does not start:", mariadb)
	default:
		code = m.Run()
	}
	var errs []error
	if server != nil {
		errs = append(errs, server.Stop())
	}
	if myServer != nil {
		errs = append(errs, myServer.Stop())
	}
	if code == 0 && server == nil {
		errs = append(errs, leaveOut("postgres", postgres))
	}
	if code == 0 && myServer == nil {
		errs = append(errs, leaveOut("mariadb", mariadb))
	}
	if err := errors.Join(errs...); err != nil {
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
