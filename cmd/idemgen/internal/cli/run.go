// Package cli is the idemgen command: it reads arguments, calls the generator, prints, and says with which code to
// exit. It decides nothing about handlers; that is package generator. Run is all that main and the scenarios call.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/idemgen/idemgen/generator"
)

// Exit codes.
const (
	exitOK      = 0
	exitDiffers = 1 // check: what is on disk is not what would be generated
	exitTrouble = 2 // diagnostics, bad usage, or anything that kept the command from its work
)

// errDiffers is what check ends with once it has printed the differences.
var errDiffers = errors.New("generated files differ")

// Run executes the command with args (without the program's name) and returns its exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdout: stdout, stderr: stderr}
	root := a.rootCommand()
	root.SetArgs(longFlags(args))
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return a.exitCode(root.ExecuteContext(ctx))
}

// app is one execution: its streams, and the flags as they were given.
type app struct {
	stdout, stderr io.Writer
	dir            string
	tags           string
	tests          bool
	json           bool
	dot            bool
}

// exitCode prints what is left to say about err and turns it into an exit code.
func (a *app) exitCode(err error) int {
	var diagnostics *generator.DiagnosticsError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errDiffers):
		return exitDiffers
	case errors.As(err, &diagnostics):
		err = a.printDiagnostics(diagnostics.Diagnostics)
		if err == nil {
			return exitTrouble
		}
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted; each file is either as it was or whole")
	}
	// Where stderr itself is broken, the exit code is all that is left to say.
	_, _ = fmt.Fprintf(a.stderr, "idemgen: %v\n", err)
	return exitTrouble
}

func (a *app) printDiagnostics(ds []generator.Diagnostic) error {
	dir, err := filepath.Abs(a.dir)
	if err != nil {
		return err
	}
	return generator.PrintDiagnostics(a.stderr, dir, ds)
}

// relative is a path as it is printed: relative to the working folder where it is below it, with slashes.
func (a *app) relative(path string) string {
	dir, err := filepath.Abs(a.dir)
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return filepath.ToSlash(path)
}
