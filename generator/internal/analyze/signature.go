package analyze

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/directive"
	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/names"
)

// A handler is one annotated function or method under analysis.
type handler struct {
	*model.Handler
	s      *scan
	placed directive.Placed
	sig    *types.Signature
	// iface or recv is the type that it is a method of; nil for a function.
	owner *types.Named
	// isIface says that owner is an interface.
	isIface bool
	pointer bool // pointer receiver
	driver  model.Driver
	tx      int // the index of the parameter that takes the transaction, where driver says that there is one
	txPos   token.Position
	namePos token.Position // of name=, or of the handler
	// unresolved says that a parameter's type is not there, so that nothing can be said about the payload.
	unresolved bool
	tagged     []*types.Var // the fields that its tags have brought it
	// change is its //idem:transition, and nil for none.
	change *directive.Placed
	// pathArg is the argument whose paths are being resolved, as messages name it ("key="), and pathSaid what comes before a
	// path in it.
	pathArg, pathSaid string
}

// fail reports a fault of the handler.
func (h *handler) fail(pos token.Position, code diag.Code, hint, format string, args ...any) {
	if code == codeUnresolved && h.s.lacksModules() {
		return
	}
	h.s.a.diags.Add(pos, code, hint, format, args...)
}

// handler analyzes one annotated declaration, with its //idem:transition if it has one; d is that where it has nothing else.
// It returns nil where there is nothing to go on with; a faulty handler is returned, so that its names and its store are
// checked too.
func (s *scan) handler(d directive.Placed, change *directive.Placed) *handler {
	ident := declaredName(d)
	if ident == nil {
		return nil
	}
	pos := s.a.position(ident.Pos())
	h := &handler{s: s, placed: d, change: change, pathArg: "key=", pathSaid: "key=", Handler: &model.Handler{
		Pos: pos, Method: ident.Name, Source: ident.Name, Payload: -1, KeyVersion: 1,
		Bare: d.Verb == "transition", NoBody: change != nil && d.Iface != nil,
	}}
	fn, ok := s.Info.Defs[ident].(*types.Func)
	if !ok {
		h.fail(pos, codeUnresolved, "see what go build says about it", "%s could not be type-checked", ident.Name)
		return nil
	}
	h.Func, h.sig = fn, fn.Signature()
	if !h.setOwner(ident) || !h.wrappable(ident) {
		return nil
	}
	h.arguments()
	h.params()
	h.results()
	h.transitionShape()
	switch {
	case h.unresolved:
	case h.Bare:
		h.payload()
	default:
		h.keys()
	}
	if !h.unresolved && h.change != nil {
		h.transition()
	}
	return h
}

// declaredName is the name of the declaration that a directive stands on.
func declaredName(d directive.Placed) *ast.Ident {
	switch {
	case d.Func != nil:
		return d.Func.Name
	case d.Method != nil && len(d.Method.Names) > 0:
		return d.Method.Names[0]
	default:
		return nil
	}
}

// setOwner finds the type that the handler is a method of.
func (h *handler) setOwner(ident *ast.Ident) bool {
	pos := h.Pos
	if h.placed.Iface != nil {
		obj, ok := h.s.Info.Defs[h.placed.Iface.Name].(*types.TypeName)
		if !ok {
			return false
		}
		if obj.IsAlias() {
			h.fail(pos, codeUnwrappable, "define the interface: type "+obj.Name()+" interface { … }",
				"%s is an alias, and a decorator needs a defined interface", obj.Name())
			return false
		}
		named, ok := obj.Type().(*types.Named)
		if !ok {
			h.fail(pos, codeUnresolved, "see what go build says about it", "%s could not be type-checked", obj.Name())
			return false
		}
		h.owner, h.isIface = named, true
	} else if recv := h.sig.Recv(); recv != nil {
		t := types.Unalias(recv.Type())
		if p, ok := t.(*types.Pointer); ok {
			h.pointer = true
			t = types.Unalias(p.Elem())
		}
		named, ok := t.(*types.Named)
		if !ok {
			h.fail(pos, codeUnresolved, "see what go build says about it", "the receiver of %s could not be type-checked", ident.Name)
			return false
		}
		h.owner = named
	}
	if h.owner != nil {
		h.Source = h.owner.Obj().Name() + "." + h.Method
	}
	return true
}

// wrappable refuses what no wrapper can be made for, whatever its parameters.
func (h *handler) wrappable(ident *ast.Ident) bool {
	switch {
	case ident.Name == "_":
		h.fail(h.Pos, codeUnwrappable, "give it a name", "a handler named _ cannot be called")
	case h.owner == nil && (ident.Name == "init" || ident.Name == "main" && h.s.Name == "main"):
		h.fail(h.Pos, codeUnwrappable, "move the work into a function of its own and annotate that", "%s cannot be a handler", ident.Name)
	case h.sig.TypeParams().Len() > 0:
		h.fail(h.Pos, codeGeneric, "annotate a function without type parameters that calls "+ident.Name+" for one payload",
			"%s is generic, and the key of a handler needs one payload type", h.Source)
	case h.owner != nil && h.owner.TypeParams().Len() > 0:
		h.fail(h.Pos, codeGeneric, "annotate a method of a type without type parameters that calls it for one payload",
			"%s is a method of the generic type %s, and the key of a handler needs one payload type", h.Source, h.owner.Obj().Name())
	case h.sig.Variadic():
		last := h.sig.Params().At(h.sig.Params().Len() - 1)
		h.fail(h.s.a.position(last.Pos()), codeVariadic, "take one payload; annotate a function that handles one item",
			"%s is variadic, and the key of a handler needs one payload", h.Source)
	default:
		return true
	}
	return false
}

// arguments reads what the directive says besides key=.
func (h *handler) arguments() {
	h.namePos = h.Pos
	h.Name = h.s.Name + "." + h.Source
	if arg, ok := h.placed.Arg("name"); ok {
		h.Name, h.namePos = arg.Value, arg.ValuePos
	}
	h.checkName()
	if arg, ok := h.placed.Arg("window"); ok {
		h.WindowAs = arg.Value
		if d, forever, err := directive.ParseWindow(arg.Value); err == nil { // the parser has reported the others
			h.Window, h.Forever = d, forever
		}
	}
	if arg, ok := h.placed.Arg("inflight"); ok {
		h.FailFast = arg.Value == "fail"
	}
	if arg, ok := h.placed.Arg("lease"); ok {
		h.LeaseAs = arg.Value
		if d, err := directive.ParseLease(arg.Value); err == nil {
			h.Lease = d
		}
	}
	if arg, ok := h.placed.Arg("expired"); ok {
		h.Park = arg.Value == "park"
	}
}

// maxName keeps a row's two halves within what every engine can index.
const maxName = 200

// checkName checks the half of a row's identity that is the handler's. The characters of a name= are the parser's matter.
func (h *handler) checkName() {
	if len(h.Name) > maxName {
		h.fail(h.namePos, codeNameForm, "give a shorter one with name=",
			"the name of %s is stored with every key and must have at most %d bytes; it has %d", h.Source, maxName, len(h.Name))
	}
}

// params gives every parameter its role and its name.
func (h *handler) params() {
	tuple := h.sig.Params()
	var contexts, txs []int
	for i := range tuple.Len() {
		v := tuple.At(i)
		p := model.Param{Role: model.Value, Type: v.Type()}
		if invalid(v.Type()) {
			h.unresolved = true
			h.fail(h.paramPos(i), codeUnresolved, "see what go build says about it",
				"the type of %s's parameter %s could not be resolved", h.Source, h.paramText(i))
		} else if isNamed(v.Type(), "context", "Context") {
			p.Role = model.Context
			contexts = append(contexts, i)
		} else if tx, ok := h.s.transaction(v.Type()); ok {
			p.Role, p.TxFunc = model.Tx, tx.constructor
			h.driver, h.tx, h.txPos = tx.driver, i, h.paramPos(i)
			txs = append(txs, i)
		}
		h.Params = append(h.Params, p)
	}
	h.nameParams()
	switch {
	case len(contexts) == 0:
		h.fail(h.Pos, codeContext, "add a parameter ctx context.Context: deadlines and cancellation reach the handler by it",
			"%s has no context.Context", h.Source)
	case len(contexts) > 1:
		h.fail(h.paramPos(contexts[1]), codeContext, "leave one of them", "%s has more than one context.Context", h.Source)
	}
	switch {
	case len(txs) == 0 && h.NoBody:
	case len(txs) == 0 && !h.unresolved:
		h.noTransaction()
	case len(txs) == 1 && !h.NoBody:
		h.noLease(txs[0])
	case len(txs) > 1:
		h.fail(h.paramPos(txs[1]), codeManyTx, "keep the one that the handler works with",
			"%s takes more than one transaction: %s and %s", h.Source, h.paramText(txs[0]), h.paramText(txs[1]))
	}
}

// paramPos is where a parameter's name stands, or its type.
func (h *handler) paramPos(i int) token.Position { return h.s.a.position(h.sig.Params().At(i).Pos()) }

// paramText names a parameter in a message: "log *slog.Logger".
func (h *handler) paramText(i int) string {
	v := h.sig.Params().At(i)
	text := h.s.typeText(v.Type())
	if e := h.typeExpr(i, false); e != nil {
		text = types.ExprString(e) // as written, even where it means nothing
	}
	return strings.TrimSpace(strings.TrimPrefix(v.Name(), "_") + " " + text)
}

// typeExpr is the source of the type of parameter or result i, or nil.
func (h *handler) typeExpr(i int, result bool) ast.Expr {
	var fn *ast.FuncType
	if h.placed.Func != nil {
		fn = h.placed.Func.Type
	} else if h.placed.Method != nil {
		fn, _ = h.placed.Method.Type.(*ast.FuncType)
	}
	if fn == nil {
		return nil
	}
	list := fn.Params
	if result {
		list = fn.Results
	}
	if list == nil {
		return nil
	}
	for _, f := range list.List {
		if i -= max(1, len(f.Names)); i < 0 {
			return f.Type
		}
	}
	return nil
}

// nameParams gives every parameter a name that is an identifier of its own and hides nothing: the user's where that
// will do. err stays free for the wrapper.
func (h *handler) nameParams() {
	scope := names.NewScope("err")
	for i := range h.Params {
		if name := h.sig.Params().At(i).Name(); scope.Free(name) {
			h.Params[i].Name = scope.Unique(name)
		}
	}
	for i := range h.Params {
		p := &h.Params[i]
		if p.Name != "" {
			continue
		}
		if name := h.sig.Params().At(i).Name(); name != "" && name != "_" {
			p.Name = scope.Unique(name+"Arg", name)
			continue
		}
		p.Name = scope.Unique(h.defaultName(p)...)
	}
}

// defaultName is how a parameter without a name is called.
func (h *handler) defaultName(p *model.Param) []string {
	switch p.Role {
	case model.Context:
		return []string{"ctx"}
	case model.Tx:
		return []string{"tx"}
	}
	t := types.Unalias(p.Type)
	if ptr, ok := t.(*types.Pointer); ok {
		t = types.Unalias(ptr.Elem())
	}
	if n, ok := t.(*types.Named); ok {
		if h.s.a.carries(n) {
			return []string{"e"}
		}
		return []string{names.Unexported(n.Obj().Name()), "arg"}
	}
	return []string{"arg"}
}

// invalid says that the type checker gave up on t, or on a part of it that its users see.
func invalid(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return t.Kind() == types.Invalid
	case *types.Pointer:
		return invalid(t.Elem())
	case *types.Slice:
		return invalid(t.Elem())
	case *types.Array:
		return invalid(t.Elem())
	case *types.Map:
		return invalid(t.Key()) || invalid(t.Elem())
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			if invalid(arg) {
				return true
			}
		}
		return invalidUnderlying(t)
	default:
		return t == nil
	}
}

// invalidUnderlying says that a defined type has an invalid definition.
func invalidUnderlying(t *types.Named) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.Invalid
}

// isNamed says that t is the named type of that package.
func isNamed(t types.Type, pkgPath, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == pkgPath && n.Obj().Name() == name
}

// isPointerTo says that t is a pointer to the named type of that package.
func isPointerTo(t types.Type, pkgPath, name string) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	return ok && isNamed(p.Elem(), pkgPath, name)
}

// typeText writes a type as its package's source would, with package names rather than paths.
func (s *scan) typeText(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p.Path() == s.Types.Path() {
			return ""
		}
		return p.Name()
	})
}
