package analyze

import (
	"go/types"
	"slices"

	"github.com/idemgen/idemgen/generator/internal/model"
)

// The shapes of what sqlc makes. A package of its queries has New(DBTX) *Queries and, where it is asked for, an
// interface Querier with the methods of *Queries. Nothing here goes by these names, except New's: people wrap and
// imitate what sqlc makes.

// constructorOf finds New(X) *T, where X is an interface, in the package of T, given *T: the shape of sqlc's Queries.
func constructorOf(t types.Type) *types.Func {
	fn := newOf(t)
	if fn == nil || fn.Signature().Params().Len() != 1 {
		return nil
	}
	if _, ok := fn.Signature().Params().At(0).Type().Underlying().(*types.Interface); !ok {
		return nil
	}
	return fn
}

// newOf finds New in the package of T, given *T, if it makes one.
func newOf(t types.Type) *types.Func {
	ptr, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return nil
	}
	named, ok := types.Unalias(ptr.Elem()).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return nil
	}
	fn := newIn(named.Obj().Pkg())
	if fn == nil || !types.Identical(fn.Signature().Results().At(0).Type(), t) {
		return nil
	}
	return fn
}

// newIn is a package's function New, if it takes at most one argument and returns one value.
func newIn(p *types.Package) *types.Func {
	fn, ok := p.Scope().Lookup("New").(*types.Func)
	if !ok {
		return nil
	}
	sig := fn.Signature()
	if sig.TypeParams().Len() > 0 || sig.Variadic() || sig.Params().Len() > 1 || sig.Results().Len() != 1 {
		return nil
	}
	return fn
}

// querier finds the constructor New(X) *T of a T whose pointer has the methods of an interface: sqlc's Querier, one that
// embeds it, or one with some of its methods.
func querier(t types.Type, iface *types.Interface) *types.Func {
	if iface.Empty() {
		return nil
	}
	for _, p := range homes(t) {
		fn := newIn(p)
		if fn == nil {
			continue
		}
		made := fn.Signature().Results().At(0).Type()
		if constructorOf(made) == fn && types.Implements(made, iface) {
			return fn
		}
	}
	return nil
}

// homes are the packages that an interface may be of: its own, and then those of the interfaces that it embeds.
func homes(t types.Type) []*types.Package {
	var out []*types.Package
	var visit func(types.Type)
	visit = func(t types.Type) {
		t = types.Unalias(t)
		if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil && !slices.Contains(out, n.Obj().Pkg()) {
			out = append(out, n.Obj().Pkg())
		}
		if iface, ok := t.Underlying().(*types.Interface); ok {
			for e := range iface.EmbeddedTypes() {
				visit(e)
			}
		}
	}
	visit(t)
	return out
}

// almostQueries says why queries are not made from the transaction; what is empty where they are none.
func (s *scan) almostQueries(t types.Type) (what, mend string) {
	if driver, ok := takesWithEachCall(t); ok {
		return "is made without the transaction, which its methods take with each call",
			"take that too, tx " + txType(driver) + ", and pass it to them"
	}
	iface, isInterface := t.Underlying().(*types.Interface)
	for _, p := range homes(t) {
		fn := newIn(p)
		if fn == nil {
			continue
		}
		made := fn.Signature().Results().At(0).Type()
		if constructorOf(made) != fn {
			continue
		}
		if isInterface && !types.Implements(made, iface) {
			lacks, _ := types.MissingMethod(made, iface, true)
			if _, runs := satisfied(parameter(fn)); runs && lacks != nil && sharesMethod(made, iface) {
				queries := s.typeText(made)
				return "is not what " + p.Name() + ".New makes of the transaction: " + queries + " lacks " + lacks.Name(),
					"take " + queries + ", or an interface with methods that it has"
			}
		} else if what, mend := s.otherHandle(fn); what != "" {
			return what, mend
		}
	}
	if fn := constructorOf(t); fn != nil {
		return s.otherHandle(fn)
	}
	return "", ""
}

// otherHandle says why a constructor does not take the transaction.
func (s *scan) otherHandle(fn *types.Func) (what, mend string) {
	x := parameter(fn)
	if _, ok := satisfied(x); ok || !runsStatements(x) {
		return "", ""
	}
	pgx, sql := lacking(x, model.PGX), lacking(x, model.SQL)
	if pgx == nil || sql == nil {
		return "", ""
	}
	name := fn.Pkg().Name() + ".New"
	return "is made by " + name + ", which takes neither a pgx.Tx, because of " + pgx.Name() + ", nor a *sql.Tx, because of " + sql.Name(),
		"let " + name + " ask only for methods that the transaction has, or take it itself: tx pgx.Tx or tx *sql.Tx"
}

// parameter is the interface that a constructor takes.
func parameter(fn *types.Func) *types.Interface {
	iface, ok := fn.Signature().Params().At(0).Type().Underlying().(*types.Interface)
	if !ok {
		return types.NewInterfaceType(nil, nil)
	}
	return iface
}

// sharesMethod says that a type has a method of an interface, so that the two may be meant for each other.
func sharesMethod(t types.Type, iface *types.Interface) bool {
	for m := range iface.Methods() {
		obj, _, _ := types.LookupFieldOrMethod(t, false, m.Pkg(), m.Name())
		if fn, ok := obj.(*types.Func); ok && types.Identical(fn.Signature(), m.Signature()) {
			return true
		}
	}
	return false
}

// takesWithEachCall says that t is what sqlc makes under emit_methods_with_db_argument, *Queries of New() or an interface
// of its methods, and which driver's transaction they take.
func takesWithEachCall(t types.Type) (model.Driver, bool) {
	made := []types.Type{t}
	if iface, ok := t.Underlying().(*types.Interface); ok {
		made = nil
		for _, p := range homes(t) {
			if fn := newIn(p); fn != nil && !iface.Empty() && types.Implements(fn.Signature().Results().At(0).Type(), iface) {
				made = append(made, fn.Signature().Results().At(0).Type())
			}
		}
	}
	for _, m := range made {
		if fn := newOf(m); fn == nil || fn.Signature().Params().Len() > 0 {
			continue
		}
		for sel := range types.NewMethodSet(m).Methods() {
			for v := range sel.Type().(*types.Signature).Params().Variables() {
				if x, ok := v.Type().Underlying().(*types.Interface); ok {
					if driver, ok := satisfied(x); ok {
						return driver, true
					}
				}
			}
		}
	}
	return "", false
}

// txType is a driver's transaction as a parameter's type.
func txType(d model.Driver) string {
	if d == model.PGX {
		return "pgx.Tx"
	}
	return "*sql.Tx"
}
