package names

import (
	"go/token"
	"go/types"
	"strconv"
)

// A Scope is a set of identifiers that are taken. The zero value is empty and ready to use.
type Scope struct {
	taken map[string]bool
}

// NewScope returns a scope in which the given identifiers are taken.
func NewScope(taken ...string) *Scope {
	s := new(Scope)
	s.Take(taken...)
	return s
}

// Take marks identifiers as taken.
func (s *Scope) Take(names ...string) {
	if s.taken == nil {
		s.taken = make(map[string]bool, len(names))
	}
	for _, n := range names {
		s.taken[n] = true
	}
}

// Free says that name may be declared: it is an identifier, not blank, not taken, and does not hide a predeclared one.
func (s *Scope) Free(name string) bool {
	return token.IsIdentifier(name) && name != "_" && !s.taken[name] && !Predeclared(name)
}

// Unique takes the first free name of the candidates and returns it; if none is free, the last one with the lowest
// free number behind it, starting at 2.
func (s *Scope) Unique(candidates ...string) string {
	var last string
	for _, c := range candidates {
		if s.Free(c) {
			s.Take(c)
			return c
		}
		last = c
	}
	if !token.IsIdentifier(last + "2") {
		last = "v"
	}
	for n := 2; ; n++ {
		if name := last + strconv.Itoa(n); s.Free(name) {
			s.Take(name)
			return name
		}
	}
}

// Predeclared says that Go itself declares name.
func Predeclared(name string) bool {
	return types.Universe.Lookup(name) != nil
}
