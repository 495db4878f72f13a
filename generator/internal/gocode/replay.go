package gocode

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/format"
	"slices"
	"strings"
	"text/template"

	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/names"
)

const idemtestPath = runtimePath + "/idemtest"

// replayText is a test file below its imports. Every line of it is a user's to change, so it reads like one.
//
//go:embed replay_test.go.tmpl
var replayText string

var replayTemplate = template.Must(template.New("replay").Parse(replayText))

// ReplayTest is the name of the test that replays a handler: "TestServicePlaceOrderReplay".
func ReplayTest(g *model.Group, h *model.Handler) string {
	return "Test" + strings.TrimPrefix(names.Spec(typeName(g), h.Method), "spec") + "Replay"
}

// ReplayOpener is the name of the function that the tests of a group share: what a worker process does when it starts.
func ReplayOpener(p *model.Package, g *model.Group) string {
	scope := names.NewScope(declaredNames(p)...)
	scope.Take(p.Types.Scope().Names()...)
	return scope.Unique("open"+strings.ToUpper(g.Name[:1])+g.Name[1:], "openReplayed"+g.Name)
}

// Replays renders a file with the tests of the handlers given, which are some of p's, to be filled in. Declared are the names
// that the package's test files declare: among them may be the functions that the tests share. The file has no header of
// ours: it is the user's from the moment on that it is written.
func Replays(p *model.Package, handlers []*model.Handler, declared []string) ([]byte, error) {
	draft := newReplays(p, nil, declared)
	draft.collect(handlers)
	r := newReplays(p, draft.file.wanted, declared)
	r.collect(handlers)
	var body bytes.Buffer
	if err := replayTemplate.Execute(&body, r); err != nil {
		return nil, bug("%v", err)
	}
	var b strings.Builder
	if p.Constraint != "" {
		b.WriteString("//go:build " + p.Constraint + "\n\n")
	}
	fmt.Fprintf(&b, "package %s\n\n", p.Name)
	writeImports(&b, r.file.imports.List(), p.Module.Path)
	out, err := format.Source(append([]byte(b.String()), body.Bytes()...))
	if err != nil {
		return nil, bug("a test file does not parse: %v", err)
	}
	return out, nil
}

// replays is a test file in the making, as the template sees it.
type replays struct {
	file     *file
	declared []string
	Names    replayNames
	Openers  []replayOpener
	Tests    []replayTest

	Context, Errors, Testing, Idem, Idemtest string // what the file calls these packages
}

// replayNames are the names of parameters and variables.
type replayNames struct{ T, Made, DB, Opts, Index, Ctx, Event, Open string }

// replayOpener is a function that makes a group's type.
type replayOpener struct {
	Func, Group, Constructor, DB, Schema string
	Made                                 string // the statement that makes what is wrapped; empty where nothing is
	Missing                              string // what has to be filled in
	Leases                               bool   // all handlers have one: no database is needed
}

// replayTest is one test.
type replayTest struct {
	Func, Handler, Opener, Accessor, Event, Result, Key string
	New                                                 string // the statement that makes an event
	Lease                                               bool
	Row, To                                             string // of a handler that moves a row: where that is to be, and its new state
	NoBody                                              bool   // that is all it does
}

func newReplays(p *model.Package, imports map[string]string, declared []string) *replays {
	f := newFile(p, nil)
	f.imports.Reserve(declared...)
	scope := names.NewScope(declaredNames(p)...)
	scope.Take(p.Types.Scope().Names()...)
	scope.Take(declared...)
	for path, name := range imports {
		f.imports.Add(path, name)
	}
	for path, name := range imports {
		scope.Take(f.imports.Name(path, name))
	}
	return &replays{
		file: f, declared: declared,
		Names: replayNames{
			T: scope.Unique("t", "test"), Made: scope.Unique("s", "svc"), DB: scope.Unique("db", "pool"), Opts: scope.Unique("opts"),
			Index: scope.Unique("i", "n"), Ctx: scope.Unique("ctx"), Event: scope.Unique("e", "event"), Open: scope.Unique("open", "start"),
		},
		Context: f.importName("context", "context"), Errors: f.importName("errors", "errors"), Testing: f.importName("testing", "testing"),
		Idem: f.importName(idemPath, "idem"), Idemtest: f.importName(idemtestPath, "idemtest"),
	}
}

func (r *replays) collect(handlers []*model.Handler) {
	for _, g := range r.file.pkg.Groups {
		opener := ReplayOpener(r.file.pkg, g)
		shared := slices.Contains(r.declared, opener)
		for _, h := range g.Handlers {
			if !slices.Contains(handlers, h) {
				continue
			}
			if !shared {
				r.Openers = append(r.Openers, r.opener(g, opener))
				shared = true
			}
			r.Tests = append(r.Tests, r.test(g, h, opener))
		}
	}
}

func (r *replays) opener(g *model.Group, name string) replayOpener {
	f := r.file
	o := replayOpener{
		Func: name, Group: g.Name, Constructor: g.Constructor, Schema: f.pkg.Store.Name + ".Schema",
		DB: f.databaseText(), Missing: r.Names.DB,
		Leases: !slices.ContainsFunc(g.Handlers, func(h *model.Handler) bool { return h.Lease == 0 }),
	}
	if !wraps(g) {
		return o
	}
	o.Missing += " and " + r.Names.Made
	wrapped := f.typeText(g.Type)
	if g.Pointer {
		o.Made = fmt.Sprintf("%s := new(%s)", r.Names.Made, wrapped)
	} else {
		o.Made = fmt.Sprintf("var %s %s", r.Names.Made, wrapped)
	}
	return o
}

func (r *replays) test(g *model.Group, h *model.Handler, opener string) replayTest {
	f := r.file
	t := replayTest{
		Func: ReplayTest(g, h), Handler: h.Source, Opener: opener, Accessor: names.Accessor(h.Method),
		Event: h.Args, Result: "struct{}", Key: keyDoc(h.Key), Lease: h.Lease > 0,
	}
	if c := h.Transition; c != nil {
		t.Row = c.Text() + " " + strings.Join(c.From, " or ")
		t.To, t.NoBody = c.Text()+" is "+c.To, h.NoBody
	}
	if h.Payload >= 0 {
		t.Event = f.typeText(h.Params[h.Payload].Type)
	}
	if h.Result != nil {
		t.Result = f.typeText(h.Result)
	}
	if pointee, ok := strings.CutPrefix(t.Event, "*"); ok {
		t.New = fmt.Sprintf("%s := new(%s)", r.Names.Event, pointee)
	} else {
		t.New = fmt.Sprintf("var %s %s", r.Names.Event, t.Event)
	}
	return t
}

// databaseText is the type of what a constructor takes the keys from.
func (f *file) databaseText() string {
	if f.pkg.Store.Driver == model.PGX {
		return "*" + f.importName(pgxpoolPath, "pgxpool") + ".Pool"
	}
	return "*" + f.importName(sqlPath, "sql") + ".DB"
}
