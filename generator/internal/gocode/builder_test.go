package gocode

import (
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"

	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/names"
)

// The test module: sources, and beside them the generated files that they are to have.
const sourceDir = "testdata/src"

// loaded is the packages of the test module by path below it, as load would see them: without generated files.
var loaded = sync.OnceValues(func() (map[string]*packages.Package, error) {
	dir, err := filepath.Abs(sourceDir)
	if err != nil {
		return nil, err
	}
	overlay := map[string][]byte{}
	generated, err := filepath.Glob(filepath.Join(dir, "*", PackageFile))
	if err != nil {
		return nil, err
	}
	for _, path := range generated {
		overlay[path] = []byte(buildTag(path) + "package " + filepath.Base(filepath.Dir(path)) + "\n")
	}
	cfg := &packages.Config{
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax |
			packages.NeedTypesInfo | packages.NeedFiles,
		Dir:        dir,
		Env:        append(os.Environ(), "GOWORK=off"),
		BuildFlags: []string{"-tags=integration"},
		Overlay:    overlay,
	}
	pkgs, err := packages.Load(cfg, "./...")
	if err != nil {
		return nil, err
	}
	out := map[string]*packages.Package{}
	for _, p := range pkgs {
		for _, e := range p.Errors {
			if !strings.Contains(e.Msg, "idemdb") {
				return nil, fmt.Errorf("%s: %w", p.PkgPath, e)
			}
		}
		out[strings.TrimPrefix(p.PkgPath, "example.com/shop/")] = p
	}
	return out, nil
})

func buildTag(path string) string {
	if filepath.Base(filepath.Dir(path)) == "wide" {
		return "//go:build integration && linux\n\n"
	}
	return ""
}

// builder makes models of the test module's packages, by the rules of analyze in their simplest form.
type builder struct {
	t   testing.TB
	pkg *model.Package
}

func newBuilder(t testing.TB, path string, driver model.Driver) *builder {
	t.Helper()
	pkgs, err := loaded()
	require.NoError(t, err)
	p := pkgs[path]
	require.NotNil(t, p, path)
	store := &model.Store{ImportPath: "example.com/shop/idemdb", Name: "idemdb", Engine: "postgresql", Driver: driver, Table: "idempotency_keys"}
	if driver == model.SQL {
		store.ImportPath, store.Engine = "example.com/shop/lite/idemdb", "sqlite"
	}
	return &builder{t, &model.Package{
		Name: p.Name, Path: p.PkgPath, Types: p.Types, Module: model.Module{Path: "example.com/shop"}, Store: store,
	}}
}

// group adds a group for a type of the package, or for its functions.
func (b *builder) group(typ string, kind model.GroupKind, pointer bool) *groupBuilder {
	g := &model.Group{Kind: kind, Pointer: pointer}
	exported := true
	if typ != "" {
		g.Type = b.pkg.Types.Scope().Lookup(typ).Type().(*types.Named)
		exported = g.Type.Obj().Exported()
	}
	g.Name = names.Wrapper(typ, exported)
	g.Constructor = names.Constructor(g.Name)
	b.pkg.Groups = append(b.pkg.Groups, g)
	return &groupBuilder{b, g}
}

type groupBuilder struct {
	*builder
	group *model.Group
}

// handler adds a handler; set completes it.
func (g *groupBuilder) handler(method string, set func(*handlerBuilder)) *groupBuilder {
	g.t.Helper()
	var fn *types.Func
	source := method
	if g.group.Type == nil {
		fn = g.pkg.Types.Scope().Lookup(method).(*types.Func)
	} else {
		obj, _, _ := types.LookupFieldOrMethod(g.group.Type, true, g.pkg.Types, method)
		fn = obj.(*types.Func)
		source = g.group.Type.Obj().Name() + "." + method
	}
	h := &model.Handler{
		Method: method, Source: source, Name: g.pkg.Name + "." + source, Func: fn, Payload: -1,
		Window: 24 * time.Hour, WindowAs: "24h", KeyVersion: 1,
	}
	sig := fn.Signature()
	if sig.Results().Len() == 2 {
		h.Result = sig.Results().At(0).Type()
	}
	scope := names.NewScope()
	values := 0
	for i, v := range enumerate(sig.Params()) {
		p := model.Param{Type: v.Type(), Role: model.Value}
		switch text := types.TypeString(v.Type(), nil); {
		case text == "context.Context":
			p.Role = model.Context
		case strings.HasSuffix(text, "Tx"), strings.HasSuffix(text, "DBTX"):
			p.Role = model.Tx
		case strings.HasSuffix(text, "Queries"):
			p.Role = model.Tx
			named := types.Unalias(v.Type().(*types.Pointer).Elem()).(*types.Named)
			p.TxFunc = named.Obj().Pkg().Scope().Lookup("New").(*types.Func)
		default:
			values++
			h.Payload = i
		}
		p.Name = scope.Unique(v.Name(), map[model.Role]string{model.Context: "ctx", model.Tx: "tx", model.Value: "event"}[p.Role])
		h.Params = append(h.Params, p)
	}
	if values != 1 {
		h.Payload = -1
		h.Args = names.ArgsStruct("", method, ast.IsExported(g.group.Name))
		for i := range h.Params {
			if h.Params[i].Role == model.Value {
				h.Params[i].Field = names.Exported(h.Params[i].Name)
			}
		}
	}
	hb := &handlerBuilder{g.builder, h}
	set(hb)
	var shape []string
	for _, p := range h.Key {
		shape = append(shape, p.Label+":"+string(p.Encode))
	}
	h.Shape = strings.Join(shape, "/")
	g.group.Handlers = append(g.group.Handlers, h)
	return g
}

func enumerate(t *types.Tuple) []*types.Var {
	var out []*types.Var
	for v := range t.Variables() {
		out = append(out, v)
	}
	return out
}

type handlerBuilder struct {
	*builder
	h *model.Handler
}

// part describes a part: "Inner.Ref" or "GetRaw()" from the parameter called param, or from the payload.
func (h *handlerBuilder) part(param, path string, encode model.Encoding, set ...func(*model.Part)) model.Part {
	h.t.Helper()
	p := model.Part{Label: strings.TrimPrefix(param+"."+path, "."), Param: h.h.Payload, Encode: encode}
	p.Label = strings.TrimSuffix(p.Label, ".")
	for i, q := range h.h.Params {
		if q.Name == param {
			p.Param = i
		}
	}
	t := h.h.Params[p.Param].Type
	guard := func() {
		if _, ok := t.Underlying().(*types.Pointer); ok {
			p.Guards = append(p.Guards, model.Guard{Depth: len(p.Steps)})
		}
	}
	for _, step := range strings.Split(path, ".") {
		if step == "" {
			continue
		}
		guard()
		name, call := strings.CutSuffix(step, "()")
		obj, _, _ := types.LookupFieldOrMethod(t, true, h.pkg.Types, name)
		require.NotNil(h.t, obj, "%s: %s", p.Label, step)
		if t = obj.Type(); call {
			t = obj.(*types.Func).Signature().Results().At(0).Type()
		}
		p.Steps = append(p.Steps, model.Step{Name: name, Call: call})
	}
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		guard()
		p.Deref = true
		t = ptr.Elem()
	}
	p.Type = t
	for _, s := range set {
		s(&p)
	}
	return p
}

func (h *handlerBuilder) key(path string, encode model.Encoding, set ...func(*model.Part)) {
	h.h.Key = append(h.h.Key, h.part("", path, encode, set...))
}

func (h *handlerBuilder) keyFrom(param, path string, encode model.Encoding, set ...func(*model.Part)) {
	h.h.Key = append(h.h.Key, h.part(param, path, encode, set...))
}

func (h *handlerBuilder) fingerprint(path string, encode model.Encoding, set ...func(*model.Part)) {
	h.h.Fingerprint = append(h.h.Fingerprint, h.part("", path, encode, set...))
}

func allowZero(p *model.Part) { p.AllowZero = true }

func byMethod(p *model.Part) { p.Zero = model.ZeroByMethod }

func byValue(p *model.Part) { p.Zero = model.ZeroByValue }

func addrOf(p *model.Part) { p.AddrOf = true }

// valid guards the last step by a bool field beside it.
func valid(p *model.Part) {
	p.Guards = append(p.Guards, model.Guard{Depth: len(p.Steps) - 1, Field: "Valid"})
}
