// Package throwaway runs servers for tests: as an account that can do little, on a free port of the loopback interface, with
// their files in a temporary folder, and never longer than the test process. Packages pgtest and the like know what to run;
// this one only how. It needs nothing but the standard library and is of no use outside tests.
package throwaway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// Patience with a server that starts or stops.
const (
	StartTimeout = 60 * time.Second
	stopTimeout  = 20 * time.Second
)

// Dir makes a temporary folder that belongs to the account. The caller removes it.
func (a Account) Dir(pattern string) (string, error) {
	dir, err := os.MkdirTemp("", pattern)
	if err != nil {
		return "", err
	}
	if err := a.own(dir); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// Run runs a command to its end as the account. An error holds what it said.
func (a Account) Run(ctx context.Context, dir, name string, args ...string) error {
	return a.Feed(ctx, nil, dir, name, args...)
}

// Feed runs a command that reads input, like Run.
func (a Account) Feed(ctx context.Context, input io.Reader, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdin = dir, input
	a.become(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// Process is a running server.
type Process struct {
	// Ended is closed when the process has ended.
	Ended <-chan struct{}

	cmd  *exec.Cmd
	log  bytes.Buffer // written by the process until Ended
	stop func() error
}

// Start starts a server as the account. stop is the signal that ends it in an orderly way.
func (a Account) Start(dir string, stop os.Signal, name string, args ...string) (*Process, error) {
	p := &Process{cmd: exec.Command(name, args...)}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, &p.log, &p.log
	a.become(p.cmd)
	ended, err := startTied(p.cmd, stop)
	if err != nil {
		return nil, err
	}
	p.Ended = ended
	p.stop = sync.OnceValue(func() error { return p.end(stop) })
	return p, nil
}

// Stop ends the server and waits for that. It may be called more than once, and on one that has ended.
func (p *Process) Stop() error { return p.stop() }

// Signal sends the server a signal.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Log is what the server has said. It may be called only after the server has ended.
func (p *Process) Log() string { return p.log.String() }

func (p *Process) end(s os.Signal) error {
	name := filepath.Base(p.cmd.Path)
	if err := p.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", name, err)
	}
	select {
	case <-p.Ended:
		return nil
	case <-time.After(stopTimeout):
		err := p.cmd.Process.Kill()
		<-p.Ended
		return errors.Join(fmt.Errorf("%s did not stop and was killed", name), err)
	}
}

// Ready polls until the server is ready, has ended, or the patience is over. Where it is not ready it is stopped, and the error
// holds its log.
func (p *Process) Ready(ctx context.Context, ready func(context.Context) bool) error {
	err := p.await(ctx, ready)
	if err == nil {
		return nil
	}
	err = errors.Join(err, p.Stop())
	return fmt.Errorf("%w\nits log:\n%s", err, p.Log())
}

func (p *Process) await(ctx context.Context, ready func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, StartTimeout)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not get ready: %w", filepath.Base(p.cmd.Path), ctx.Err())
		case <-p.Ended:
			return fmt.Errorf("%s ended at once: %s", filepath.Base(p.cmd.Path), p.cmd.ProcessState)
		case <-poll.C:
			if ready(ctx) {
				return nil
			}
		}
	}
}

// FreePort asks the system for a port. Another process might take it before the server does; then starting fails.
func FreePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
