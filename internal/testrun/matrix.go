package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// matrixEnv names a file that the end-to-end tests write the matrix of promises and drivers to. They fail if a cell of it is
// missing; go test does not show what a test prints that passes.
const matrixEnv = "IDEMGEN_MATRIX"

// matrix is that file.
type matrix struct{ file string }

func newMatrix() (*matrix, error) {
	f, err := os.CreateTemp("", "idemgen-matrix-")
	if err != nil {
		return nil, err
	}
	return &matrix{f.Name()}, f.Close()
}

var errNoMatrix = errors.New("the conformance suite has left no matrix")

// print shows the matrix. There has to be one.
func (m *matrix) print(out io.Writer) error {
	data, err := os.ReadFile(m.file)
	if err != nil {
		return err
	}
	if len(data) == 0 {
		return errNoMatrix
	}
	_, err = fmt.Fprintf(out, "== what each driver holds, by docs/guarantees.md:\n%s", data)
	return err
}

func (m *matrix) remove() error { return os.Remove(m.file) }
