package directive

import (
	"go/scanner"
	"go/token"
	"slices"
	"strconv"
)

// Found is what Scan came upon in a file.
type Found struct {
	Directive token.Position // of the first comment that is ours; its Line is 0 where there is none
	Tags      bool           // some string is a struct tag with an idem part
}

// Scan looks for comments that are ours, and for tags, in a file's tokens. It works on any bytes, valid Go or not, and
// is not misled by strings.
func Scan(filename string, src []byte) Found {
	file := token.NewFileSet().AddFile(filename, -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, func(token.Position, string) {}, scanner.ScanComments)
	var found Found
	for {
		pos, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return found
		case token.COMMENT:
			if sp, ok := recognise(lit); ok && found.Directive.Line == 0 {
				found.Directive = spelledAt(file.Position(pos), sp)
			}
		case token.STRING:
			found.Tags = found.Tags || isTag(lit)
		}
	}
}

// isTag says whether a string literal is a struct tag with our part in it.
func isTag(lit string) bool {
	value, err := strconv.Unquote(lit)
	if err != nil {
		return false
	}
	all, _ := pairs(value)
	return slices.ContainsFunc(all, func(p pair) bool { return p.name == "idem" })
}

// spelledAt is the position of a spelling in the comment that begins at comment.
func spelledAt(comment token.Position, s spelling) token.Position {
	if s.line > 0 {
		comment.Line += s.line
		comment.Column = s.start + 1
	}
	// An offset into a block comment would have to count the carriage returns that the scanner drops.
	comment.Offset = 0
	return comment
}
