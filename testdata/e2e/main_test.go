package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
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
	code := 1
	missing, err := startServers(context.Background())
	if err == nil {
		code = m.Run()
	}
	if err := errors.Join(err, stopServers(), leaveAllOut(missing)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	if err := reportMatrix(); err != nil {
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
