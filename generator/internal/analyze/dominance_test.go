package analyze_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/generator/internal/analyze"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// What a state tells about a row's past is, on random machines with cycles, what the definition says: that every path from an
// initial state to it passes through the other one.
func TestDominated(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		m := &model.Machine{States: []string{"a", "b", "c", "d", "e", "f"}[:2+random.IntN(5)]}
		for _, from := range m.States {
			for _, to := range m.States {
				if from != to && random.IntN(3) == 0 {
					m.Edges = append(m.Edges, model.Edge{From: from, To: to})
				}
			}
		}
		if random.IntN(2) == 0 {
			m.Default = m.States[random.IntN(len(m.States))]
		}
		for _, through := range m.States {
			var want []string
			for _, s := range m.States {
				if s != through && everyPath(m, s, through) {
					want = append(want, s)
				}
			}
			require.Equal(t, want, analyze.Dominated(m, through), "%v through %s", m.Edges, through)
		}
	}
}

// everyPath enumerates the paths without a loop.
func everyPath(m *model.Machine, state, through string) bool {
	reached, around := false, false
	var walk func(at string, path []string)
	walk = func(at string, path []string) {
		path = append(slices.Clone(path), at)
		if at == state {
			reached = true
			around = around || !slices.Contains(path, through)
		}
		for _, e := range m.Edges {
			if e.From == at && !slices.Contains(path, e.To) {
				walk(e.To, path)
			}
		}
	}
	for _, s := range begins(m) {
		walk(s, nil)
	}
	return reached && !around
}

// begins are the states that a row can be inserted in: those that nothing leads to, the first one where there is none, and the
// column's default.
func begins(m *model.Machine) []string {
	led := map[string]bool{}
	for _, e := range m.Edges {
		led[e.To] = true
	}
	out := slices.DeleteFunc(slices.Clone(m.States), func(s string) bool { return led[s] })
	if len(out) == 0 {
		out = append(out, m.States[0])
	}
	if m.Default != "" {
		out = append(out, m.Default)
	}
	return out
}

// A row that is inserted in a state of the middle, by the column's default, has no past: what is behind it is dominated by
// nothing before it.
func TestDefaultIsInitial(t *testing.T) {
	t.Parallel()
	m := &model.Machine{
		States: []string{"imported", "draft", "placed", "paid"},
		Edges:  []model.Edge{{From: "imported", To: "draft"}, {From: "draft", To: "placed"}, {From: "placed", To: "paid"}},
	}
	require.Equal(t, []string{"placed", "paid"}, analyze.Dominated(m, "draft"))
	require.Equal(t, []string{"draft", "placed", "paid"}, analyze.Dominated(m, "imported"))
	m.Default = "placed"
	require.Equal(t, []string{"imported", "placed"}, analyze.Initial(m))
	require.Empty(t, analyze.Dominated(m, "draft"))
	require.Equal(t, []string{"draft"}, analyze.Dominated(m, "imported"))
	require.Equal(t, []string{"paid"}, analyze.Dominated(m, "placed"))
}
