package analyze

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/directive"
	"github.com/idemgen/idemgen/generator/internal/load"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// Analyze resolves directives, tags and types. It returns nil where diags is not empty.
func Analyze(prog *load.Program, diags *diag.List) *model.Program {
	if prog == nil {
		return nil
	}
	a := &analyzer{
		prog:     prog,
		diags:    diags,
		tags:     map[*types.Var]fieldTag{},
		untagged: map[types.Type]bool{},
		tagless:  map[types.Type]bool{},
		faulty:   map[*load.Package]bool{},
	}
	var scans []*scan
	for _, p := range prog.Packages {
		a.readTags(p)
	}
	for _, p := range prog.Packages {
		if s := a.scan(p); s != nil {
			scans = append(scans, s)
		}
	}
	slices.SortStableFunc(scans, func(x, y *scan) int { return strings.Compare(x.Path, y.Path) })

	if diags.Len() == 0 { // else the handler that takes a struct may be among what has been diagnosed
		a.untaken(scans)
	}
	stores := a.stores(scans)
	a.checkNames(scans)
	a.transitions(scans)
	if diags.Len() > 0 {
		return nil
	}

	out := &model.Program{Stores: stores}
	for _, s := range scans {
		if len(s.handlers) > 0 {
			out.Packages = append(out.Packages, s.out)
		}
	}
	out.Orphans = a.orphans(scans, stores)
	out.Notes = slices.Concat(a.apart(scans, out.Orphans), a.evolved(scans))
	return out
}

// An analyzer is one run over a program.
type analyzer struct {
	prog  *load.Program
	diags *diag.List
	// tags has the fields of the packages of the run whose tags mention us; a field of any other package has only its
	// tag's value.
	tags map[*types.Var]fieldTag
	// untagged are types from which no tag can be reached.
	untagged map[types.Type]bool
	// tagless are types that have no tag anywhere in what they are made of.
	tagless map[types.Type]bool
	// faulty are the packages with a tag that has been diagnosed.
	faulty map[*load.Package]bool
}

// A fieldTag is a field's tag, parsed from its literal.
type fieldTag struct {
	tag directive.Tag
	ok  bool
	in  *ast.StructType
}

// A scan is one package under analysis.
type scan struct {
	a *analyzer
	*load.Package
	settings *directive.Placed // its //idem:package, or nil
	// faulty says that a directive or a tag of the package has a fault of its own, so that what seems to be missing
	// may only not have been understood.
	faulty   bool
	handlers []*handler // by position; without the copies that a decorator gets from embedded interfaces
	machines []*machine // in order of their first directive
	out      *model.Package
}

// position translates a position of the program's file set.
func (a *analyzer) position(pos token.Pos) token.Position { return a.prog.Fset.Position(pos) }

// scan collects the handlers of a package.
func (a *analyzer) scan(p *load.Package) *scan {
	if p.Types == nil || p.Info == nil {
		a.diags.Add(token.Position{Filename: p.Dir}, codeUnresolved, "see what go build says about it",
			"package %s could not be type-checked", p.Path)
		return nil
	}
	s := &scan{a: a, Package: p, faulty: a.faulty[p], out: &model.Package{
		Name:           p.Name,
		Path:           p.Path,
		Dir:            p.Dir,
		Types:          p.Types,
		Module:         p.Module,
		Constraint:     p.Constraint,
		RuntimeMissing: p.RuntimeMissing,
	}}
	var placed []directive.Placed
	before := a.diags.Len()
	for _, f := range p.Files {
		if f.Syntax != nil && f.Name != p.Own {
			placed = append(placed, directive.File(a.prog.Fset, f.Syntax, a.diags)...)
		}
	}
	s.faulty = s.faulty || a.diags.Len() > before
	slices.SortStableFunc(placed, func(x, y directive.Placed) int { return byPosition(x.Pos, y.Pos) })
	changes := map[ast.Node]*directive.Placed{}
	guarded := map[ast.Node]bool{}
	for i := range placed {
		switch d := &placed[i]; d.Verb {
		case "transition":
			changes[d.Node()] = d
		case "handler":
			guarded[d.Node()] = true
		}
	}
	for i := range placed {
		switch d := placed[i]; {
		case d.Verb == "package":
			s.setPackage(&d)
		case d.Verb == "states":
			s.addStates(d)
		case d.Verb == "handler" || d.Verb == "transition" && !guarded[d.Node()]:
			if h := s.handler(d, changes[d.Node()]); h != nil {
				s.handlers = append(s.handlers, h)
			}
		}
	}
	s.checkConstants()
	slices.SortStableFunc(s.handlers, func(x, y *handler) int { return byPosition(x.Pos, y.Pos) })
	s.idleTags()
	s.group()
	return s
}

// setPackage takes a //idem:package, of which there may be one.
func (s *scan) setPackage(d *directive.Placed) {
	if s.settings != nil {
		s.a.diags.Add(d.Pos, codePackage, "put all arguments on one of the two lines and remove the other",
			"package %s has a second //idem:package; the first is at %s", s.Name, at(s.settings.Pos))
		return
	}
	s.settings = d
}

// readTags parses every tag of the package that mentions us, so that a faulty one is reported even where no handler
// takes its struct.
func (a *analyzer) readTags(p *load.Package) {
	if p.Info == nil {
		return
	}
	for _, f := range p.Files {
		if f.Syntax == nil || f.Name == p.Own {
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if st, ok := n.(*ast.StructType); ok && st.Fields != nil {
				for _, field := range st.Fields.List {
					a.readTag(p, st, field)
				}
			}
			return true
		})
	}
}

func (a *analyzer) readTag(p *load.Package, st *ast.StructType, field *ast.Field) {
	if field.Tag == nil || !mentionsUs(field.Tag.Value) && !directive.MentionsRole(field.Tag.Value) {
		return
	}
	before := a.diags.Len()
	tag, ok := directive.ParseTag(field.Tag, a.prog.Fset, a.diags)
	if a.diags.Len() > before {
		a.faulty[p] = true
	}
	names := field.Names
	if len(names) == 0 {
		if name := embeddedName(field.Type); name != nil {
			names = []*ast.Ident{name}
		}
	}
	for _, name := range names {
		if v, isVar := p.Info.Defs[name].(*types.Var); isVar {
			a.tags[v] = fieldTag{tag, ok, st}
		}
	}
}

// embeddedName is the identifier that names an embedded field.
func embeddedName(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.StarExpr:
		return embeddedName(e.X)
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.IndexExpr:
		return embeddedName(e.X)
	case *ast.IndexListExpr:
		return embeddedName(e.X)
	case *ast.ParenExpr:
		return embeddedName(e.X)
	default:
		return nil
	}
}

// tag returns the idem tag of a struct's field, given the tag's value.
func (a *analyzer) tag(v *types.Var, value string) (directive.Tag, bool) {
	if t, known := a.tags[v.Origin()]; known {
		return t.tag, t.ok
	}
	if !mentionsUs(value) && !(directive.MentionsRole(value) && a.own(v.Pkg())) {
		return directive.Tag{}, false
	}
	return directive.ParseTagValue(value, a.position(v.Pos()), a.diags)
}

// own says that a package is of a module that the run writes to: that its tags are the user's to mend.
func (a *analyzer) own(p *types.Package) bool {
	return p != nil && slices.ContainsFunc(a.prog.Packages, func(of *load.Package) bool { return inModule(of.Module, p.Path()) })
}

// mentionsUs says that a struct tag may have a part that is ours, or that was meant to be: in any case.
func mentionsUs(tag string) bool {
	return strings.Contains(strings.ToLower(tag), "idem")
}

// at writes a position into a message. It is absolute, as every position is; diag.Print makes it relative.
func at(pos token.Position) string {
	pos.Filename = filepath.ToSlash(pos.Filename)
	return pos.String()
}

func byPosition(a, b token.Position) int {
	return cmp.Or(
		strings.Compare(a.Filename, b.Filename),
		cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Column, b.Column),
	)
}
