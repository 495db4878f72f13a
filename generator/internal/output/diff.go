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
	// Diff is unified, of what is changed. Of what is missing or an orphan it would be the whole text: of the former that
	// is what another run writes, and of the latter nobody wants it.
	Diff string
}

// Changes returns what Apply would do, in that order. File names in the differences are relative to dir.
func (p *Plan) Changes(dir string) []Change {
	var out []Change
	for _, w := range p.writes {
		if w.exists {
			out = append(out, Change{w.Path, Changed, diff(dir, w.Path, w.old, w.Data)})
		} else {
			out = append(out, Change{Path: w.Path, Kind: Missing})
		}
	}
	for _, r := range p.removals {
		out = append(out, Change{Path: r, Kind: Orphan})
	}
	return out
}

func diff(dir, path string, before, after []byte) string {
	from, to := "a/"+relative(dir, path), "b/"+relative(dir, path)
	old, wanted := string(unix(before)), string(after)
	if old == "" {
		return added(from, to, wanted)
	}
	edits := myers.ComputeEdits(span.URIFromPath(path), old, wanted)
	return fmt.Sprint(gotextdiff.ToUnified(from, to, old, edits))
}

// added is the difference between an empty file and a text, which gotextdiff gives line numbers that patch refuses.
func added(from, to, text string) string {
	lines := slices.Collect(strings.Lines(text))
	at := "-0,0 +1"
	if len(lines) > 1 {
		at += fmt.Sprintf(",%d", len(lines))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n@@ %s @@\n", from, to, at)
	for _, line := range lines {
		b.WriteByte('+')
		b.WriteString(line)
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
