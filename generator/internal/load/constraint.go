package load

import (
	"go/build/constraint"
	"go/scanner"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// A clause is what stands at the top of a Go file.
type clause struct {
	pkg  string          // the package's name; empty where it cannot be read
	expr constraint.Expr // the build constraint of the line and of the file's name together; nil for none
}

// readClause reads the top of a Go file. A file that is broken further down is no matter.
func readClause(name string, src []byte) clause {
	var c clause
	file := token.NewFileSet().AddFile(name, -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, func(token.Position, string) {}, scanner.ScanComments)
	_, tok, lit := s.Scan()
	for ; tok == token.COMMENT || tok == token.SEMICOLON; _, tok, lit = s.Scan() {
		if c.expr == nil {
			c.expr = buildLine(lit)
		}
	}
	if tok == token.PACKAGE {
		if _, tok, lit = s.Scan(); tok == token.IDENT {
			c.pkg = lit
		}
	}
	for _, tag := range nameTags(filepath.Base(name)) {
		c.expr = and(c.expr, &constraint.TagExpr{Tag: tag})
	}
	return c
}

// buildLine returns the constraint of a //go:build line, and nil for another comment. The older +build lines mean
// nothing to the versions of Go that the runtime needs.
func buildLine(comment string) constraint.Expr {
	if !constraint.IsGoBuild(comment) {
		return nil
	}
	expr, err := constraint.Parse(comment)
	if err != nil {
		return nil
	}
	return expr
}

func and(x, y constraint.Expr) constraint.Expr {
	if x == nil {
		return y
	}
	return &constraint.AndExpr{X: x, Y: y}
}

// nameTags returns the tags that a file's name stands for: its GOOS, its GOARCH, or both. The rule is that of package
// go/build: what follows the first underscore counts, and "_test" at the end does not.
func nameTags(name string) []string {
	name, _, _ = strings.Cut(name, ".")
	_, after, ok := strings.Cut(name, "_")
	if !ok {
		return nil
	}
	parts := strings.Split(strings.TrimSuffix(after, "_test"), "_")
	last := parts[len(parts)-1]
	switch {
	case len(parts) >= 2 && slices.Contains(knownOS, parts[len(parts)-2]) && slices.Contains(knownArch, last):
		return []string{parts[len(parts)-2], last}
	case slices.Contains(knownOS, last) || slices.Contains(knownArch, last):
		return []string{last}
	}
	return nil
}

// The systems and architectures that a file's name may end in, past ones included.
var (
	knownOS = []string{
		"aix", "android", "darwin", "dragonfly", "freebsd", "hurd", "illumos", "ios", "js", "linux", "nacl", "netbsd",
		"openbsd", "plan9", "solaris", "wasip1", "windows", "zos",
	}
	knownArch = []string{
		"386", "amd64", "amd64p32", "arm", "arm64", "arm64be", "armbe", "loong64", "mips", "mips64", "mips64le",
		"mips64p32", "mips64p32le", "mipsle", "ppc", "ppc64", "ppc64le", "riscv", "riscv64", "s390", "s390x", "sparc",
		"sparc64", "wasm",
	}
)

// needs collects the tags that a constraint mentions without negation.
func needs(expr constraint.Expr) []string {
	switch x := expr.(type) {
	case *constraint.TagExpr:
		return []string{x.Tag}
	case *constraint.AndExpr:
		return append(needs(x.X), needs(x.Y)...)
	case *constraint.OrExpr:
		return append(needs(x.X), needs(x.Y)...)
	}
	return nil
}

// howToBuild is the hint for a file that this build leaves out.
func howToBuild(expr constraint.Expr) string {
	var tags []string
	for _, tag := range needs(expr) {
		switch {
		case slices.Contains(knownOS, tag) || tag == "unix":
			return "run idemgen with the environment variable GOOS set to a system that the constraint allows"
		case slices.Contains(knownArch, tag):
			return "run idemgen with the environment variable GOARCH set to an architecture that the constraint allows"
		case tag == "cgo":
			return "run idemgen with the environment variable CGO_ENABLED=1 and a C compiler"
		case strings.HasPrefix(tag, "go1."):
			return "run idemgen with a Go release that the constraint allows"
		case !slices.Contains(tags, tag):
			tags = append(tags, tag)
		}
	}
	if len(tags) == 0 {
		return "run idemgen without the tags that the constraint excludes (-tags)"
	}
	return "run idemgen with -tags " + strings.Join(tags, ",")
}

// constraintText is the constraint as a //go:build line has it.
func constraintText(expr constraint.Expr) string {
	if expr == nil {
		return ""
	}
	return expr.String()
}
