package fit

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"path"
	"strconv"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/sqlcode"
)

// CodeType says that a value does not fit its column; package diag has its meaning.
const CodeType diag.Code = "IDEM320"

// Resolve completes the transitions of a store whose statements sqlc has compiled to out: each value gets the field that takes
// it, and its type. A value that does not fit is in diags.
func Resolve(s *model.Store, out []sqlcode.File, diags *diag.List) error {
	for _, f := range s.Transitions {
		if f.Text != nil {
			continue
		}
		code, err := compiledFile(f.Name+".go", out)
		if err != nil {
			return err
		}
		for _, t := range f.Transitions {
			if err := resolve(code, t, diags); err != nil {
				return err
			}
		}
	}
	return nil
}

// goFile is a file of sqlc's making.
type goFile struct {
	name    string
	structs map[string][]goField
	imports map[string]string // name to path
}

type goField struct{ name, typ string }

func compiledFile(name string, out []sqlcode.File) (*goFile, error) {
	for _, f := range out {
		if f.Name == name {
			return parse(f)
		}
	}
	return nil, bug("sqlc has made no %s", name)
}

// parse reads the structs of a file.
func parse(f sqlcode.File) (*goFile, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, f.Name, f.Data, parser.SkipObjectResolution)
	if err != nil {
		return nil, bug("%v", err)
	}
	out := &goFile{name: f.Name, structs: map[string][]goField{}, imports: map[string]string{}}
	for _, i := range tree.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, bug("%v", err)
		}
		name := path.Base(p)
		if len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" {
			name = path.Base(path.Dir(p))
		}
		if i.Name != nil {
			name = i.Name.Name
		}
		out.imports[name] = p
	}
	for _, d := range tree.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			t, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			st, ok := t.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, field := range st.Fields.List {
				var text strings.Builder
				if err := printer.Fprint(&text, fset, field.Type); err != nil {
					return nil, bug("%v", err)
				}
				for _, n := range field.Names {
					out.structs[t.Name.Name] = append(out.structs[t.Name.Name], goField{n.Name, text.String()})
				}
			}
		}
	}
	return out, nil
}

// resolve completes one transition.
func resolve(f *goFile, t *model.Transition, diags *diag.List) error {
	fields := f.structs[t.Query+"Params"]
	var all []*model.ColumnValue
	for i := range t.Row {
		all = append(all, &t.Row[i])
	}
	for i := range t.Set {
		all = append(all, &t.Set[i])
	}
	if t.Expect != nil {
		all = append(all, t.Expect)
	}
	args := sqlcode.Args(t)
	for _, v := range all {
		found := false
		for _, field := range fields {
			if sqlcode.SameArg(field.name, args[v.Column]) {
				v.Field, v.Type, found = field.name, f.goType(field.typ), true
			}
		}
		if !found {
			return bug("%s has no parameter for column %s of %s", f.name, v.Column, t.Query)
		}
	}
	for i := range t.Row {
		check(t, &t.Row[i], compared, diags)
	}
	for i := range t.Set {
		check(t, &t.Set[i], assigned, diags)
	}
	if t.Expect != nil {
		check(t, t.Expect, compared, diags)
	}
	return nil
}

func (f *goFile) goType(text string) model.GoType {
	pkg, _, qualified := strings.Cut(strings.TrimPrefix(text, "*"), ".")
	switch {
	case qualified && !strings.ContainsAny(pkg, "[]{} "):
		return model.GoType{Text: text, Path: f.imports[pkg], Package: pkg}
	case ast.IsExported(text):
		return model.GoType{Text: text, Own: true}
	default:
		return model.GoType{Text: text}
	}
}

// use says what a value is for.
type use int

const (
	compared use = iota // it is to hold what the column holds, or some rows could not be named
	assigned            // the column is to hold it
)

// check decides whether a value fits.
func check(t *model.Transition, v *model.ColumnValue, u use, diags *diag.List) {
	column := strings.TrimSuffix(t.Text(), t.Column) + v.Column
	if f := misfit(v, u); f != nil {
		takes := "takes " + v.Type.Text
		if f.byDDL {
			takes = "is " + v.Holds.Text
		}
		diags.Add(v.PathPos, CodeType, f.mend, "%s is %s, and %s %s: %s", v.Path, typeText(v.Part.Type), column, takes, f.why)
	}
}

// typeText is a type for a message, with package names.
func typeText(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return p.Name() })
}

func bug(format string, args ...any) error {
	return fmt.Errorf("bug in idemgen: "+format+"; please report it", args...)
}
