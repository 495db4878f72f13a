package e2e

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idemtest"
)

func guarantees(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/guarantees.md")
	require.NoError(t, err)
	return string(page)
}

var promiseRow = regexp.MustCompile(`(?m)^\| ([LT]?\d+) \|`)

// The matrix has a row for each promise of the page, or says where else it is held.
func TestConformance_HasEachPromise(t *testing.T) {
	t.Parallel()
	var page, suite []string
	for _, m := range promiseRow.FindAllStringSubmatch(guarantees(t), -1) {
		page = append(page, m[1])
	}
	var m idemtest.Matrix
	m.Expect("any")
	m.Cells(func(_, promise, _ string) { suite = append(suite, promise) })
	for number := range idemtest.Elsewhere() {
		suite = append(suite, number)
	}
	assert.ElementsMatch(t, page, suite)
}

// What cannot be tested on a driver is said on the page, with the reason that the matrix gives.
func TestConformance_ReasonsAreDocumented(t *testing.T) {
	t.Parallel()
	type reason struct {
		need idemtest.Need
		why  string
	}
	where := map[reason][]string{}
	for _, d := range drivers() {
		for need, why := range d.cannot() {
			where[reason{need, why}] = append(where[reason{need, why}], d.name)
		}
	}
	for need, why := range idemtest.InMemoryBackend(nil).Cannot {
		where[reason{need, why}] = append(where[reason{need, why}], "memory")
	}
	var want []string
	for r, names := range where {
		want = append(want, fmt.Sprintf("| %s | %s | %s |", r.need, strings.Join(names, ", "), r.why))
	}
	slices.Sort(want)

	_, table, found := strings.Cut(guarantees(t), "| the suite needs | missing on | because |\n|---|---|---|\n")
	require.True(t, found, "docs/guarantees.md has no table of what cannot be tested where")
	table, _, _ = strings.Cut(table, "\n\n")
	assert.Equal(t, strings.Join(want, "\n"), table)
}
