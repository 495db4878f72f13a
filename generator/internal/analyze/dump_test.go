package analyze_test

import (
	"fmt"
	"go/types"
	"path/filepath"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// dump writes a model for a reader.
func dump(p *model.Program, dir string) string {
	var b strings.Builder
	rel := func(name string) string {
		r, err := filepath.Rel(dir, name)
		if err != nil {
			return name
		}
		return filepath.ToSlash(r)
	}
	for _, s := range p.Stores {
		fmt.Fprintf(&b, "store %s: package %s %q, %s by %s, table %s\n", rel(s.Dir), s.Name, s.ImportPath, s.Engine, s.Driver,
			strings.TrimPrefix(s.Schema+"."+s.Table, "."))
	}
	for _, pkg := range p.Packages {
		fmt.Fprintf(&b, "package %s in %s\n", pkg.Name, rel(pkg.Store.Dir))
		for _, g := range pkg.Groups {
			dumpGroup(&b, pkg, g)
		}
	}
	for _, o := range p.Orphans {
		fmt.Fprintf(&b, "orphan %s\n", rel(o))
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", diag.Relative(note, dir))
	}
	return b.String()
}

func dumpGroup(b *strings.Builder, pkg *model.Package, g *model.Group) {
	kind := [...]string{"methods of ", "functions", "interface "}[g.Kind]
	if g.Pointer {
		kind += "*"
	}
	if g.Type != nil {
		kind += g.Type.Obj().Name()
	}
	fmt.Fprintf(b, "\n%s: %s by %s\n", kind, g.Name, g.Constructor)
	for _, h := range g.Handlers {
		dumpHandler(b, pkg, h)
	}
	for _, m := range g.Forwards {
		fmt.Fprintf(b, "  forwards %s\n", m.Name())
	}
}

func dumpHandler(b *strings.Builder, pkg *model.Package, h *model.Handler) {
	text := func(t types.Type) string {
		return types.TypeString(t, func(p *types.Package) string {
			if p == pkg.Types {
				return ""
			}
			return p.Name()
		})
	}
	fmt.Fprintf(b, "  %s, window %s", h.Name, h.WindowAs)
	if h.Lease > 0 {
		fmt.Fprintf(b, ", lease %s", h.Lease)
	}
	if h.Park {
		b.WriteString(", parked when expired")
	}
	if h.FailFast {
		b.WriteString(", fails fast")
	}
	b.WriteString("\n    ")
	for i, p := range h.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Name + " ")
		switch {
		case p.Role == model.Context:
			b.WriteString("context")
		case p.TxFunc != nil:
			b.WriteString("tx by " + p.TxFunc.Pkg().Name() + "." + p.TxFunc.Name())
		case p.Role == model.Tx:
			b.WriteString("tx")
		default:
			b.WriteString(text(p.Type))
		}
		if p.Field != "" {
			b.WriteString(" as " + h.Args + "." + p.Field)
		}
	}
	if h.Result != nil {
		b.WriteString(" -> " + text(h.Result))
		if h.Message {
			b.WriteString(" by protobuf")
		}
	}
	fmt.Fprintf(b, "\n    %s\n", h.Shape)
	for _, part := range h.Key {
		dumpPart(b, "key", h, part, text)
	}
	for _, part := range h.Fingerprint {
		dumpPart(b, "fingerprint", h, part, text)
	}
	if h.Attempt != nil {
		dumpPart(b, "attempt", h, *h.Attempt, text)
	}
}

func dumpPart(b *strings.Builder, what string, h *model.Handler, p model.Part, text func(types.Type) string) {
	path := func(n int) string {
		out := h.Params[p.Param].Name
		for _, s := range p.Steps[:n] {
			out += "." + s.Name
			if s.Call {
				out += "()"
			}
		}
		return out
	}
	fmt.Fprintf(b, "    %s %s = %s as %s", what, p.Label, path(len(p.Steps)), p.Encode)
	fmt.Fprintf(b, " of %s", text(p.Type))
	for _, g := range p.Guards {
		if g.Field == "" {
			fmt.Fprintf(b, ", %s not nil", path(g.Depth))
		} else {
			fmt.Fprintf(b, ", %s.%s", path(g.Depth), g.Field)
		}
	}
	if p.Deref {
		b.WriteString(", deref")
	}
	if p.AddrOf {
		b.WriteString(", address")
	}
	if p.Encode == model.Text {
		b.WriteString([...]string{", zero by text", ", zero by method", ", zero by value"}[p.Zero])
	}
	if p.AllowZero {
		b.WriteString(", zero allowed")
	}
	b.WriteString("\n")
}
