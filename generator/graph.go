package generator

import (
	"go/token"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/analyze"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// Graph is the states of one column and the changes that there are: what //idem:states says, and, for a column of which that
// says nothing, what the transitions do.
type Graph struct {
	Package string // import path
	Column  string // "orders.status"
	States  []string
	Edges   []GraphEdge
	// Initial are the states that rows begin in, Final those that no change leads out of, Unreachable those that no way leads
	// to from an initial one.
	// Again are those that a row can come back to: there an event for a second time that comes too early is taken for a repeat of
	// the first, unless the handler has a key.
	Initial, Final, Unreachable, Again []string
	// Declared says that //idem:states says it.
	Declared bool
	Pos      token.Position // of the first directive; its Filename is absolute
}

// GraphEdge is a change of state, and the handlers that make it.
type GraphEdge struct {
	From, To string
	Handlers []string // "Service.Confirm"; none where no transition does
}

// graphs are the graphs of a program, by package and position.
func graphs(program *model.Program) []Graph {
	var out []Graph
	for _, p := range program.Packages {
		for _, m := range machines(p) {
			out = append(out, graph(p, m))
		}
	}
	return out
}

// machines are a package's machines, and one for each further column that transitions are about.
func machines(p *model.Package) []*model.Machine {
	all := slices.Clone(p.Machines)
	eachTransition(p, func(_ *model.Handler, t *model.Transition) {
		i := slices.IndexFunc(all, func(m *model.Machine) bool { return m.Text() == t.Text() })
		if i >= 0 && slices.Contains(p.Machines, all[i]) {
			return
		}
		if i < 0 {
			i = len(all)
			all = append(all, &model.Machine{Pos: t.Pos, Schema: t.Schema, Table: t.Table, Column: t.Column})
		}
		m := all[i]
		for _, from := range t.From {
			m.Edges = append(m.Edges, model.Edge{From: from, To: t.To})
			for _, s := range []string{from, t.To} {
				if !slices.Contains(m.States, s) {
					m.States = append(m.States, s)
				}
			}
		}
	})
	return all
}

func eachTransition(p *model.Package, do func(*model.Handler, *model.Transition)) {
	for _, g := range p.Groups {
		for _, h := range g.Handlers {
			if h.Transition != nil {
				do(h, h.Transition)
			}
		}
	}
}

func graph(p *model.Package, m *model.Machine) Graph {
	g := Graph{
		Package: p.Path, Column: m.Text(), States: m.States, Initial: analyze.Initial(m), Again: analyze.Again(m),
		Declared: slices.Contains(p.Machines, m), Pos: m.Pos,
	}
	for _, e := range m.Edges {
		if slices.ContainsFunc(g.Edges, func(o GraphEdge) bool { return o.From == e.From && o.To == e.To }) {
			continue
		}
		edge := GraphEdge{From: e.From, To: e.To}
		eachTransition(p, func(h *model.Handler, t *model.Transition) {
			if t.Text() == m.Text() && t.To == e.To && slices.Contains(t.From, e.From) {
				edge.Handlers = append(edge.Handlers, h.Source)
			}
		})
		g.Edges = append(g.Edges, edge)
	}
	reached := analyze.Reached(m, "")
	for _, s := range m.States {
		if !reached[s] {
			g.Unreachable = append(g.Unreachable, s)
		}
		if !slices.ContainsFunc(m.Edges, func(e model.Edge) bool { return e.From == s }) {
			g.Final = append(g.Final, s)
		}
	}
	return g
}

// change is a transition in a list: "orders.status pending|confirmed -> cancelled".
func change(t *model.Transition) string {
	return t.Text() + " " + strings.Join(t.From, "|") + " -> " + t.To
}

// rowOf is the columns that say which row a transition is about.
func rowOf(t *model.Transition) string {
	var out []string
	for _, v := range t.Row {
		out = append(out, v.Column+":"+v.Path)
	}
	return strings.Join(out, ",")
}
