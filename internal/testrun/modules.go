package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// modules are the folders of the modules under test, from the repository's root. Each is tested by itself, without the
// workspace, as its users see it.
var modules = []string{".", "runtime", "testdata/quickstart", "testdata/e2e"}

// commands are run in each of them. No result is taken from a cache, which does not know which servers are there.
var commands = [][]string{
	{"go", "vet", "./..."},
	{"go", "test", "-count=1", "-timeout", "20m", "./..."},
}

// testModules runs all commands in all modules, whatever fails, and returns how many did.
func testModules(ctx context.Context, env []string, out io.Writer) (failed int) {
	for _, module := range modules {
		for _, command := range commands {
			if ctx.Err() != nil {
				return failed
			}
			_, _ = fmt.Fprintf(out, "== %s: %s\n", module, strings.Join(command, " "))
			begin := time.Now()
			if err := inModule(ctx, module, command, env, out); err != nil {
				failed++
				_, _ = fmt.Fprintf(out, "== %s: %s: %v\n", module, strings.Join(command, " "), err)
				continue
			}
			_, _ = fmt.Fprintf(out, "== %s: ok in %s\n", module, time.Since(begin).Round(time.Second))
		}
	}
	return failed
}

func inModule(ctx context.Context, module string, command, env []string, out io.Writer) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = out, out
	// go test passes an interrupt on to the tests, which may have servers of their own to stop.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	return cmd.Run()
}
