package analyze

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/model"
)

// recordedKey is the line by which generated code records what a handler's key is made of.
var recordedKey = regexp.MustCompile(`(?m)^// key shape: ("(?:[^"\\]|\\.)*"|\S+) (\d+) (.*?)\r?$`)

// evolved tells of keys that are remembered and would not be found again: of handlers that the last run has stored under
// another name, or with another key.
func (a *analyzer) evolved(scans []*scan) []string {
	var notes []string
	for _, s := range scans {
		if s.Own == "" || len(s.handlers) == 0 {
			continue
		}
		text, err := os.ReadFile(s.Own)
		if err != nil {
			continue // it is written anew, and what it recorded cannot be told
		}
		notes = append(notes, s.evolvedFrom(recordedKeys(string(text)))...)
	}
	return notes
}

// recordedKeys reads the shape of each handler's key from generated code, by the handler's stored name.
func recordedKeys(text string) map[string]string {
	out := map[string]string{}
	for _, m := range recordedKey.FindAllStringSubmatch(text, -1) {
		name := m[1]
		if unquoted, err := strconv.Unquote(name); err == nil {
			name = unquoted
		}
		out[name] = m[3]
	}
	return out
}

// evolvedFrom compares a package's handlers with what its generated code has recorded.
func (s *scan) evolvedFrom(recorded map[string]string) []string {
	own := filepath.ToSlash(s.Own)
	var notes []string
	var fresh []*model.Handler
	gone := map[string]string{}
	for name, shape := range recorded {
		gone[name] = shape
	}
	for _, h := range s.handlers {
		if h.Bare {
			continue
		}
		was, known := recorded[h.Name]
		delete(gone, h.Name)
		switch {
		case !known:
			fresh = append(fresh, h.Handler)
		case was != h.Shape:
			notes = append(notes, fmt.Sprintf("%s: the key of %s was %s and is now %s; a delivery that was handled before the change "+
				"is recognised after it only if its key still reads the same, and otherwise runs again", own, h.Name, was, h.Shape))
		}
	}
	for name, shape := range gone {
		if len(fresh) > 0 {
			notes = append(notes, fmt.Sprintf("%s: no handler is stored as %s any more, and %s new; if that is the same handler, "+
				"write name=%s in its //idem:handler, or what was handled before is not recognised and runs again",
				own, name, newNames(fresh, shape), name))
		}
	}
	slices.Sort(notes)
	return notes
}

// newNames names the handlers that one of the given shape may have become: those with the same key if there are any.
func newNames(fresh []*model.Handler, shape string) string {
	var same, all []string
	for _, h := range fresh {
		all = append(all, h.Name)
		if h.Shape == shape {
			same = append(same, h.Name)
		}
	}
	if len(same) > 0 {
		all = same
	}
	if len(all) == 1 {
		return all[0] + " is"
	}
	return strings.Join(all, ", ") + " are"
}
