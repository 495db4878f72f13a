package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A tree is what stands below a folder: contents and times by slash-separated path. Folders are not in it.
type tree map[string]treeFile

type treeFile struct {
	data string
	mod  time.Time
}

func readTree(t *testing.T, dir string) tree {
	t.Helper()
	out := tree{}
	require.NoError(t, filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		out[filepath.ToSlash(rel)] = treeFile{string(data), info.ModTime()}
		return nil
	}))
	return out
}

// contents is the tree without times, to compare two folders.
func (tr tree) contents() map[string]string {
	out := make(map[string]string, len(tr))
	for name, f := range tr {
		out[name] = f.data
	}
	return out
}

// changes lists how after differs from before, one "+ path", "~ path" or "- path" a line, by path, and returns the paths
// of the new and changed files.
func changes(before, after tree) (listing string, written []string) {
	marks := map[string]string{}
	for name, f := range after {
		if old, ok := before[name]; !ok {
			marks[name] = "+ "
		} else if old.data != f.data {
			marks[name] = "~ "
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			marks[name] = "- "
		}
	}
	names := make([]string, 0, len(marks))
	for name := range marks {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	for _, name := range names {
		b.WriteString(marks[name] + name + "\n")
		if marks[name] != "- " {
			written = append(written, name)
		}
	}
	return b.String(), written
}
