package schema

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/model"
)

// Files reads what paths name as sqlc does: files, folders with the files of migrations in them, and patterns. Hidden files
// and those that undo a migration are left out.
func Files(paths []string) ([]model.SchemaFile, error) {
	var names []string
	for _, path := range paths {
		found := []string{path}
		if strings.ContainsAny(path, "*?[]") {
			matches, err := filepath.Glob(path)
			if err != nil {
				return nil, err
			}
			found = matches
		}
		for _, name := range found {
			more, err := list(name)
			if err != nil {
				return nil, err
			}
			names = append(names, more...)
		}
	}
	var out []model.SchemaFile
	seen := map[string]bool{}
	for _, name := range names {
		base := filepath.Base(name)
		if seen[name] || !strings.HasSuffix(base, ".sql") || strings.HasPrefix(base, ".") || strings.HasSuffix(base, ".down.sql") {
			continue
		}
		seen[name] = true
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, model.SchemaFile{Path: name, Text: text})
	}
	return out, nil
}

// list is a file, or what is in a folder.
func list(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{filepath.Clean(name)}, nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if !e.IsDir() {
			out = append(out, filepath.Join(name, e.Name()))
		}
	}
	return out, nil
}

// undoing are the lines behind which the tools for migrations keep what undoes one: goose, sql-migrate, tern, dbmate.
var undoing = []string{"-- +goose down", "-- +migrate down", "---- create above / drop below ----", "-- migrate:down"}

// metaCommand matches a line for psql, as pg_dump writes some.
var metaCommand = regexp.MustCompile(`^\\[A-Za-z!?;]`)

// statements is the text of a file without what sqlc does not read either. Lines keep their numbers.
func statements(text []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		lower := strings.ToLower(line)
		for _, u := range undoing {
			if strings.HasPrefix(lower, u) {
				return b.String()
			}
		}
		if metaCommand.MatchString(line) {
			line = "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}
