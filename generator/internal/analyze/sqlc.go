package analyze

import (
	"encoding/json"
	"errors"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/idemgen/idemgen/generator/internal/model"
)

// sqlcFiles are the names under which sqlc looks for its configuration, in its order.
var sqlcFiles = []string{"sqlc.yaml", "sqlc.yml", "sqlc.json"}

// A sqlcConfig is what we read of a user's sqlc configuration, of version 1 or 2. It is never written.
type sqlcConfig struct {
	file   string
	blocks []sqlcBlock
}

// A sqlcBlock is one package that sqlc makes.
type sqlcBlock struct {
	engine string
	driver model.Driver // empty where the block makes no Go, or Go for another driver
	out    string       // the folder of its Go, absolute; empty for none
	paths  []string     // out, and the schema and the queries, absolute
	schema []string     // the schema's alone, absolute
}

// sqlc reads the nearest configuration from the package's folder up to the module's root; nil for none. Ours in idemdb is
// not the user's. A faulty one is reported.
func (s *scan) sqlc() (*sqlcConfig, bool) {
	for dir := s.Dir; ; dir = filepath.Dir(dir) {
		for _, name := range sqlcFiles {
			file := filepath.Join(dir, name)
			if info, err := os.Stat(file); err != nil || info.IsDir() || ownHeader(file) {
				continue
			}
			conf, err := readSQLC(file)
			if err != nil {
				s.a.diags.Add(token.Position{Filename: file}, codeSQLCConfig,
					"correct it; sqlc itself reads it too", "sqlc's configuration cannot be read: %s", reason(err))
				return nil, false
			}
			return conf, true
		}
		if dir == s.Module.Dir || dir == filepath.Dir(dir) || len(dir) < len(s.Module.Dir) {
			return nil, true
		}
	}
}

// sqlcFile is the part of the configuration's form that we need, of both versions.
type sqlcFile struct {
	Version any          `yaml:"version" json:"version"`
	SQL     []sqlcV2     `yaml:"sql" json:"sql"`
	V1      []sqlcGoCode `yaml:"packages" json:"packages"`
}

type sqlcV2 struct {
	Engine  string `yaml:"engine" json:"engine"`
	Schema  any    `yaml:"schema" json:"schema"` // a path or a list of paths, as queries are
	Queries any    `yaml:"queries" json:"queries"`
	Gen     struct {
		Go *sqlcGoCode `yaml:"go" json:"go"`
	} `yaml:"gen" json:"gen"`
}

type sqlcGoCode struct {
	SQLPackage string `yaml:"sql_package" json:"sql_package"`
	Out        string `yaml:"out" json:"out"`
	// Version 1 only.
	Engine  string `yaml:"engine" json:"engine"`
	Path    string `yaml:"path" json:"path"`
	Schema  any    `yaml:"schema" json:"schema"`
	Queries any    `yaml:"queries" json:"queries"`
}

func readSQLC(file string) (*sqlcConfig, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var f sqlcFile
	if filepath.Ext(file) == ".json" {
		err = json.Unmarshal(data, &f)
	} else {
		err = yaml.Unmarshal(data, &f)
	}
	if err != nil {
		return nil, oneLine(err)
	}
	conf := &sqlcConfig{file: file}
	for _, b := range f.SQL {
		block := sqlcBlock{engine: b.Engine}
		if b.Gen.Go != nil {
			block.driver = driverOf(b.Gen.Go.SQLPackage)
			block.setOut(file, b.Gen.Go.Out)
		}
		block.addPaths(file, b.Schema, b.Queries)
		block.schema = pathsOf(file, b.Schema)
		conf.blocks = append(conf.blocks, block)
	}
	for _, b := range f.V1 {
		block := sqlcBlock{engine: b.Engine, driver: driverOf(b.SQLPackage)}
		if block.engine == "" {
			block.engine = postgresql // version 1's default
		}
		block.setOut(file, b.Path)
		block.addPaths(file, b.Schema, b.Queries)
		block.schema = pathsOf(file, b.Schema)
		conf.blocks = append(conf.blocks, block)
	}
	return conf, nil
}

// setOut takes the folder of a block's Go, as the configuration writes it.
func (b *sqlcBlock) setOut(file, out string) {
	if out != "" {
		b.out = besideConfig(file, out)
		b.paths = append(b.paths, b.out)
	}
}

// addPaths takes the paths of a block, each setting a text or a list of texts.
func (b *sqlcBlock) addPaths(file string, settings ...any) {
	for _, setting := range settings {
		b.paths = append(b.paths, pathsOf(file, setting)...)
	}
}

// pathsOf are the paths of a setting, a text or a list of texts.
func pathsOf(file string, setting any) []string {
	list, isList := setting.([]any)
	if !isList {
		list = []any{setting}
	}
	var out []string
	for _, item := range list {
		if text, ok := item.(string); ok && text != "" {
			out = append(out, besideConfig(file, text))
		}
	}
	return out
}

// besideConfig is a path that a configuration writes relative to itself.
func besideConfig(file, name string) string {
	if name = filepath.FromSlash(name); filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(filepath.Dir(file), name)
}

// speaksFor says that the configuration is about the package, and not only about others below the same folder: that it
// lies beside it, has something in or below its folder, or makes the Queries that one of its handlers takes.
func (c *sqlcConfig) speaksFor(s *scan) bool {
	if filepath.Dir(c.file) == s.Dir {
		return true
	}
	return slices.ContainsFunc(c.blocks, func(b sqlcBlock) bool {
		below := func(name string) bool {
			rel, err := filepath.Rel(s.Dir, name)
			return err == nil && filepath.IsLocal(rel)
		}
		return slices.ContainsFunc(b.paths, below) || b.out != "" && s.takesQueries(s.importPath(b.out))
	})
}

// takesQueries says that a handler takes what the package makes from a transaction.
func (s *scan) takesQueries(importPath string) bool {
	return slices.ContainsFunc(s.handlers, func(h *handler) bool {
		return slices.ContainsFunc(h.Params, func(p model.Param) bool { return p.TxFunc != nil && p.TxFunc.Pkg().Path() == importPath })
	})
}

// driverOf translates sqlc's sql_package.
func driverOf(sqlPackage string) model.Driver {
	switch sqlPackage {
	case "", "database/sql":
		return model.SQL
	case "pgx/v5":
		return model.PGX
	default:
		return ""
	}
}

// drivers are the drivers of all blocks that make Go for one that there is, each once, in order.
func (c *sqlcConfig) drivers() []model.Driver {
	var out []model.Driver
	for _, b := range c.blocks {
		if b.driver != "" && !slices.Contains(out, b.driver) {
			out = append(out, b.driver)
		}
	}
	return out
}

// engines are the engines of all blocks, each once, in order.
func (c *sqlcConfig) engines() []string {
	var out []string
	for _, b := range c.blocks {
		if b.engine != "" && !slices.Contains(out, b.engine) {
			out = append(out, b.engine)
		}
	}
	return out
}

// engine is the one that the blocks leave for a driver; empty where they leave none or several.
func (c *sqlcConfig) engine(driver model.Driver) string {
	engines := c.engines()
	if len(engines) > 1 {
		engines = nil
		for _, b := range c.blocks {
			if b.driver == driver && b.engine != "" && !slices.Contains(engines, b.engine) {
				engines = append(engines, b.engine)
			}
		}
	}
	if len(engines) != 1 {
		return ""
	}
	return engines[0]
}

// checkSchema checks that the paths of schema= are there. The schema itself is read by sqlc.
func (s *scan) checkSchema() bool {
	arg, ok := s.settingsArg("schema")
	if !ok {
		return true
	}
	good := true
	offset := 0
	for item := range strings.SplitSeq(arg.Value, ",") {
		pos := shift(arg.ValuePos, offset)
		offset += len(item) + 1
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		file := filepath.FromSlash(item)
		if !filepath.IsAbs(file) {
			file = filepath.Join(s.Dir, file)
		}
		_, err := os.Stat(file)
		if err == nil {
			continue
		}
		good = false
		if errors.Is(err, fs.ErrNotExist) {
			s.a.diags.Add(pos, codeSchema, "write the path relative to the package's folder", "schema=%s: there is no %s", arg.Value, filepath.ToSlash(file))
		} else {
			s.a.diags.Add(pos, codeSchema, "make it readable", "schema=%s: %s", arg.Value, reason(err))
		}
	}
	return good
}

// oneLine puts an error of several lines on one.
func oneLine(err error) error {
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}
