// Package bouncer provides a throwaway PgBouncer in transaction pooling for tests, in front of a PostgreSQL server that is there
// already. Whoever connects gets a transaction's time on one of a few connections to the server, as the user that the server's
// DSN names, and in the database that the client names.
package bouncer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/idemgen/idemgen/testdata/e2e/throwaway"
)

// ErrNotInstalled says that there is no pgbouncer here.
var ErrNotInstalled = errors.New("pgbouncer was not found")

// Server is a running PgBouncer.
type Server struct {
	// Host and Port are where clients connect to, without TLS.
	Host string
	Port uint16

	stop func() error
}

// Start starts a PgBouncer in front of the server of a DSN, with at most pool connections to it for each database. It returns
// ErrNotInstalled where there is none to start. The caller calls Stop in the end.
func Start(ctx context.Context, dsn string, pool int) (*Server, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}
	upstream, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	account, err := throwaway.Unprivileged("postgres")
	if err != nil {
		return nil, err
	}
	dir, err := account.Dir("idemgen-pgbouncer")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	port, err := throwaway.FreePort()
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	// The folder is the account's, and so is nobody else's to read: the file may hold a password.
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(config(upstream, port, pool)), 0o644); err != nil {
		return nil, errors.Join(err, remove())
	}
	process, err := account.Start(dir, syscall.SIGTERM, path, file) // an immediate shutdown
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	s := &Server{Host: "127.0.0.1", Port: uint16(port)}
	if err := process.Ready(ctx, s.listens); err != nil {
		return nil, errors.Join(err, remove())
	}
	s.stop = sync.OnceValue(func() error { return errors.Join(process.Stop(), remove()) })
	return s, nil
}

// Stop ends the PgBouncer and removes its files. It may be called more than once.
func (s *Server) Stop() error { return s.stop() }

func (s *Server) listens(ctx context.Context) bool {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(s.Host, strconv.Itoa(int(s.Port))))
	return err == nil && conn.Close() == nil
}

// find looks for the program. Debian keeps it in a folder that is in the PATH of few.
func find() (string, error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer", "/opt/homebrew/bin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNotInstalled
}

// config lets everybody in as the server's user. PgBouncer, "pgbouncer.ini".
func config(upstream *pgx.ConnConfig, port, pool int) string {
	target := fmt.Sprintf("host=%s port=%d user=%s", quoted(upstream.Host), upstream.Port, quoted(upstream.User))
	if upstream.Password != "" {
		target += " password=" + quoted(upstream.Password)
	}
	return strings.Join([]string{
		"[databases]",
		"* = " + target,
		"[pgbouncer]",
		"listen_addr = 127.0.0.1",
		"listen_port = " + strconv.Itoa(port),
		"unix_socket_dir =",
		"auth_type = any",
		"pool_mode = transaction",
		"default_pool_size = " + strconv.Itoa(pool),
		"max_client_conn = 1000",
		"max_db_connections = " + strconv.Itoa(pool),
		"ignore_startup_parameters = extra_float_digits",
		"",
	}, "\n")
}

// quoted is a value of a connection string.
func quoted(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }
