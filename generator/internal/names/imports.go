package names

import (
	"cmp"
	"go/types"
	"slices"
	"strings"
	"unicode"
)

// Imports gives the packages that one generated file imports their names there. A name is the package's own where that
// is free: not declared in the package, not predeclared, not reserved, and not another import's. Else elements of the
// path are put before it ("billingstore").
//
// Announce the imports with Add before the first Name, and the answers do not depend on any order; an import that Name
// meets unannounced gets what is left.
type Imports struct {
	self    string
	scope   Scope
	pending map[string]string // path → package name: announced, not named yet
	named   map[string]*Import
}

// Import is one line of the import block.
type Import struct {
	Path string
	// Name is what the file calls the package.
	Name string
	// Explicit says that Name must be written, because a reader cannot tell it from Path.
	Explicit bool
	used     bool
}

// NewImports returns the imports of a file in pkg. What pkg declares is avoided; pkg itself is never imported. A nil
// pkg stands for one that declares nothing, such as a package that is generated whole.
func NewImports(pkg *types.Package) *Imports {
	i := &Imports{pending: map[string]string{}, named: map[string]*Import{}}
	i.scope.Take("init") // Go lets only functions be called so
	if pkg != nil {
		i.self = pkg.Path()
		i.scope.Take(pkg.Scope().Names()...)
	}
	return i
}

// Reserve keeps names away from imports: what the generated file declares, its locals and its parameters. It has no
// effect on imports that are named already.
func (i *Imports) Reserve(names ...string) { i.scope.Take(names...) }

// Add announces that the package at path, which calls itself pkgName, may be imported.
func (i *Imports) Add(path, pkgName string) {
	if path == i.self || i.named[path] != nil {
		return
	}
	i.pending[path] = pkgName
}

// Name returns the name by which the file refers to the package at path, and notes that it is imported. It is empty
// for the file's own package.
func (i *Imports) Name(path, pkgName string) string {
	if path == i.self {
		return ""
	}
	i.Add(path, pkgName)
	i.settle()
	imp := i.named[path]
	imp.used = true
	return imp.Name
}

// Qualifier is Name in the form that [types.TypeString] and [types.WriteType] take.
func (i *Imports) Qualifier(pkg *types.Package) string { return i.Name(pkg.Path(), pkg.Name()) }

// List returns the packages that were asked for with Name, by path.
func (i *Imports) List() []Import {
	var out []Import
	for _, imp := range i.named {
		if imp.used {
			out = append(out, *imp)
		}
	}
	slices.SortFunc(out, func(a, b Import) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// settle names what was announced: the standard library first, because a reader expects its names to be plain, then by
// path.
func (i *Imports) settle() {
	paths := make([]string, 0, len(i.pending))
	for path := range i.pending {
		paths = append(paths, path)
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
	})
	for _, path := range paths {
		name := i.scope.Unique(candidates(path, i.pending[path])...)
		i.named[path] = &Import{Path: path, Name: name, Explicit: name != assumed(path)}
		delete(i.pending, path)
	}
}

func rank(path string) int {
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
		return 1
	}
	return 0
}

// candidates are the names for a package in order of preference: its own, then with one, two, … elements of its path
// before it.
func candidates(path, pkgName string) []string {
	out := []string{pkgName}
	elems := elements(path)
	if n := len(elems); n > 0 && word(elems[n-1]) == word(pkgName) {
		elems = elems[:n-1]
	}
	name := pkgName
	for n := len(elems) - 1; n >= 0; n-- {
		if w := word(elems[n]); w != "" {
			name = w + name
			out = append(out, name)
		}
	}
	return append(out, pkgName)
}

// assumed is the package name that a reader takes from a path: the last element, without a major version.
func assumed(path string) string {
	elems := elements(path)
	if len(elems) == 0 {
		return ""
	}
	return elems[len(elems)-1]
}

// elements splits a path and drops a major version at its end ("v5").
func elements(path string) []string {
	elems := strings.Split(path, "/")
	if n := len(elems); n > 1 && majorVersion(elems[n-1]) {
		elems = elems[:n-1]
	}
	return elems
}

func majorVersion(elem string) bool {
	digits, ok := strings.CutPrefix(elem, "v")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// word is a path element reduced to what may stand in a package's name: lower-case letters and digits, starting with a
// letter. "go-redis" gives "goredis", "example.com" gives "example".
func word(elem string) string {
	elem, _, _ = strings.Cut(elem, ".")
	w := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, elem)
	return strings.TrimLeftFunc(w, unicode.IsDigit)
}
