package output

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hexops/gotextdiff"
	"github.com/hexops/gotextdiff/myers"
	"github.com/hexops/gotextdiff/span"
)

// devNull stands in a difference for a file that is not there, on every system.
const devNull = "/dev/null"

// A Kind says what is wrong with a file.
type Kind string

// The kinds of change.
const (
	Missing Kind = "missing"
	Changed Kind = "changed"
	Orphan  Kind = "orphan"
)

// A Change is one thing that Apply would do.
type Change struct {
	Path string
	Kind Kind
	Diff string // unified
}

// Changes returns what Apply would do, in that order. File names in the differences are relative to dir.
func (p *Plan) Changes(dir string) []Change {
	var out []Change
	for _, w := range p.writes {
		kind := Changed
		if !w.exists {
			kind = Missing
		}
		out = append(out, Change{w.Path, kind, diff(dir, w.Path, w.old, w.Data, kind)})
	}
	for _, r := range p.removals {
		out = append(out, Change{r.path, Orphan, diff(dir, r.path, r.old, nil, Orphan)})
	}
	return out
}

func diff(dir, path string, before, after []byte, kind Kind) string {
	from, to := "a/"+relative(dir, path), "b/"+relative(dir, path)
	switch kind {
	case Missing:
		from = devNull
	case Orphan:
		to = devNull
	}
	old, wanted := string(unix(before)), string(after)
	switch {
	case old == "":
		return whole(from, to, "-0,0 +1", '+', wanted)
	case wanted == "":
		return whole(from, to, "-1", '-', old)
	}
	edits := myers.ComputeEdits(span.URIFromPath(path), old, wanted)
	return fmt.Sprint(gotextdiff.ToUnified(from, to, old, edits))
}

// whole is the difference between a text and nothing, which gotextdiff gives line numbers that patch refuses.
func whole(from, to, at string, sign byte, text string) string {
	if text == "" {
		return fmt.Sprintf("--- %s\n+++ %s\n", from, to)
	}
	lines := slices.Collect(strings.Lines(text))
	if len(lines) > 1 {
		at += fmt.Sprintf(",%d", len(lines))
	}
	if sign == '-' {
		at += " +0,0"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n@@ %s @@\n", from, to, at)
	for _, line := range lines {
		b.WriteByte(sign)
		b.WriteString(line)
	}
	if !strings.HasSuffix(text, "\n") {
		b.WriteString("\n\\ No newline at end of file\n")
	}
	return b.String()
}

// relative is a path as the differences name it.
func relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return filepath.ToSlash(path)
}
