package load

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path/filepath"
	"sync"

	"github.com/idemgen/idemgen/generator/internal/header"
)

// A sources parses files for packages.Load, which calls it from several goroutines, and remembers what the parsed
// form does not show.
type sources struct {
	mu     sync.Mutex
	src    map[string][]byte         // of files with a directive or a tag
	broken map[string]*scanner.Error // of the same, the first syntax error
}

// parse keeps declarations only. Of a file that mentions us it keeps the comments as well, and the braces of bodies,
// so that a directive in a body is known to be in one.
func (s *sources) parse(fset *token.FileSet, filename string, src []byte) (*ast.File, error) {
	if isGenerated(filename, src) {
		f, err := parser.ParseFile(fset, filename, src, parser.PackageClauseOnly|parser.SkipObjectResolution)
		if err != nil {
			return nil, nil // as if it were not there: it is about to be written
		}
		return f, nil
	}
	if !mentionsUs(src) {
		f, err := parser.ParseFile(fset, filename, src, parser.SkipObjectResolution)
		dropBodies(f, func(*ast.BlockStmt) *ast.BlockStmt { return nil })
		return f, err
	}
	f, err := parser.ParseFile(fset, filename, src, parser.ParseComments|parser.SkipObjectResolution)
	dropBodies(f, func(body *ast.BlockStmt) *ast.BlockStmt {
		return &ast.BlockStmt{Lbrace: body.Lbrace, Rbrace: body.Rbrace}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.src[filename] = src
	if list := (scanner.ErrorList)(nil); errors.As(err, &list) && len(list) > 0 {
		s.broken[filename] = list[0]
	}
	return f, err
}

func dropBodies(f *ast.File, instead func(*ast.BlockStmt) *ast.BlockStmt) {
	if f == nil {
		return
	}
	for _, decl := range f.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
			fn.Body = instead(fn.Body)
		}
	}
}

// isGenerated says whether we generated a file. A header alone does not make it ours: it may have been copied, and what
// stands below it is then the user's, directives included.
func isGenerated(filename string, src []byte) bool {
	return filepath.Base(filename) == GenFile && header.Ours(src)
}
