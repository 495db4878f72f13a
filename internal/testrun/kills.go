package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// killsEnv names a file that the end-to-end tests write the kill matrix to: go test does not show what a test prints that
// passes.
const killsEnv = "IDEMGEN_KILL_MATRIX"

// kills is that file.
type kills struct{ file string }

func newKills() (*kills, error) {
	f, err := os.CreateTemp("", "idemgen-kill-matrix-")
	if err != nil {
		return nil, err
	}
	return &kills{f.Name()}, f.Close()
}

var errNoKills = errors.New("the end-to-end tests have left no kill matrix")

// print shows the matrix and removes the file. There has to be one.
func (k *kills) print(out io.Writer) error {
	data, err := os.ReadFile(k.file)
	if err := errors.Join(err, os.Remove(k.file)); err != nil {
		return err
	}
	if len(data) == 0 {
		return errNoKills
	}
	_, err = fmt.Fprintf(out, "== what became of workers that were killed:\n%s", data)
	return err
}
