package analyze

import (
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/directive"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// A machine is a state machine under analysis.
type machine struct {
	*model.Machine
	said   directive.ColumnRef       // the column as the first directive spells it
	states map[string]token.Position // where each is named first
	typ    *types.TypeName           // whose constants are the states; nil for none
	typPos token.Position            // of the directive that stands on it
}

// addStates takes one //idem:states: the lines about one column add up.
func (s *scan) addStates(d directive.Placed) {
	c := d.Change.Column
	i := slices.IndexFunc(s.machines, func(m *machine) bool { return m.Text() == c.String() })
	if i < 0 {
		i = len(s.machines)
		s.machines = append(s.machines, &machine{
			Machine: &model.Machine{Pos: d.Pos, Schema: c.Schema, Table: c.Table, Column: c.Column},
			said:    c,
			states:  map[string]token.Position{},
		})
	}
	m := s.machines[i]
	for n, step := range d.Change.Steps {
		for _, state := range step {
			if _, known := m.states[state.Name]; !known {
				m.states[state.Name] = state.Pos
				m.States = append(m.States, state.Name)
			}
			if n == 0 {
				continue
			}
			for _, from := range d.Change.Steps[n-1] {
				m.addEdge(s, model.Edge{From: from.Name, To: state.Name, Pos: state.Pos})
			}
		}
	}
	if d.Type != nil {
		s.setStatesType(m, d)
	}
}

func (m *machine) addEdge(s *scan, e model.Edge) {
	for _, there := range m.Edges {
		if there.From == e.From && there.To == e.To {
			s.a.diags.Add(e.Pos, codeStatesTwice, "remove one of the two", "%s -> %s is there already, at %s", e.From, e.To, at(there.Pos))
			return
		}
	}
	m.Edges = append(m.Edges, e)
}

// setStatesType takes the type that a directive stands on: a named string type.
func (s *scan) setStatesType(m *machine, d directive.Placed) {
	name, ok := s.Info.Defs[d.Type.Name].(*types.TypeName)
	if !ok {
		return
	}
	basic, isBasic := name.Type().Underlying().(*types.Basic)
	switch {
	case name.IsAlias() || !isBasic || basic.Info()&types.IsString == 0:
		s.a.diags.Add(s.a.position(name.Pos()), codeStatesType, "define it as type "+name.Name()+" string; or put the directive at the top level, apart from every type",
			"%s is no named string type, and its constants cannot be the states of %s", name.Name(), m.Text())
	case m.typ != nil && m.typ != name:
		s.a.diags.Add(d.Pos, codeStatesTwice, "keep one of the two types", "the states of %s are the constants of %s already, at %s", m.Text(), m.typ.Name(), at(m.typPos))
	default:
		m.typ, m.typPos = name, d.Pos
	}
}

// checkConstants compares the machines with the constants of their types: every constant is in the machine, and every state
// is a constant.
func (s *scan) checkConstants() {
	for _, m := range s.machines {
		s.out.Machines = append(s.out.Machines, m.Machine)
		if m.typ == nil {
			continue
		}
		byValue := map[string]*types.Const{}
		for _, name := range s.Types.Scope().Names() {
			c, ok := s.Types.Scope().Lookup(name).(*types.Const)
			if !ok || !types.Identical(c.Type(), m.typ.Type()) || c.Val().Kind() != constant.String {
				continue
			}
			value := constant.StringVal(c.Val())
			byValue[value] = c
			if _, known := m.states[value]; !known && value != "" {
				s.a.diags.Add(s.a.position(c.Pos()), codeStatesConstant, didYouMeanState(value, m.States, "add it to an //idem:states "+m.Text()+", or remove the constant"),
					"%s is %q, and the machine of %s at %s has no such state", c.Name(), value, m.Text(), at(m.Pos))
			}
		}
		for _, state := range m.States {
			if byValue[state] == nil {
				var values []string
				for v := range byValue {
					values = append(values, v)
				}
				slices.Sort(values)
				s.a.diags.Add(m.states[state], codeStatesMissing, didYouMeanState(state, values, "declare a constant of "+m.typ.Name()+" for it"),
					"no constant of %s is %q", m.typ.Name(), state)
			}
		}
	}
}

// didYouMeanState is the mend for a state that is not there.
func didYouMeanState(state string, there []string, otherwise string) string {
	if near := directive.Nearest(state, there); near != "" {
		return "did you mean " + near + "?"
	}
	return otherwise
}

// machineOf is the machine of a transition's column, or nil.
func (s *scan) machineOf(t *model.Transition) *machine {
	for _, m := range s.machines {
		if m.Schema == t.Schema && m.Table == t.Table && m.Column == t.Column {
			return m
		}
	}
	return nil
}

// inMachine holds a transition against the machine of its column, and says what a row's state tells about its past.
func (h *handler) inMachine() {
	t := h.Transition
	t.Past = []string{t.To}
	m := h.s.machineOf(t)
	if m == nil {
		return
	}
	good := true
	for i, from := range t.From {
		if slices.ContainsFunc(m.Edges, func(e model.Edge) bool { return e.From == from && e.To == t.To }) {
			continue
		}
		good = false
		state := h.change.Change.Steps[0][i]
		mend := "add it to an //idem:states, if the change is allowed"
		switch {
		case !slices.Contains(m.States, from):
			mend = didYouMeanState(from, m.States, mend)
		case !slices.Contains(m.States, t.To):
			state = h.change.Change.Steps[1][0]
			mend = didYouMeanState(t.To, m.States, mend)
		default:
			if to := m.after(from); len(to) > 0 {
				mend += "; from " + from + " there are: " + strings.Join(to, ", ")
			}
		}
		h.fail(state.Pos, codeNoEdge, mend, "%s -> %s is no arrow of the machine of %s at %s", from, t.To, m.Text(), at(m.Pos))
	}
	if good {
		t.Past = append(t.Past, Dominated(m.Machine, t.To)...)
		t.Again = slices.Contains(Again(m.Machine), t.To)
	}
}

// after are the states that an arrow leads to from a state.
func (m *machine) after(state string) []string {
	var out []string
	for _, e := range m.Edges {
		if e.From == state {
			out = append(out, e.To)
		}
	}
	return out
}

// Initial are the states that rows begin in: those that no arrow leads to, or, where arrows lead to all of them, the first
// that is named; and the one that the column has by default.
func Initial(m *model.Machine) []string {
	var out []string
	for _, s := range m.States {
		if !slices.ContainsFunc(m.Edges, func(e model.Edge) bool { return e.To == s }) {
			out = append(out, s)
		}
	}
	if len(out) == 0 && len(m.States) > 0 {
		out = []string{m.States[0]}
	}
	if m.Default != "" && !slices.Contains(out, m.Default) {
		out = append(out, m.Default)
	}
	return out
}

// Reached are the states that can be reached from the initial ones without passing through one, itself included where it
// can be entered; avoid is empty for no such condition.
func Reached(m *model.Machine, avoid string) map[string]bool {
	reached := map[string]bool{}
	var visit func(string)
	visit = func(s string) {
		if s == avoid || reached[s] {
			return
		}
		reached[s] = true
		for _, e := range m.Edges {
			if e.From == s {
				visit(e.To)
			}
		}
	}
	for _, s := range Initial(m) {
		visit(s)
	}
	return reached
}

// Again are the states that a row can come back to, in order.
func Again(m *model.Machine) []string {
	var out []string
	for _, s := range m.States {
		seen := map[string]bool{}
		var visit func(string)
		visit = func(at string) {
			for _, e := range m.Edges {
				if e.From == at && !seen[e.To] {
					seen[e.To] = true
					visit(e.To)
				}
			}
		}
		if visit(s); seen[s] {
			out = append(out, s)
		}
	}
	return out
}

// Dominated are the states, besides a state itself, that no row comes to from an initial state but through that state, in
// order. A state that no row comes to at all is not among them.
func Dominated(m *model.Machine, state string) []string {
	all, without := Reached(m, ""), Reached(m, state)
	var out []string
	for _, s := range m.States {
		if s != state && all[s] && !without[s] {
			out = append(out, s)
		}
	}
	return out
}

// checkIdleMachines reports machines that no transition of the package is about: whoever wrote one believes that it is
// heeded.
func (s *scan) checkIdleMachines() {
	for _, m := range s.machines {
		if !slices.ContainsFunc(s.handlers, func(h *handler) bool { return h.Transition != nil && s.about(h.change.Change.Column, m) }) {
			s.a.diags.Add(m.Pos, codeStatesIdle, "write it in the package whose //idem:transition directives are about "+m.Text()+", spelled as there; or remove it",
				"no transition of package %s is about %s", s.Name, m.Text())
		}
	}
}
