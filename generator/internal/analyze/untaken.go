package analyze

import (
	"go/ast"
	"go/types"

	"github.com/idemgen/idemgen/generator/internal/directive"
)

// untaken reports structs with tags that no handler takes: whoever tagged one believes that its handler is guarded, and
// the directive may be missing, or stand elsewhere. What another package of the module imports may be that one's to take.
func (a *analyzer) untaken(scans []*scan) {
	taken := map[*ast.StructType]bool{}
	for _, s := range scans {
		for _, h := range s.handlers {
			for _, v := range h.tagged {
				taken[a.tags[v.Origin()].in] = true
			}
		}
	}
	first := map[*ast.StructType]*types.Var{}
	for v, t := range a.tags {
		if t.ok && t.tag.Role != directive.Attempt && !taken[t.in] && (first[t.in] == nil || v.Pos() < first[t.in].Pos()) {
			first[t.in] = v
		}
	}
	shared := map[string]bool{}
	for _, v := range first {
		s := scanOf(scans, v.Pkg())
		if s == nil {
			continue
		}
		if _, known := shared[s.Path]; !known {
			user, err := importer(s.Module.Dir, s.Dir, s.Path, func(string) bool { return false })
			shared[s.Path] = user != "" || err != nil
		}
		if !shared[s.Path] {
			a.diags.Add(a.tags[v].tag.Pos, codeIdleTag,
				"write //idem:handler window=24h directly above the handler that takes it; if there is none, remove the tags, or move the struct to a package of its own",
				"the tag on %s has no effect: no handler takes its struct", v.Name())
		}
	}
}

func scanOf(scans []*scan, p *types.Package) *scan {
	for _, s := range scans {
		if s.Types == p && len(s.handlers) > 0 {
			return s
		}
	}
	return nil
}
