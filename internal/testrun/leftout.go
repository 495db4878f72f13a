package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Variables that the tests and their runner share.
const (
	leftOutEnv = "IDEMGEN_LEFT_OUT"
	requireEnv = "IDEMGEN_REQUIRE"
)

// leftOut is the list of what could not be tested: a file, because tests of several processes append to it.
type leftOut struct{ file string }

func newLeftOut() (*leftOut, error) {
	f, err := os.CreateTemp("", "idemgen-left-out-")
	if err != nil {
		return nil, err
	}
	return &leftOut{f.Name()}, f.Close()
}

// lines returns each line once, sorted.
func (l *leftOut) lines() ([]string, error) {
	data, err := os.ReadFile(l.file)
	if err != nil {
		return nil, err
	}
	lines := strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' || r == '\r' })
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// print ends the run's output: it says what was left out, or that nothing was.
func (l *leftOut) print(out io.Writer) error {
	lines, err := l.lines()
	if err != nil {
		return err
	}
	text := "== left out: nothing\n"
	if len(lines) > 0 {
		text = "== left out:\n   " + strings.Join(lines, "\n   ") + "\n"
	}
	_, err = io.WriteString(out, text)
	return err
}

// missing is an error if something was left out that is required.
func (l *leftOut) missing(require string) error {
	lines, err := l.lines()
	if err != nil {
		return err
	}
	var faults []error
	for _, name := range strings.Split(require, ",") {
		name = strings.TrimSpace(name)
		if name != "" && slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, name+":") }) {
			faults = append(faults, fmt.Errorf("%s was left out, and %s asks for it", name, requireEnv))
		}
	}
	return errors.Join(faults...)
}

func (l *leftOut) remove() error { return os.Remove(l.file) }
