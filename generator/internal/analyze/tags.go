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
	if st == nil || len(seen) > maxDepth || contains(seen, self) {
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

// contains says that t is within itself: that it is among the types that it was found in, or one of ever larger instances.
func contains(seen []types.Type, t types.Type) bool {
	instances := 0
	for _, s := range seen {
		if types.Identical(s, t) {
			return true
		}
		if n, ok := types.Unalias(s).(*types.Named); ok && n.TypeArgs().Len() > 0 && n.Obj() == origin(t) {
			instances++
		}
	}
	return instances > maxNested
}

// maxNested is beyond what people write of one generic type in itself: Envelope[Envelope[T]].
const maxNested = 8

// origin is the declaration of a named type, or nil.
func origin(t types.Type) *types.TypeName {
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj()
	}
	return nil
}

// carries says that a tag can be reached from t through structs and pointers to them.
func (a *analyzer) carries(t types.Type) bool {
	s := search{a: a, visited: map[types.Type]bool{}}
	if s.finds(t) {
		return true
	}
	for t := range s.visited {
		a.untagged[t] = true
	}
	return false
}

// A search looks for a tag. What it visited without finding one has none, once the whole search has ended without.
type search struct {
	a       *analyzer
	visited map[types.Type]bool
	grown   growth
}

// finds looks for a tag below t.
func (s *search) finds(t types.Type) bool {
	st := structOf(t)
	if st == nil || s.visited[t] || s.a.untagged[t] || s.grown.tooFar(deref(t)) {
		return false
	}
	s.visited[t] = true
	for i := range st.NumFields() {
		v := st.Field(i)
		if _, ok := s.a.tag(v, st.Tag(i)); ok || s.finds(v.Type()) {
			return true
		}
	}
	return false
}
