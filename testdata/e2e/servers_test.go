package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/testdata/e2e/bouncer"
	"github.com/idemgen/idemgen/testdata/e2e/mytest"
	"github.com/idemgen/idemgen/testdata/e2e/pgtest"
)

// server is the PostgreSQL of all tests, pooler a PgBouncer in front of it, and myServer the MariaDB; nil where there is none.
var (
	server   *pgtest.Server
	pooler   *bouncer.Server
	myServer *mytest.Server
)

// clusters says why tests cannot have a PostgreSQL of their own; nil if they can.
var clusters = pgtest.Installed()

// poolerSize is few: who waits for a rival and who holds its transaction open have a connection each, and the next in the crowd
// gets one that another client had a moment ago.
const poolerSize = 3

// startServers starts what is installed. It returns the reason for each thing that the run has to do without; a server that is
// installed and does not start is an error.
func startServers(ctx context.Context) (missing map[string]error, err error) {
	missing = map[string]error{}
	for _, d := range drivers() {
		if d.missing != "" {
			missing[d.name] = errors.New(d.missing)
		}
	}
	if clusters != nil {
		missing["postgres-cluster"] = clusters
	}
	var failed error
	started := func(what string, err, notInstalled error) bool {
		switch {
		case err == nil:
			return true
		case errors.Is(err, notInstalled):
			missing[what] = err
		default:
			failed = errors.Join(failed, fmt.Errorf("%s does not start: %w", what, err))
		}
		return false
	}
	server, err = pgtest.Start(ctx)
	if started("postgres", err, pgtest.ErrNotInstalled) {
		pooler, err = bouncer.Start(ctx, server.DSN, poolerSize)
		started("pgbouncer", err, bouncer.ErrNotInstalled)
	} else {
		missing["pgbouncer"] = err
	}
	myServer, err = mytest.Start(ctx)
	started("mariadb", err, mytest.ErrNotInstalled)
	return missing, failed
}

// stopServers stops what the run has started.
func stopServers() (err error) {
	if pooler != nil {
		err = pooler.Stop()
	}
	if server != nil {
		err = errors.Join(err, server.Stop())
	}
	if myServer != nil {
		err = errors.Join(err, myServer.Stop())
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
