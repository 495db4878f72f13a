package load

import (
	"go/token"
	"go/version"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/idemgen/idemgen/generator/internal/diag"
)

// checkReadable reports what could not be read: files with directives or tags that are not valid Go, and packages whose
// compiled form we do not understand. Where the go command is newer than the one that built us, that is the likely
// reason for both, and said. It reports whether all that was compiled could be read.
func checkReadable(loaded []*packages.Package, src *sources, env goEnv, diags *diag.List) bool {
	for _, name := range slices.Sorted(maps.Keys(src.broken)) {
		e := src.broken[name]
		diags.Add(e.Pos, codeSyntax, "let gofmt accept the file first", "%s", e.Msg)
	}
	path, message := unreadable(loaded)
	if path == "" && len(src.broken) == 0 {
		return true
	}
	own, theirs := language(runtime.Version()), language(env.GOVERSION)
	switch {
	case version.Compare(own, theirs) < 0:
		reason := "this file may use what is new in Go"
		if path != "" {
			reason = "it cannot read the compiled package " + path
		}
		diags.Add(token.Position{}, codeSkew, "install idemgen again, with "+theirs,
			"idemgen is too old: it was built with %s, the go command is %s, and %s", own, theirs, reason)
	case path != "":
		diags.Add(token.Position{}, codeGo, "compile it again: go build -a "+path, "cannot read the compiled package %s: %s", path, message)
	}
	return path == ""
}

// unreadable returns the first package whose export data could not be read, and why.
func unreadable(loaded []*packages.Package) (path, message string) {
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			if e.Kind == packages.UnknownError && e.Pos == "-" && p.TypesInfo == nil && (path == "" || p.PkgPath < path) {
				path, message = p.PkgPath, strings.TrimSpace(e.Msg)
			}
		}
	})
	return path, message
}

var release = regexp.MustCompile(`go1\.\d+`)

// language returns the language version of a release, as in "go1.26" for "go1.26.8" or "devel go1.26-abc".
func language(v string) string { return release.FindString(v) }
