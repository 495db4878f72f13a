package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// report is a table that the end-to-end tests write to a file: go test does not show what a test prints that passes.
type report struct {
	env   string // names the file to the tests
	title string
	file  string
}

// newReports makes the files of all reports.
func newReports() (all []report, err error) {
	for _, r := range []report{
		{env: "IDEMGEN_MATRIX", title: "what each driver holds, by docs/guarantees.md"},
		{env: "IDEMGEN_KILL_MATRIX", title: "what became of the events of workers that were killed"},
	} {
		f, ferr := os.CreateTemp("", "idemgen-report-")
		if ferr == nil {
			r.file, ferr = f.Name(), f.Close()
			all = append(all, r)
		}
		err = errors.Join(err, ferr)
	}
	return all, err
}

// print shows the report. There has to be one.
func (r report) print(out io.Writer) error {
	data, err := os.ReadFile(r.file)
	if err != nil {
		return err
	}
	if len(data) == 0 {
		return fmt.Errorf("the end-to-end tests have not written %s: %s", r.env, r.title)
	}
	_, err = fmt.Fprintf(out, "== %s:\n%s", r.title, data)
	return err
}

func (r report) remove() error { return os.Remove(r.file) }
