package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/testdata/e2e/kill"
)

var killOnly = flag.String("kill", "", "in TestKillMatrix, only the cells whose names contain this")

// cellsAtOnce is more than there are processors: most of a lease's cell is waiting for the leases of the dead.
const cellsAtOnce = 12

// A worker process is killed at each point of the engine, in every mode, on every engine, and another one goes on with what was
// not acknowledged. No effect is doubled, none is lost, and a repeat is told what the first was. The row of a transition is
// where its event has it, by one step.
func TestKillMatrix(t *testing.T) {
	t.Parallel()
	bin := buildWorker(t)
	points := listPoints(t, bin)
	cells := killCells(points)
	require.NotEmpty(t, cells)

	turn := make(chan struct{}, cellsAtOnce)
	var all sync.WaitGroup
	for _, c := range cells {
		dir := t.TempDir()
		all.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			c.err = c.run(ctx, bin, dir)
		})
	}
	all.Wait()

	for _, c := range cells {
		assert.NoError(t, c.err, c.name())
		assert.Equal(t, killsPerCell, c.kills, "%s: kills", c.name())
	}
	table := killTable(points, cells)
	fmt.Print(table)
	if name := os.Getenv(killsVariable); name != "" {
		require.NoError(t, os.WriteFile(name, []byte(table), 0o600))
	}
}

// killsVariable names a file that the matrix is written to, for who runs the tests: go test shows what a test prints only where
// one fails.
const killsVariable = "IDEMGEN_KILL_MATRIX"

// killCells are the cells of the matrix on the servers that are there.
func killCells(points []kill.Point) (cells []*killCell) {
	for _, p := range points {
		for _, e := range killEngines() {
			for _, mode := range killModes {
				c := &killCell{killEngine: e, point: p, mode: mode}
				if c.why() == "" && c.there() && strings.Contains(c.name(), *killOnly) {
					cells = append(cells, c)
				}
			}
		}
	}
	return cells
}

// why is the reason for there being no such cell; empty where there is one.
func (c *killCell) why() string {
	if why := c.point.Not[c.mode]; why != "" {
		return why
	}
	return c.point.Not[c.engine]
}

// there reports whether the cell's server is. TestMain says what was left out.
func (c *killCell) there() bool {
	return (!c.postgres || server != nil) && (!c.mysql || myServer != nil)
}

// killTable is the matrix: a row for each point, a column for each engine and mode.
func killTable(points []kill.Point, cells []*killCell) string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	var reasons []string
	kills, doubled, lost := 0, 0, 0
	for _, mode := range killModes {
		fmt.Fprintf(table, "killed in %s mode", mode)
		for _, e := range killEngines() {
			fmt.Fprintf(table, "\t%s", e.driver.name)
		}
		fmt.Fprintln(table)
		for _, p := range points {
			if p.Not[mode] != "" {
				continue
			}
			fmt.Fprint(table, p.Name)
			for _, e := range killEngines() {
				c := &killCell{killEngine: e, point: p, mode: mode}
				i := slices.IndexFunc(cells, func(ran *killCell) bool { return ran.name() == c.name() })
				switch why := c.why(); {
				case i >= 0:
					c = cells[i]
					kills, doubled, lost = kills+c.kills, doubled+c.doubled, lost+c.lost
					fmt.Fprintf(table, "\t%d kills, %d doubled, %d lost", c.kills, c.doubled, c.lost)
				case why != "":
					if !slices.Contains(reasons, why) {
						reasons = append(reasons, why)
					}
					fmt.Fprintf(table, "\tnone (%d)", slices.Index(reasons, why)+1)
				default:
					fmt.Fprint(table, "\tleft out")
				}
			}
			fmt.Fprintln(table)
		}
	}
	_ = table.Flush() // into memory
	for i, why := range reasons {
		fmt.Fprintf(&text, "(%d) %s\n", i+1, why)
	}
	fmt.Fprintf(&text, "kill matrix: %d cells, %d kills, %d doubled, %d lost\n", len(cells), kills, doubled, lost)
	return text.String()
}
