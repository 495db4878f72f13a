// Command testrun runs the tests of every module of the repository; it is what "make test" calls.
//
// What could not be tested is listed at the end, and it is a failure if IDEMGEN_REQUIRE (a comma-separated list) names
// it. Tests add to that list by appending "name: reason" to the file that IDEMGEN_LEFT_OUT names. The tests start the
// servers that they need (see testdata/e2e/pgtest); this command starts none. The matrix of promises and drivers, which the
// end-to-end tests write to the file that IDEMGEN_MATRIX names, is shown too.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

// run tests all modules and reports.
func run(ctx context.Context, out io.Writer) (err error) {
	list, err := newLeftOut()
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, list.remove()) }()

	cells, err := newMatrix()
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, cells.remove()) }()

	failed := testModules(ctx, []string{leftOutEnv + "=" + list.file, matrixEnv + "=" + cells.file, "GOWORK=off"}, out)
	merr := cells.print(out)
	if err := list.print(out); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d commands failed", failed, len(modules)*len(commands))
	}
	return errors.Join(merr, list.missing(os.Getenv(requireEnv)))
}

func firstError(err, then error) error {
	if err != nil {
		return err
	}
	return then
}
