// Package pgtest provides a PostgreSQL server for tests: the one that IDEMGEN_TEST_POSTGRES names, or a throwaway
// cluster made with the initdb and postgres that are installed. It makes no databases; a test makes its own. The throwaway
// server trusts everybody and does not wait for its disk. A test that ends its server under its clients, or wants a standby, makes
// a [Cluster] of its own.
package pgtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	c, err := newCluster(ctx, bin, Settings{"fsync": "off", "full_page_writes": "off"})
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return &Server{DSN: c.DSN, stop: sync.OnceValue(c.Remove)}, nil
}

// ready looks into the server's lock file, whose last line says when it takes connections.
func ready(data string) bool {
	lock, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	return err == nil && strings.HasSuffix(strings.TrimSpace(string(lock)), "ready")
}
