package sqlcode

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/idemgen/idemgen/generator/internal/header"
	"github.com/idemgen/idemgen/generator/internal/model"
)

func TestNamesAreQuoted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		store          model.Store
		table, index   string
		createsSchema  string
		engineSpecific string
	}{
		{model.Store{Engine: "postgresql", Table: "keys"}, `"keys"`, `"keys_expires_at"`, "", `COLLATE "C"`},
		{model.Store{Engine: "postgresql", Table: "Order", Schema: "public"}, `"public"."Order"`, `"Order_expires_at"`, "", "timestamptz"},
		{model.Store{Engine: "postgresql", Table: `a"b`, Schema: "Billing"}, `"Billing"."a""b"`, `"a""b_expires_at"`, `CREATE SCHEMA IF NOT EXISTS "Billing";`, "bytea"},
		{model.Store{Engine: "sqlite", Table: "order"}, `"order"`, `"order_expires_at"`, "", "STRICT"},
		{model.Store{Engine: "mysql", Table: "order"}, "`order`", "`order_expires_at`", "", "InnoDB"},
		{model.Store{Engine: "mysql", Table: "a`b", Schema: "public"}, "`public`.`a``b`", "`a``b_expires_at`", "CREATE DATABASE IF NOT EXISTS `public`;", "BINARY(16)"},
	} {
		files, err := Render(&c.store)
		require.NoError(t, err)
		schema := string(files.Schema.Data)
		assert.Equal(t, c.table, Table(&c.store))
		assert.Contains(t, schema, "CREATE TABLE IF NOT EXISTS "+c.table+" (")
		if c.store.Engine == "mysql" { // which knows no IF NOT EXISTS of an index
			assert.Contains(t, schema, "\n    INDEX "+c.index+" (expires_at)\n")
		} else {
			assert.Contains(t, schema, "CREATE INDEX IF NOT EXISTS "+c.index+" ON "+c.table+" (expires_at)")
		}
		assert.Contains(t, schema, c.engineSpecific)
		if c.createsSchema == "" {
			assert.NotContains(t, schema, "CREATE SCHEMA")
			assert.NotContains(t, schema, "CREATE DATABASE")
		} else {
			assert.Contains(t, schema, "\n"+c.createsSchema+"\n")
		}
		// Each query names the table once, and the sweep twice.
		keys := string(files.Queries[0].Data)
		assert.Equal(t, strings.Count(keys, "-- name: ")+1, strings.Count(keys, c.table+"\n")+strings.Count(keys, c.table+" ("))
		for _, f := range files.All() {
			first := header.SQL
			if f.Name == ConfigFile {
				first = header.YAML
			}
			assert.True(t, strings.HasPrefix(string(f.Data), first+"\n"), f.Name)
			assert.NotContains(t, string(f.Data), "\n\n\n", f.Name)
			assert.NotContains(t, string(f.Data), "{{", f.Name)
		}
	}
}

// Values of YAML are written so that no name can become anything but a text.
func TestConfigIsYAML(t *testing.T) {
	t.Parallel()
	a := &model.Store{Name: "on", Engine: "postgresql", Driver: model.PGX, Table: "keys"}
	b := &model.Store{Name: "idemdb", Engine: "sqlite", Driver: model.SQL, Table: "keys"}
	fa, err := Render(a)
	require.NoError(t, err)
	fb, err := Render(b)
	require.NoError(t, err)
	type block struct {
		Engine, Schema string
		Queries        []string
		Gen            struct {
			Go struct {
				Package, Out string
				SQLPackage   string `yaml:"sql_package"`
				DBArgument   bool   `yaml:"emit_methods_with_db_argument"`
			}
		}
	}
	var got struct {
		Version string
		SQL     []block
	}
	require.NoError(t, yaml.Unmarshal([]byte(Config(Block{Store: a, Files: fa, Dir: "one"}, Block{Store: b, Files: fb})), &got))
	assert.Equal(t, "2", got.Version)
	require.Len(t, got.SQL, 2)
	assert.Equal(t, "postgresql", got.SQL[0].Engine)
	assert.Equal(t, "one/schema.sql", got.SQL[0].Schema)
	assert.Equal(t, []string{"one/keys.sql"}, got.SQL[0].Queries)
	assert.Equal(t, "on", got.SQL[0].Gen.Go.Package)
	assert.Equal(t, "one", got.SQL[0].Gen.Go.Out)
	assert.Equal(t, "pgx/v5", got.SQL[0].Gen.Go.SQLPackage)
	assert.True(t, got.SQL[0].Gen.Go.DBArgument)
	assert.Equal(t, "schema.sql", got.SQL[1].Schema)
	assert.Equal(t, ".", got.SQL[1].Gen.Go.Out)
	assert.Equal(t, "database/sql", got.SQL[1].Gen.Go.SQLPackage)
}

func TestWhatAnalyzeShouldHaveRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []*model.Store{{Engine: "oracle", Table: "t"}, {Engine: "sqlite", Schema: "main", Table: "t"}} {
		_, err := Render(s)
		require.ErrorContains(t, err, "bug in idemgen")
	}
}
