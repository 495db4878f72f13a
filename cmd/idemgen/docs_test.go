package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pages are those whose examples must be true.
var pages = []string{"README.md", "docs/getting-started.md", "docs/operating.md"}

// block is a fenced block of a page.
type block struct{ page, language, text string }

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

func blocks(t *testing.T, language string) []block {
	t.Helper()
	var out []block
	for _, page := range pages {
		data, err := os.ReadFile(filepath.Join(repository(t), filepath.FromSlash(page)))
		require.NoError(t, err)
		for _, m := range fence.FindAllStringSubmatch(string(data), -1) {
			if m[1] == language {
				out = append(out, block{page, m[1], m[2]})
			}
		}
	}
	require.NotEmpty(t, out, "no %s block", language)
	return out
}

// Go code in the documentation is an excerpt of code that is compiled and run: of the quickstart, word for word. A
// line "// …" stands for lines left out.
func TestGoBlocksAreExcerpts(t *testing.T) {
	t.Parallel()
	sources := []string{}
	root := filepath.Join(repository(t), "testdata", "quickstart")
	for name, f := range readTree(t, root) {
		if strings.HasSuffix(name, ".go") {
			sources = append(sources, f.data)
		}
	}
	for _, b := range blocks(t, "go") {
		assert.True(t, slices.ContainsFunc(sources, func(source string) bool { return isExcerpt(b.text, source) }),
			"%s has Go code that is not in testdata/quickstart:\n%s", b.page, b.text)
	}
}

// isExcerpt reports whether the pieces of text between "// …" lines follow each other in source.
func isExcerpt(text, source string) bool {
	for _, piece := range regexp.MustCompile(`(?m)^\s*// …\n`).Split(text, -1) {
		piece = strings.Trim(piece, "\n")
		_, rest, found := strings.Cut(source, piece)
		if !found {
			return false
		}
		source = rest
	}
	return true
}

// Commands in the documentation exist: idemgen's subcommands and flags, and make's targets.
func TestCommandsInDocsExist(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(repository(t), "Makefile"))
	require.NoError(t, err)
	for _, b := range blocks(t, "sh") {
		for _, line := range strings.Split(b.text, "\n") {
			line, _, _ = strings.Cut(line, "#")
			fields := strings.Fields(line)
			switch {
			case len(fields) == 0:
			case fields[0] == "make":
				assert.Contains(t, string(makefile), "\n"+fields[1]+":", b.page)
			case fields[0] == "idemgen":
				// -h makes the command parse its flags and run nothing.
				code, _, stderr := runIn(t, t.TempDir(), append(fields[1:], "-h"))
				assert.Zero(t, code, "%s: %s: %s", b.page, line, stderr)
			case fields[0] != "go" && fields[0] != "cd" && fields[0] != "git":
				assert.Fail(t, "a command nobody checks", "%s: %s", b.page, line)
			}
		}
	}
}

// The diagram in the documentation is what idemgen graph draws of the quickstart.
func TestDiagramIsDrawn(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runIn(t, filepath.Join(repository(t), "testdata", "quickstart"), []string{"graph", "./..."})
	require.Zero(t, code, stderr)
	for _, b := range blocks(t, "mermaid") {
		assert.Equal(t, b.text, stdout, b.page)
	}
}
