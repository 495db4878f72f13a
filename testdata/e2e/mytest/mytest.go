// Package mytest provides a MariaDB or MySQL server for tests: the one that IDEMGEN_TEST_MYSQL names, or a throwaway MariaDB
// made with the mariadbd that is installed. It makes no databases; a test makes its own. The throwaway server trusts root on
// this machine and does not wait for its disk.
package mytest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/go-sql-driver/mysql"

	"github.com/idemgen/idemgen/testdata/e2e/throwaway"
)

// Variable is the environment variable that may hold the DSN of a server, of an account that may create databases and users.
const Variable = "IDEMGEN_TEST_MYSQL"

// ErrNotInstalled says that no server was named and that none can be started here.
var ErrNotInstalled = errors.New("no MariaDB: " + Variable + " is not set and mariadbd was not found")

// Server is a running server.
type Server struct {
	// DSN is a DSN of github.com/go-sql-driver/mysql, without a database.
	DSN string

	stop func() error
}

// Start gives the server that IDEMGEN_TEST_MYSQL names or starts one. It returns ErrNotInstalled where it can do neither.
// The caller calls Stop in the end.
func Start(ctx context.Context) (*Server, error) {
	if dsn := os.Getenv(Variable); dsn != "" {
		return &Server{DSN: dsn, stop: func() error { return nil }}, nil
	}
	mariadbd, share, err := find()
	if err != nil {
		return nil, err
	}
	account, err := throwaway.Unprivileged("mysql")
	if err != nil {
		return nil, err
	}
	dir, err := account.Dir("idemgen-mariadb")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	server, err := start(ctx, account, mariadbd, share, dir)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	stop := server.stop
	server.stop = sync.OnceValue(func() error { return errors.Join(stop(), remove()) })
	return server, nil
}

// Stop ends the server, if Start started it, and removes its files. It may be called more than once.
func (s *Server) Stop() error { return s.stop() }

// find returns the server and the folder of its SQL scripts. Debian keeps it out of many a PATH.
func find() (mariadbd, share string, err error) {
	for _, folder := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/libexec", "/opt/homebrew/bin") {
		path, err := exec.LookPath(filepath.Join(folder, "mariadbd"))
		if err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		prefix := filepath.Dir(filepath.Dir(path))
		for _, share := range []string{"share/mysql", "share/mariadb"} {
			share = filepath.Join(prefix, share)
			if _, err := os.Stat(filepath.Join(share, scripts[0])); err == nil {
				return path, share, nil
			}
		}
	}
	return "", "", ErrNotInstalled
}

// scripts make the server's own tables. It is what mariadb-install-db runs, which is a shell script that needs tools of the
// client's package.
var scripts = []string{"mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql"}

// bootstrap is the text of the scripts for an account root without a password, and without the lines for this host's name.
func bootstrap(share string) (io.Reader, error) {
	text := "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n"
	for _, script := range scripts {
		raw, err := os.ReadFile(filepath.Join(share, script))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(raw)) {
			if !strings.Contains(line, "@current_hostname") {
				text += line
			}
		}
	}
	return strings.NewReader(text), nil
}

func start(ctx context.Context, account throwaway.Account, mariadbd, share, dir string) (*Server, error) {
	common := []string{
		"--no-defaults", "--datadir=" + dir, "--lc-messages-dir=" + share,
		"--innodb-log-file-size=64M", "--innodb-flush-log-at-trx-commit=2", "--innodb-doublewrite=0",
	}
	script, err := bootstrap(share)
	if err != nil {
		return nil, err
	}
	if err := account.Feed(ctx, script, dir, mariadbd, append(common, "--bootstrap", "--enforce-storage-engine=")...); err != nil {
		return nil, err
	}
	port, err := throwaway.FreePort()
	if err != nil {
		return nil, err
	}
	process, err := account.Start(dir, syscall.SIGTERM, mariadbd, append(common,
		"--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", port), "--socket="+filepath.Join(dir, "socket"),
		"--pid-file="+filepath.Join(dir, "pid"), "--tmpdir="+dir, "--skip-name-resolve", "--max-connections=400",
		"--innodb-buffer-pool-size=128M", "--log-warnings=0")...)
	if err != nil {
		return nil, err
	}
	server := &Server{DSN: fmt.Sprintf("root@tcp(127.0.0.1:%d)/", port), stop: process.Stop}
	if err := process.Ready(ctx, server.ready); err != nil {
		return nil, err
	}
	return server, nil
}

// ready reports whether the server takes connections.
func (s *Server) ready(ctx context.Context) bool {
	config, err := mysql.ParseDSN(s.DSN)
	if err != nil {
		return false
	}
	config.Logger = &mysql.NopLogger{} // it is not ready often enough
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return false
	}
	db := sql.OpenDB(connector)
	err = db.PingContext(ctx)
	return errors.Join(err, db.Close()) == nil
}
