package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// server is the PostgreSQL of a run. One that somebody else runs has no process here and is not stopped.
type server struct {
	dsn  string
	dir  string // with the data and the log
	cmd  *exec.Cmd
	done chan error // the end of cmd
}

// settings make a cluster that is thrown away fast, and wide enough for tests in parallel.
var settings = []string{
	"fsync=off", "full_page_writes=off", "max_connections=400", "shared_buffers=128MB",
	"listen_addresses=127.0.0.1", "unix_socket_directories=",
}

const (
	startTimeout = time.Minute
	stopTimeout  = 20 * time.Second
	pollInterval = 50 * time.Millisecond
)

// postgres returns the server to test with; nil, and a line in list, where there is none.
func postgres(ctx context.Context, list *leftOut, out io.Writer) (*server, error) {
	if dsn := os.Getenv(postgresEnv); dsn != "" {
		return &server{dsn: dsn}, nil
	}
	bin, err := findPostgres()
	if err != nil {
		return nil, list.add("postgres", err.Error())
	}
	s, err := startPostgres(ctx, bin)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL of %s: %w", bin, err)
	}
	_, err = fmt.Fprintf(out, "== PostgreSQL of %s on a port of its own\n", bin)
	return s, err
}

// findPostgres returns the folder of initdb and postgres: of PATH, else the newest of where packages put it.
func findPostgres() (string, error) {
	if initdb, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(initdb), nil
	}
	newest, version := "", -1.0
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
	} {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		for _, dir := range dirs {
			parent := filepath.Base(filepath.Dir(dir))
			v, err := strconv.ParseFloat(parent[strings.LastIndexAny(parent, "-@")+1:], 64)
			if _, notThere := os.Stat(filepath.Join(dir, "initdb")); err == nil && notThere == nil && v > version {
				newest, version = dir, v
			}
		}
	}
	if newest == "" {
		return "", errors.New("neither " + postgresEnv + " nor an installed initdb")
	}
	return newest, nil
}

// startPostgres makes a cluster in a temporary folder and waits until it answers.
func startPostgres(ctx context.Context, bin string) (_ *server, err error) {
	s := &server{done: make(chan error, 1)}
	if s.dir, err = os.MkdirTemp("", "idemgen-postgres-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	password := rand.Text()
	passwordFile := filepath.Join(s.dir, "password")
	if err := os.WriteFile(passwordFile, []byte(password), 0o600); err != nil {
		return nil, err
	}
	if err := giveAway(s.dir, passwordFile); err != nil {
		return nil, err
	}
	data := filepath.Join(s.dir, "data")
	initdb := s.command(ctx, filepath.Join(bin, "initdb"), "--pgdata", data, "--username", "postgres",
		"--auth", "scram-sha-256", "--pwfile", passwordFile, "--encoding", "UTF8", "--no-sync")
	if output, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, output)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s.dsn = fmt.Sprintf("postgres://postgres:%s@127.0.0.1:%d/postgres?sslmode=disable", password, port)
	args := []string{"-D", data, "-p", strconv.Itoa(port)}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	if err := s.start(filepath.Join(bin, "postgres"), args); err != nil {
		return nil, err
	}
	return s, s.wait(ctx, filepath.Join(data, "postmaster.pid"))
}

// command is one that runs as the server's user, in a folder that this user can be in.
func (s *server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = unprivileged()
	return cmd
}

// start begins the server. It outlives ctx: only stop ends it, by its process.
func (s *server) start(name string, args []string) error {
	log, err := os.Create(s.log())
	if err != nil {
		return err
	}
	cmd := s.command(context.Background(), name, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := errors.Join(cmd.Start(), log.Close()); err != nil {
		return err
	}
	s.cmd = cmd
	go func() { s.done <- cmd.Wait() }()
	return nil
}

func (s *server) log() string { return filepath.Join(s.dir, "log") }

// wait returns when the server's pid file says that it is ready (its eighth line, for pg_ctl since version 10).
func (s *server) wait(ctx context.Context, pidFile string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, errors.New("not ready in time"))
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return s.withLog(context.Cause(ctx))
		case err := <-s.done:
			s.done <- err
			return s.withLog(fmt.Errorf("ended at once: %w", err))
		case <-tick.C:
		}
		data, err := os.ReadFile(pidFile)
		if lines := strings.Split(string(data), "\n"); err == nil && len(lines) > 7 && strings.TrimSpace(lines[7]) == "ready" {
			return nil
		}
	}
}

func (s *server) withLog(err error) error {
	text, readErr := os.ReadFile(s.log())
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	return fmt.Errorf("%w\n%s", err, text)
}

// stop ends the server and removes its folder.
func (s *server) stop() error {
	if s.dir == "" {
		return nil
	}
	var err error
	if s.cmd != nil {
		err = s.end()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// end asks for a fast shutdown, then kills.
func (s *server) end() error {
	if err := s.cmd.Process.Signal(fastShutdown()); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.done:
		return nil
	case <-time.After(stopTimeout):
	}
	err := s.cmd.Process.Kill()
	<-s.done
	return errors.Join(errors.New("PostgreSQL had to be killed"), err)
}

// fastShutdown is SIGINT, which Windows cannot send.
func fastShutdown() os.Signal {
	if runtime.GOOS == "windows" {
		return os.Kill
	}
	return os.Interrupt
}

func freePort() (port int, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
