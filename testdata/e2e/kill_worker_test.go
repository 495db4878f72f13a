package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/testdata/e2e/kill"
)

// buildWorker builds the worker of the kill matrix with its points.
func buildWorker(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "worker.exe") // the ending is for Windows, and harmless elsewhere
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", kill.Tag, "-o", bin, "./kill/worker")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return bin
}

// listPoints are the points of the engine, as the worker has them.
func listPoints(t *testing.T, bin string) (points []kill.Point) {
	t.Helper()
	list := exec.CommandContext(t.Context(), bin)
	list.Env = append(os.Environ(), kill.Variable+"="+kill.Listing)
	out, err := list.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &points))
	require.NotEmpty(t, points)
	return points
}

// process is a worker process, from the queue's side.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string // what it says; closed at its end
	stderr bytes.Buffer
}

// start starts a worker that is to stop at a point; at none for "".
func start(ctx context.Context, bin, point string, job kill.Job) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, bin), lines: make(chan string)}
	p.cmd.Env = append(os.Environ(), kill.Variable+"="+point)
	p.cmd.Stderr = &p.stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.lines)
		// Whatever ends the reading ends the process's part in the test.
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	if err := p.write(job); err != nil {
		return nil, errors.Join(err, p.kill(nil))
	}
	return p, nil
}

// write says something to the worker.
func (p *process) write(v any) error { return json.NewEncoder(p.in).Encode(v) }

// kill kills the worker, and hands what it has said before to seen.
func (p *process) kill(seen func(line string)) error {
	err := p.cmd.Process.Kill()
	for line := range p.lines {
		if seen != nil {
			seen(line)
		}
	}
	var exit *exec.ExitError
	if werr := p.cmd.Wait(); !errors.As(werr, &exit) || exit.Exited() {
		err = errors.Join(err, fmt.Errorf("it was not killed: %v\n%s", werr, p.stderr.String()))
	}
	return err
}

// end has the worker end, for it has nothing left to do.
func (p *process) end() error {
	err := p.in.Close()
	for line := range p.lines {
		err = errors.Join(err, fmt.Errorf("it said after its last answer: %s", line))
	}
	return errors.Join(err, p.died())
}

// died is the error of a worker that has ended by itself; nil if that was in order.
func (p *process) died() error {
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the worker ended: %w\n%s", err, p.stderr.String())
	}
	return nil
}

// at is the point that a line says the worker is at.
func at(line string) (point string, ok bool) { return strings.CutPrefix(line, kill.AtPoint) }
