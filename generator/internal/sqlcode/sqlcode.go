// Package sqlcode renders the SQL of a store: what sqlc compiles, and what a database administrator applies.
//
// It fills in package templates and writes the sqlc.yaml that goes with them. It is pure: a model goes in, bytes come
// out, and whether they are right SQL is for package sqlcrun to find out.
package sqlcode

import (
	"bytes"
	"fmt"
	"strings"
	"text/template"

	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/templates"
)

// The names of a store's files.
const (
	SchemaFile = "schema.sql"
	KeysFile   = "keys.sql"
	ConfigFile = "sqlc.yaml"
)

// A File is a rendered file: its name in the store's folder, and its bytes.
type File struct {
	Name string
	Data []byte
}

// Files are everything that a store's folder holds for sqlc.
type Files struct {
	Schema  File
	Queries []File // keys.sql, and one file for each package with transitions
	// UserSchema is the files that the statements of transitions are compiled against besides, where they are.
	UserSchema []model.SchemaFile
	Config     File // sqlc.yaml
}

// All returns the files in order of their names.
func (f *Files) All() []File {
	return append(append([]File{}, f.Queries...), f.Schema, f.Config)
}

// Render renders the files of a store.
func Render(s *model.Store) (*Files, error) {
	f := &Files{}
	var err error
	if f.Schema, err = fill(s, SchemaFile); err != nil {
		return nil, err
	}
	keys, err := fill(s, KeysFile)
	if err != nil {
		return nil, err
	}
	f.Queries = []File{keys}
	for _, t := range s.Transitions {
		file, err := transitions(s, t)
		if err != nil {
			return nil, err
		}
		f.Queries = append(f.Queries, file)
	}
	if len(s.Transitions) > 0 {
		f.UserSchema = s.UserSchema
	}
	block := Block{Store: s, Files: f}
	if len(f.UserSchema) > 0 {
		block.UserSchema = besides(s, s.UserPaths)
	}
	f.Config = File{ConfigFile, []byte(Config(block))}
	return f, nil
}

// Table is the name of a store's table as the statements spell it: quoted, with its schema where it has one.
func Table(s *model.Store) string {
	if s.Schema == "" {
		return quote(s, s.Table)
	}
	return quote(s, s.Schema) + "." + quote(s, s.Table)
}

func fill(s *model.Store, name string) (File, error) {
	if s.Engine == "sqlite" && s.Schema != "" {
		return File{}, bug("table %s: SQLite has no schemas that sqlc knows", Table(s))
	}
	path := s.Engine + "/" + name + ".tmpl"
	t, err := template.ParseFS(templates.FS, path)
	if err != nil {
		return File{}, bug("no template for engine %q: %v", s.Engine, err)
	}
	values := struct{ Schema, Table, Index string }{Table: Table(s), Index: quote(s, s.Table+"_expires_at")}
	// Everybody may use PostgreSQL's public, but only an owner of the database may say that it should exist.
	if s.Schema != "" && !(s.Engine == "postgresql" && s.Schema == "public") {
		values.Schema = quote(s, s.Schema)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, values); err != nil {
		return File{}, bug("%s: %v", path, err)
	}
	return File{name, b.Bytes()}, nil
}

// quote makes a name an identifier that keeps its case and may be a reserved word. MySQL takes double quotes only in a
// mode that few have.
func quote(s *model.Store, name string) string {
	mark := `"`
	if s.Engine == "mysql" {
		mark = "`"
	}
	return mark + strings.ReplaceAll(name, mark, mark+mark) + mark
}

func bug(format string, args ...any) error {
	return fmt.Errorf("bug in idemgen: "+format+"; please report it", args...)
}
