package pgtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/idemgen/idemgen/testdata/e2e/throwaway"
)

// Settings are values of the server's parameters.
type Settings map[string]string

// Cluster is a throwaway cluster, whose server can be ended and started again on the same port. Its methods are not for several
// goroutines at once.
type Cluster struct {
	// DSN is where the server listens while it runs.
	DSN string

	account  throwaway.Account
	bin, dir string
	port     int
	settings Settings
	process  *throwaway.Process // nil while it does not run
}

// Installed returns ErrNotInstalled where there are no programs to make a cluster with.
func Installed() error {
	_, err := findBinaries()
	return err
}

// NewCluster makes a cluster with the programs that are installed and returns ErrNotInstalled where there are none. Its server
// does not run yet. The caller calls Remove in the end.
func NewCluster(ctx context.Context, settings Settings) (*Cluster, error) {
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	return newCluster(ctx, bin, settings)
}

func newCluster(ctx context.Context, bin string, settings Settings) (*Cluster, error) {
	c, err := emptyCluster(bin, settings)
	if err != nil {
		return nil, err
	}
	if err := c.account.Run(ctx, c.dir, filepath.Join(bin, "initdb"), "--pgdata", c.data(), "--username=postgres", "--auth=trust",
		"--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"); err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return c, nil
}

// emptyCluster is a cluster without files.
func emptyCluster(bin string, settings Settings) (*Cluster, error) {
	account, err := throwaway.Unprivileged("postgres")
	if err != nil {
		return nil, err
	}
	port, err := throwaway.FreePort()
	if err != nil {
		return nil, err
	}
	dir, err := account.Dir("idemgen-postgres")
	if err != nil {
		return nil, err
	}
	return &Cluster{
		DSN:     fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port),
		account: account, bin: bin, dir: dir, port: port, settings: settings,
	}, nil
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// Start starts the server and returns when it takes connections.
func (c *Cluster) Start(ctx context.Context) error {
	settings := Settings{
		"listen_addresses": "127.0.0.1", "port": strconv.Itoa(c.port), "unix_socket_directories": "", "max_connections": "300",
		"log_min_messages": "fatal", "deadlock_timeout": "50ms",
	}
	maps.Copy(settings, c.settings)
	args := []string{"-D", c.data()}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	process, err := c.account.Start(c.data(), os.Interrupt, filepath.Join(c.bin, "postgres"), args...) // a fast shutdown
	if err != nil {
		return err
	}
	if err := process.Ready(ctx, func(context.Context) bool { return ready(c.data()) }); err != nil {
		return err
	}
	c.process = process
	return nil
}

// Stop ends the server, whose clients are told to go, and waits for that.
func (c *Cluster) Stop() error {
	if c.process == nil {
		return nil
	}
	err := c.process.Stop()
	c.process = nil
	return err
}

// Crash ends the server as "pg_ctl -m immediate" does, without a word to anybody. It recovers when it starts.
func (c *Cluster) Crash() error {
	if err := c.process.Signal(syscall.SIGQUIT); err != nil {
		return err
	}
	<-c.process.Ended
	return c.Stop()
}

// Remove ends the server and removes the cluster.
func (c *Cluster) Remove() error { return errors.Join(c.Stop(), os.RemoveAll(c.dir)) }

// Standby makes a physical standby of the running server, which does not run yet. The caller removes it.
func (c *Cluster) Standby(ctx context.Context) (*Cluster, error) {
	s, err := emptyCluster(c.bin, c.settings)
	if err != nil {
		return nil, err
	}
	if err := c.account.Run(ctx, s.dir, filepath.Join(c.bin, "pg_basebackup"), "--pgdata", s.data(), "--write-recovery-conf",
		"--checkpoint=fast", "--no-sync", "--host=127.0.0.1", "--port", strconv.Itoa(c.port), "--username=postgres"); err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	return s, nil
}
