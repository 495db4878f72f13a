package gocode

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/idemgen/idemgen/generator/internal/header"
	"github.com/idemgen/idemgen/generator/internal/names"
)

// width is the longest line that generated code should have, with a tab as tabWidth.
const (
	width    = 120
	tabWidth = 4
)

// source is the parts of a Go file before they are put together.
type source struct {
	head    []string // comments below the header, up to the package's own
	pkg     string
	imports []names.Import
	module  string // path of the module that the file is in
	decls   []jen.Code
}

// render returns the formatted file: jennifer formats each declaration, and what is above them is written as it should
// be.
func (s *source) render() ([]byte, error) {
	var b strings.Builder
	b.WriteString(header.Go + "\n")
	for _, h := range s.head {
		b.WriteString(h)
	}
	fmt.Fprintf(&b, "package %s\n\n", s.pkg)
	writeImports(&b, s.imports, s.module)
	for _, d := range s.decls {
		text, err := declaration(d)
		if err != nil {
			return nil, err
		}
		b.WriteString("\n" + text + "\n")
	}
	return []byte(b.String()), nil
}

// declaration renders one declaration.
func declaration(c jen.Code) (string, error) {
	var b bytes.Buffer
	if err := jen.Add(c).Render(&b); err != nil {
		return "", bug("generated code does not parse: %v", err)
	}
	return b.String(), nil
}

// writeImports writes the import block: the standard library, other modules, the runtime, and the file's own module.
func writeImports(b *strings.Builder, imports []names.Import, module string) {
	groups := make([][]names.Import, 4)
	for _, i := range imports {
		n := group(i.Path, module)
		groups[n] = append(groups[n], i)
	}
	b.WriteString("import (\n")
	separate := ""
	for _, g := range groups {
		if len(g) == 0 {
			continue
		}
		b.WriteString(separate)
		separate = "\n"
		for _, i := range g {
			b.WriteString("\t")
			if i.Explicit {
				b.WriteString(i.Name + " ")
			}
			fmt.Fprintf(b, "%q\n", i.Path)
		}
	}
	b.WriteString(")\n")
}

func group(path, module string) int {
	first, _, _ := strings.Cut(path, "/")
	switch {
	case path == module || strings.HasPrefix(path, module+"/"):
		return 3
	case strings.HasPrefix(path, runtimePath+"/"):
		return 2
	case strings.Contains(first, "."):
		return 1
	}
	return 0
}

// comment turns a text into comment lines that are not too long.
func comment(text string) *jen.Statement {
	c := jen.Null()
	line := "//"
	for _, word := range strings.Fields(text) {
		if line != "//" && len(line)+1+len(word) > width {
			c.Comment(line).Line()
			line = "//"
		}
		line += " " + word
	}
	return c.Comment(line)
}

// list is a list in brackets on one line, or one item a line where fits says no.
func list(open, closing string, oneLine bool, items ...jen.Code) *jen.Statement {
	return jen.Custom(jen.Options{Open: open, Close: closing, Separator: ",", Multi: !oneLine}, items...)
}

// fits says that a function's first line, or a statement at a depth of tabs, is not too long.
func (f *file) fits(c jen.Code, depth int) bool {
	if f.draft {
		return true
	}
	text, err := declaration(c)
	if err != nil {
		return true // it is an error where it is rendered
	}
	line, _, _ := strings.Cut(text, "\n")
	return len(line)+strings.Count(line, "\t")*(tabWidth-1)+depth*tabWidth <= width
}
