// Package pgtest provides a PostgreSQL server for tests: the one that IDEMGEN_TEST_POSTGRES names, or a throwaway
// cluster made with the initdb and postgres that are installed. It makes no databases; a test makes its own. The throwaway
// server trusts everybody and does not wait for its disk.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/idemgen/idemgen/testdata/e2e/throwaway"
)

// Variable is the environment variable that may hold the DSN of a server, of a role that may create databases.
const Variable = "IDEMGEN_TEST_POSTGRES"

// ErrNotInstalled says that no server was named and that none can be started here.
var ErrNotInstalled = errors.New("no PostgreSQL: " + Variable + " is not set and initdb was not found")

// Server is a running PostgreSQL.
type Server struct {
	// DSN is a URL or a keyword/value string, as libpq and pgx take them.
	DSN string

	stop func() error
}

// Start gives the server that IDEMGEN_TEST_POSTGRES names or starts one. It returns ErrNotInstalled where it can do
// neither. The caller calls Stop in the end.
func Start(ctx context.Context) (*Server, error) {
	if dsn := os.Getenv(Variable); dsn != "" {
		return &Server{DSN: dsn, stop: func() error { return nil }}, nil
	}
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	return startCluster(ctx, bin)
}

// Stop ends the server, if Start started it, and removes its files. It may be called more than once.
func (s *Server) Stop() error { return s.stop() }

// findBinaries returns the newest folder that holds both initdb and postgres. Debian keeps them out of PATH.
func findBinaries() (string, error) {
	folders := filepath.SplitList(os.Getenv("PATH"))
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		slices.SortFunc(found, func(a, b string) int { return newerFirst(a, b) })
		folders = append(folders, found...)
	}
	for _, folder := range folders {
		if initdb, err := exec.LookPath(filepath.Join(folder, "initdb")); err == nil {
			if real, err := filepath.EvalSymlinks(initdb); err == nil {
				folder = filepath.Dir(real)
			}
			if _, err := exec.LookPath(filepath.Join(folder, "postgres")); err == nil {
				return folder, nil
			}
		}
	}
	return "", ErrNotInstalled
}

// newerFirst orders folders by their version: "15" before "9.6".
func newerFirst(a, b string) int {
	if len(a) != len(b) {
		return len(b) - len(a)
	}
	return strings.Compare(b, a)
}

func startCluster(ctx context.Context, bin string) (*Server, error) {
	account, err := throwaway.Unprivileged("postgres")
	if err != nil {
		return nil, err
	}
	dir, err := account.Dir("idemgen-postgres")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	data := filepath.Join(dir, "data")
	if err := account.Run(ctx, dir, filepath.Join(bin, "initdb"), "--pgdata", data, "--username=postgres", "--auth=trust",
		"--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"); err != nil {
		return nil, errors.Join(err, remove())
	}
	server, err := startServer(ctx, account, bin, data)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	stop := server.stop
	server.stop = sync.OnceValue(func() error { return errors.Join(stop(), remove()) })
	return server, nil
}

// startServer starts the cluster's server and waits until it takes connections.
func startServer(ctx context.Context, account throwaway.Account, bin, data string) (*Server, error) {
	port, err := throwaway.FreePort()
	if err != nil {
		return nil, err
	}
	args := []string{"-D", data}
	for _, setting := range []string{
		"listen_addresses=127.0.0.1", fmt.Sprintf("port=%d", port), "unix_socket_directories=", "max_connections=300",
		"fsync=off", "full_page_writes=off", "log_min_messages=fatal", "deadlock_timeout=50ms",
	} {
		args = append(args, "-c", setting)
	}
	postgres, err := account.Start(data, os.Interrupt, filepath.Join(bin, "postgres"), args...) // a fast shutdown
	if err != nil {
		return nil, err
	}
	if err := postgres.Ready(ctx, func(context.Context) bool { return ready(data) }); err != nil {
		return nil, err
	}
	return &Server{DSN: fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port), stop: postgres.Stop}, nil
}

// ready looks into the server's lock file, whose last line says when it takes connections.
func ready(data string) bool {
	lock, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	return err == nil && strings.HasSuffix(strings.TrimSpace(string(lock)), "ready")
}
