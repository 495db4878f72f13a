package idemtest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// Matrix is what held where: a row for each promise, a column for each driver. It is safe for concurrent use.
type Matrix struct {
	mu      sync.Mutex
	drivers []column
	cells   map[string]*cell // by driver and promise
}

// column is a driver's.
type column struct {
	name, leftOut string
}

// cell is what a promise came to on a driver.
type cell struct {
	Driver, Promise string

	mu      sync.Mutex
	failed  bool
	held    int      // scenarios
	reasons []string // of those that cannot be run
}

func (c *cell) ran() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held++
}

func (c *cell) cannot(n Need, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text := fmt.Sprintf("%s: %s", n, reason); !slices.Contains(c.reasons, text) {
		c.reasons = append(c.reasons, text)
		slices.Sort(c.reasons)
	}
}

// The states of a cell in Cells.
const (
	Holds   = "ok"
	Fails   = "FAILS"
	CanNot  = "cannot"
	Missing = "MISSING"
	LeftOut = "left out"
)

// state is the cell in one word. A nil cell is missing.
func (c *cell) state() string {
	switch {
	case c == nil:
		return Missing
	case c.failed:
		return Fails
	case c.held > 0:
		return Holds
	case len(c.reasons) > 0:
		return CanNot
	default: // filtered out by -run
		return Missing
	}
}

// Expect adds a driver's column. Its cells are missing until its tests have run.
func (m *Matrix) Expect(driver string) { m.expect(driver, "") }

// LeaveOut adds the column of a driver whose server is not there, and says why.
func (m *Matrix) LeaveOut(driver, why string) { m.expect(driver, why) }

func (m *Matrix) expect(driver, leftOut string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.drivers, func(c column) bool { return c.name == driver })
	if i < 0 {
		m.drivers = append(m.drivers, column{driver, leftOut})
	} else if leftOut != "" {
		m.drivers[i].leftOut = leftOut
	}
}

func (m *Matrix) add(c *cell, failed bool) {
	c.failed = failed
	if m == nil {
		return
	}
	m.Expect(c.Driver)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cells == nil {
		m.cells = map[string]*cell{}
	}
	m.cells[c.Driver+" "+c.Promise] = c
}

// Cells calls visit for each cell, column by column, with one of the states above.
func (m *Matrix) Cells(visit func(driver, promise, state string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range m.drivers {
		for _, p := range promises {
			state := m.cells[d.name+" "+p.number].state()
			if d.leftOut != "" {
				state = LeftOut
			}
			visit(d.name, p.number, state)
		}
	}
}

// Incomplete is an error if a cell failed or was not run, unless its driver was left out; or if there are none at all.
func (m *Matrix) Incomplete() error {
	var faults []error
	any := false
	m.Cells(func(driver, promise, state string) {
		any = true
		if state == Missing || state == Fails {
			faults = append(faults, fmt.Errorf("promise %s on %s: %s", promise, driver, state))
		}
	})
	if !any {
		return errors.New("the conformance suite has not run")
	}
	return errors.Join(faults...)
}

// Reasons are what cannot hold somewhere, and why: "need: reason", each once.
func (m *Matrix) Reasons() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for _, c := range m.cells {
		all = append(all, c.reasons...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Write writes the matrix as a table, with the reasons below it. A number behind a cell says that some of its scenarios
// cannot be run there, or none, and why. Without a column it writes nothing.
func (m *Matrix) Write(w io.Writer) error {
	reasons := m.Reasons()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.drivers) == 0 {
		return nil
	}
	rows := [][]string{{"promise"}}
	for _, d := range m.drivers {
		rows[0] = append(rows[0], d.name)
	}
	for _, p := range promises {
		line := []string{p.number + " " + p.words}
		for _, d := range m.drivers {
			line = append(line, m.text(d, p, reasons))
		}
		rows = append(rows, line)
	}
	var out strings.Builder
	for _, line := range rows {
		for i, text := range line {
			width := 0
			for _, other := range rows {
				width = max(width, len(other[i]))
			}
			if i == len(line)-1 {
				width = 0
			}
			fmt.Fprintf(&out, "%-*s  ", width, text)
		}
		out.WriteString("\n")
	}
	for i, reason := range reasons {
		fmt.Fprintf(&out, "[%d] %s\n", i+1, reason)
	}
	for _, d := range m.drivers {
		if d.leftOut != "" {
			fmt.Fprintf(&out, "%s is left out: %s\n", d.name, d.leftOut)
		}
	}
	lines := strings.Split(out.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n"))
	return err
}

// text is a cell of the table. m.mu is held.
func (m *Matrix) text(d column, p promise, reasons []string) string {
	if d.leftOut != "" {
		return LeftOut
	}
	c := m.cells[d.name+" "+p.number]
	text := c.state()
	if c == nil {
		return text
	}
	for _, reason := range c.reasons {
		text += fmt.Sprintf(" [%d]", slices.Index(reasons, reason)+1)
	}
	return text
}
