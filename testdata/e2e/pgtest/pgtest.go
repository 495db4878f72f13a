// Package pgtest provides a PostgreSQL server for tests: the one that IDEMGEN_TEST_POSTGRES names, or a throwaway
// cluster made with the initdb and postgres that are installed, on a free port of the loopback interface, with its files in
// a temporary folder. It makes no databases; a test makes its own. It needs nothing but the standard library and is
// of no use outside tests: the throwaway server trusts everybody and does not wait for its disk.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Variable is the environment variable that may hold the DSN of a server, of a role that may create databases.
const Variable = "IDEMGEN_TEST_POSTGRES"

// ErrNotInstalled says that no server was named and that none can be started here.
var ErrNotInstalled = errors.New("no PostgreSQL: " + Variable + " is not set and initdb was not found")

// Patience with a server that starts or stops.
const (
	startTimeout = 60 * time.Second
	stopTimeout  = 20 * time.Second
)

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
	account, err := unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "idemgen-postgres")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	if err := account.own(dir); err != nil {
		return nil, errors.Join(err, remove())
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "--pgdata", data, "--username=postgres", "--auth=trust",
		"--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	initdb.Dir = dir
	account.become(initdb)
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w\n%s", initdb, err, out), remove())
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
func startServer(ctx context.Context, account account, bin, data string) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	var log bytes.Buffer // read only after the server has ended
	postgres := exec.Command(filepath.Join(bin, "postgres"), "-D", data)
	for _, setting := range []string{
		"listen_addresses=127.0.0.1", fmt.Sprintf("port=%d", port), "unix_socket_directories=", "max_connections=300",
		"fsync=off", "full_page_writes=off", "log_min_messages=fatal", "deadlock_timeout=50ms",
	} {
		postgres.Args = append(postgres.Args, "-c", setting)
	}
	postgres.Dir, postgres.Stdout, postgres.Stderr = data, &log, &log
	account.become(postgres)
	ended, err := startTied(postgres)
	if err != nil {
		return nil, err
	}
	server := &Server{DSN: fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)}
	server.stop = func() error {
		if err := postgres.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) { // a fast shutdown
			return fmt.Errorf("stop PostgreSQL: %w", err)
		}
		select {
		case <-ended:
			return nil
		case <-time.After(stopTimeout):
			err := postgres.Process.Kill()
			<-ended
			return errors.Join(errors.New("PostgreSQL did not stop and was killed"), err)
		}
	}
	if err := waitReady(ctx, data, ended); err != nil {
		return nil, errors.Join(err, server.stop(), fmt.Errorf("PostgreSQL's log:\n%s", &log))
	}
	return server, nil
}

// waitReady polls the server's lock file, whose last line says when it takes connections.
func waitReady(ctx context.Context, data string, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL did not get ready: %w", ctx.Err())
		case err := <-ended:
			return fmt.Errorf("PostgreSQL ended at once: %w", err)
		case <-poll.C:
			lock, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
			if err == nil && strings.HasSuffix(strings.TrimSpace(string(lock)), "ready") {
				return nil
			}
		}
	}
}

// freePort asks the system for a port. Another process might take it before the server does; then starting fails.
func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
