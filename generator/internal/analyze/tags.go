package analyze

import (
	"go/types"
	"slices"

	"github.com/idemgen/idemgen/generator/internal/directive"
)

// A tagged is a field with an idem tag on the way from one of a handler's parameters.
type tagged struct {
	cursor
	tag directive.Tag
	// field is the tagged one, and name its name.
	field *types.Var
	name  string
	// local says that the tag stands in a file of the run, so that its position helps.
	local bool
}

// maxDepth bounds how deep structs are followed. It is beyond what people write, and ends types that grow for ever.
const maxDepth = 24

// walk collects the tagged fields below c in the order of the fields, through nested and embedded structs and pointers
// to them. A struct within itself (a parent, a next) is another thing than the message, and is not followed.
func (a *analyzer) walk(c cursor, seen []types.Type) []tagged {
	st := structOf(c.typ)
	self := deref(c.typ)
	if st == nil || len(seen) > maxDepth || slices.ContainsFunc(seen, func(t types.Type) bool { return types.Identical(t, self) }) {
		return nil
	}
	seen = append(slices.Clip(seen), self)
	var out []tagged
	for i := range st.NumFields() {
		v := st.Field(i)
		if tag, ok := a.tag(v, st.Tag(i)); ok {
			_, local := a.tags[v.Origin()]
			out = append(out, tagged{c.field(v), tag, v, v.Name(), local})
		} else if a.carries(v.Type()) {
			out = append(out, a.walk(c.field(v), seen)...)
		}
	}
	return out
}

// carries says that a tag can be reached from t through structs and pointers to them.
func (a *analyzer) carries(t types.Type) bool {
	visited := map[types.Type]bool{}
	if a.search(t, visited, 0) {
		return true
	}
	for t := range visited {
		a.untagged[t] = true
	}
	return false
}

// search looks for a tag below t. What it visited without finding one has none, once the whole search has ended without.
func (a *analyzer) search(t types.Type, visited map[types.Type]bool, depth int) bool {
	st := structOf(t)
	if st == nil || visited[t] || a.untagged[t] || depth > maxDepth {
		return false
	}
	visited[t] = true
	for i := range st.NumFields() {
		v := st.Field(i)
		if _, ok := a.tag(v, st.Tag(i)); ok || a.search(v.Type(), visited, depth+1) {
			return true
		}
	}
	return false
}
