package output

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/header"
)

// marks are the files that show that a folder with sqlc's output is ours.
var marks = []string{"store_gen.go", "sqlc.yaml"}

// generated says that a file is idemgen's, or sqlc's in a folder of idemgen's: it may be removed.
func generated(path string, text []byte) bool {
	line, _ := header.FirstLine(text)
	return line == ours(path) || line == sqlcs(path) && inOurFolder(path)
}

// replaceable says that a file may be written over: it is generated, or it is what a crash or a bad merge has left of
// one that was, which is nothing or the beginning of the first line.
func replaceable(path string, text []byte) bool {
	if generated(path, text) || len(bytes.TrimSpace(text)) == 0 {
		return true
	}
	line, ended := header.FirstLine(text)
	return !ended && (strings.HasPrefix(ours(path), line) || strings.HasPrefix(sqlcs(path), line) && inOurFolder(path))
}

// none is the header of files that are never ours: no line is that.
const none = "\n"

// ours is the first line of our files of a name.
func ours(path string) string {
	switch filepath.Ext(path) {
	case ".go":
		return header.Go
	case ".sql":
		return header.SQL
	case ".yaml":
		return header.YAML
	}
	return none
}

// sqlcs is the first line of sqlc's files of a name.
func sqlcs(path string) string {
	if filepath.Ext(path) == ".go" {
		return header.SQLCGo
	}
	return none
}

// inOurFolder says that one of idemgen's own files is beside the file.
func inOurFolder(path string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool {
		mark = filepath.Join(filepath.Dir(path), mark)
		text, err := os.ReadFile(mark)
		if err != nil {
			return false
		}
		line, _ := header.FirstLine(text)
		return line == ours(mark)
	})
}
