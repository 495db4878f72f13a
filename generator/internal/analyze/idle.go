package analyze

import (
	"go/types"

	"github.com/idemgen/idemgen/generator/internal/directive"
)

// idleTags reports the tags that a handler's parameters hold and that no part of it comes from. Whoever wrote one takes
// the field for a part of the key, and without it two different events would pass for one. A field that is a part for
// some handler of the package may have its tag for that one.
func (s *scan) idleTags() {
	used := map[*types.Var]bool{}
	for _, h := range s.handlers {
		for _, v := range h.tagged {
			used[v.Origin()] = true
		}
	}
	for _, h := range s.handlers {
		if h.unresolved {
			continue
		}
		for _, i := range h.values() {
			t := h.Params[i].Type
			if _, isList := t.Underlying().(*types.Slice); isList && len(h.Key) == 0 {
				continue // a batch, which has been refused
			}
			path := h.Params[i].Name
			if structOf(t) != nil {
				path = s.typeText(deref(t))
			}
			for _, idle := range s.a.everyTag(t, path) {
				if !used[idle.field.Origin()] {
					h.idleTag(i, idle)
				}
			}
		}
	}
}

// idleTag reports one.
func (h *handler) idleTag(param int, found reached) {
	pos := h.paramPos(param)
	if local, ok := h.s.a.tags[found.field.Origin()]; ok {
		pos = local.tag.Pos
	}
	mend := "remove the tag"
	if h.Bare {
		found.why = "a transition without //idem:handler has no key, and knows a repeat by the row's state"
		mend = "add //idem:handler window=…, and the event has a key as well; or remove the tag"
	} else if found.role == directive.Key {
		mend += "; if the field is a part of the key, name a getter that makes one text of all such parts with key="
	}
	h.fail(pos, codeIdleTag, mend, "the tag on %s has no effect for %s: %s", found.path, h.Source, found.why)
}

// A reached is a tagged field somewhere in a type, and why walk does not come there, if it does not.
type reached struct {
	field     *types.Var
	role      directive.TagRole
	path, why string
}

// everyTag finds the tagged fields in whatever t is made of: in lists, maps, and fields that are tagged themselves too,
// which walk does not enter.
func (a *analyzer) everyTag(t types.Type, path string) []reached {
	e := everything{a: a, visited: map[types.Type]bool{}}
	e.search(t, path, "it is too deep")
	if len(e.found) == 0 {
		for t := range e.visited {
			a.tagless[t] = true
		}
	}
	return e.found
}

// everything is a search through a type. Each type is visited once: the first way to a field will do for a message.
type everything struct {
	a       *analyzer
	visited map[types.Type]bool
	grown   growth
	found   []reached
}

func (e *everything) search(t types.Type, path, why string) {
	t = types.Unalias(t)
	if e.visited[t] || e.a.tagless[t] || e.grown.tooFar(t) {
		return
	}
	e.visited[t] = true
	const inList = "what is in a list or map becomes no part of a key or fingerprint"
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		if _, again := u.Elem().Underlying().(*types.Pointer); again {
			why = "a pointer to a pointer is not followed"
		}
		e.search(u.Elem(), path, why)
	case *types.Slice:
		e.search(u.Elem(), path+"[]", inList)
	case *types.Array:
		e.search(u.Elem(), path+"[]", inList)
	case *types.Chan:
		e.search(u.Elem(), path+"[]", inList)
	case *types.Map:
		e.search(u.Key(), path+"[]", inList)
		e.search(u.Elem(), path+"[]", inList)
	case *types.Struct:
		for i := range u.NumFields() {
			v := u.Field(i)
			at, below := path+"."+v.Name(), why
			if tag, ok := e.a.tag(v, u.Tag(i)); ok {
				e.found = append(e.found, reached{v, tag.Role, at, why})
				below = at + " is tagged itself, and counts as a whole"
			}
			e.search(v.Type(), at, below)
		}
	}
}

// A growth counts the instances of each generic type. Only code that does not compile has types that contain ever larger
// ones, but it must not keep the analysis for ever either.
type growth map[*types.TypeName]int

// maxInstances is beyond what one type is made of.
const maxInstances = 256

// tooFar counts t and says that there have been too many like it.
func (g *growth) tooFar(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.TypeArgs().Len() == 0 {
		return false
	}
	if *g == nil {
		*g = growth{}
	}
	(*g)[n.Origin().Obj()]++
	return (*g)[n.Origin().Obj()] > maxInstances
}
