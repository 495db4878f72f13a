// Command testrun runs the tests of every module of the repository; it is what "make test" calls.
//
// All modules share one PostgreSQL: the one that IDEMGEN_TEST_POSTGRES names (a DSN), else a throwaway cluster from the
// programs that are installed, else none. What could not be tested is listed at the end, and it is a failure if
// IDEMGEN_REQUIRE (a comma-separated list) names it. Tests add to that list by appending "name: reason" to the file
// that IDEMGEN_LEFT_OUT names.
package main

import (
	"context"
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

// run tests all modules and reports. The server and the temporary files are gone when it returns.
func run(ctx context.Context, out io.Writer) (err error) {
	list, err := newLeftOut()
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, list.remove()) }()

	env := []string{leftOutEnv + "=" + list.file, "GOWORK=off"}
	server, err := postgres(ctx, list, out)
	if err != nil {
		return err
	}
	if server != nil {
		defer func() { err = firstError(err, server.stop()) }()
		env = append(env, postgresEnv+"="+server.dsn)
	}
	failed := testModules(ctx, env, out)
	if err := list.print(out); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d commands failed", failed, len(modules)*len(commands))
	}
	return list.missing(os.Getenv(requireEnv))
}

func firstError(err, then error) error {
	if err != nil {
		return err
	}
	return then
}
