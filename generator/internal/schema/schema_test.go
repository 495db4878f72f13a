package schema

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/generator/internal/model"
)

func read(t *testing.T, engine string, texts ...string) *Schema {
	t.Helper()
	var files []model.SchemaFile
	for _, text := range texts {
		files = append(files, model.SchemaFile{Path: "schema.sql", Text: []byte(text)})
	}
	s, err := Read(engine, files)
	require.NoError(t, err)
	return s
}

// held is which of the states the column holds.
func held(c *Column, states ...string) string {
	var out []string
	for _, s := range states {
		if _, ok := c.Holds(s); ok {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

func TestPostgreSQLStates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ddl, want string }{
		{`CREATE TABLE o (s text)`, "a b c"},
		{`CREATE TABLE o (s text CHECK (s IN ('a', 'b')))`, "a b"},
		{`CREATE TABLE o (s text, CONSTRAINT x CHECK (s = ANY (ARRAY['a'::text, 'c'::text])))`, "a c"},
		{`CREATE TABLE o (s text CHECK (s = 'a' OR s = 'b'))`, "a b"},
		{`CREATE TABLE o (s text CHECK (s <> 'a'))`, "b c"},
		{`CREATE TABLE o (s text CHECK (NOT (s = 'a')))`, "b c"},
		{`CREATE TABLE o (s text CHECK (s = ANY ('{a,b}'::text[])))`, "a b"},
		{`CREATE TABLE o (s text CHECK (s NOT IN ('a') AND s IS NOT NULL))`, "b c"},
		{`CREATE TABLE o (s text CHECK (length(s) > 3))`, "a b c"},
		{`CREATE TABLE o (s text, n int, CHECK (s = 'a' OR n > 0))`, "a b c"},
		{`CREATE TABLE o (s varchar(1))`, "a b c"},
		{`CREATE TYPE st AS ENUM ('a', 'b'); CREATE TABLE o (s st)`, "a b"},
		{`CREATE TYPE st AS ENUM ('a'); CREATE TABLE o (s st); ALTER TYPE st ADD VALUE 'c'; ALTER TYPE st RENAME VALUE 'a' TO 'b'`, "b c"},
		{`CREATE DOMAIN d AS text CHECK (VALUE IN ('a')); CREATE TABLE o (s d)`, "a"},
		{`CREATE TABLE o (s text CHECK (s IN ('a'))); ALTER TABLE o DROP CONSTRAINT o_s_check, ADD CONSTRAINT y CHECK (s IN ('b'))`, "b"},
		{`CREATE TABLE o (z text CHECK (z IN ('a'))); ALTER TABLE o RENAME COLUMN z TO s`, "a"},
	} {
		assert.Equal(t, c.want, held(read(t, "postgresql", c.ddl).Table("", "o").Column("s", false), "a", "b", "c"), c.ddl)
	}
	c := read(t, "postgresql", `CREATE TABLE o (s varchar(3))`).Table("public", "o").Column("s", false)
	why, ok := c.Holds("long")
	assert.False(t, ok)
	assert.Equal(t, "is longer than varchar(3)", why)
}

func TestPostgreSQLKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ddl     string
		columns []string
		want    bool
	}{
		{`CREATE TABLE o (a int PRIMARY KEY, b int)`, []string{"a"}, true},
		{`CREATE TABLE o (a int PRIMARY KEY, b int)`, []string{"b"}, false},
		{`CREATE TABLE o (a int, b int, PRIMARY KEY (a, b))`, []string{"a"}, false},
		{`CREATE TABLE o (a int, b int, PRIMARY KEY (a, b))`, []string{"b", "a", "c"}, true},
		{`CREATE TABLE o (a int, b int UNIQUE)`, []string{"b"}, true},
		{`CREATE TABLE o (a int, b int UNIQUE DEFERRABLE)`, []string{"b"}, false},
		{`CREATE TABLE o (a int, b int); CREATE UNIQUE INDEX i ON o (b)`, []string{"b"}, true},
		{`CREATE TABLE o (a int, b int); CREATE UNIQUE INDEX i ON o (b) WHERE a > 0`, []string{"b"}, false},
		{`CREATE TABLE o (a int, b int); CREATE UNIQUE INDEX i ON o ((b + 1))`, []string{"b"}, false},
		{`CREATE TABLE o (a int, b int); CREATE INDEX i ON o (b)`, []string{"b"}, false},
		{`CREATE TABLE o (a int, b int); CREATE UNIQUE INDEX i ON o (b); DROP INDEX i`, []string{"b"}, false},
		{`CREATE TABLE o (a int, b int); ALTER TABLE o ADD CONSTRAINT k UNIQUE (b)`, []string{"b"}, true},
		{`CREATE TABLE o (a int, b int UNIQUE); ALTER TABLE o DROP CONSTRAINT o_b_key`, []string{"b"}, false},
		{`CREATE TABLE p (a int PRIMARY KEY); CREATE TABLE o (LIKE p INCLUDING ALL)`, []string{"a"}, true},
		{`CREATE TABLE p (a int PRIMARY KEY); CREATE TABLE o () INHERITS (p)`, []string{"a"}, false},
	} {
		assert.Equal(t, c.want, read(t, "postgresql", c.ddl).Table("", "o").Covered(c.columns), "%s by %v", c.ddl, c.columns)
	}
}

func TestPostgreSQLTables(t *testing.T) {
	t.Parallel()
	s := read(t, "postgresql", `
CREATE SCHEMA billing;
CREATE TABLE billing.orders (id bigint GENERATED ALWAYS AS IDENTITY, s text NOT NULL, g int GENERATED ALWAYS AS (1) STORED, n int, v bigserial);
CREATE VIEW seen AS SELECT 1;
CREATE MATERIALIZED VIEW mat AS SELECT 1;
CREATE TABLE made AS SELECT 1;
CREATE TABLE parent (id int); CREATE TABLE child () INHERITS (parent);
CREATE TABLE ruled (id int); CREATE RULE r AS ON UPDATE TO ruled DO INSTEAD NOTHING;
CREATE TABLE gone (id int); DROP TABLE gone;
CREATE TABLE old (id int); ALTER TABLE old RENAME TO new;
CREATE TABLE parts (id int, d date, PRIMARY KEY (id, d)) PARTITION BY RANGE (d);
CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
`, "-- +goose Up\nCREATE TABLE up (id int);\n-- +goose Down\nDROP TABLE up;")
	o := s.Table("billing", "orders")
	require.NotNil(t, o)
	assert.Nil(t, s.Table("", "orders"))
	assert.Equal(t, "billing.orders", o.Text())
	assert.True(t, o.Column("id", false).Generated)
	assert.True(t, o.Column("id", false).NotNull)
	assert.True(t, o.Column("s", false).NotNull)
	assert.Equal(t, Text, o.Column("s", false).Class)
	assert.True(t, o.Column("g", false).Generated)
	assert.Equal(t, Integer, o.Column("n", false).Class)
	assert.False(t, o.Column("n", false).NotNull)
	assert.Equal(t, Integer, o.Column("v", false).Class)
	assert.True(t, o.Column("v", false).NotNull)
	assert.Equal(t, View, s.Table("", "seen").Kind)
	assert.Equal(t, View, s.Table("", "mat").Kind)
	assert.Equal(t, Unreadable, s.Table("", "made").Kind)
	assert.True(t, s.Table("", "parent").Parent)
	assert.False(t, s.Table("", "parts").Parent)
	assert.True(t, s.Table("", "part1").Covered([]string{"id", "d"}))
	assert.True(t, s.Table("", "ruled").Ruled)
	assert.Nil(t, s.Table("", "gone"))
	assert.Nil(t, s.Table("", "old"))
	assert.NotNil(t, s.Table("", "new"))
	assert.NotNil(t, s.Table("", "up"))
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	s := read(t, "sqlite", `
CREATE TABLE orders (
  id INTEGER PRIMARY KEY,
  ref TEXT NOT NULL UNIQUE,
  part TEXT,
  status TEXT NOT NULL DEFAULT 'a' CHECK (status IN ('a', 'b')), -- CHECK (status = 'c')
  other TEXT CHECK ("other" <> 'a'),
  pair TEXT,
  long TEXT CHECK (length(long) > 3),
  v INTEGER NOT NULL,
  g INT GENERATED ALWAYS AS (v + 1),
  CHECK (pair = 'a' OR id > 3)
) STRICT;
CREATE UNIQUE INDEX p ON orders (part) WHERE part > 'a';
CREATE UNIQUE INDEX e ON orders (lower(part));
CREATE UNIQUE INDEX two ON orders (part, v);
CREATE VIEW seen AS SELECT 1;
CREATE TABLE w (a TEXT, b BLOB, PRIMARY KEY (b, a)) WITHOUT ROWID;
`)
	o := s.Table("", "Orders")
	require.NotNil(t, o)
	assert.Equal(t, "a b", held(o.Column("status", true), "a", "b", "c"))
	assert.Equal(t, "b c", held(o.Column("other", true), "a", "b", "c"))
	assert.Equal(t, "a b c", held(o.Column("pair", true), "a", "b", "c"))
	assert.Equal(t, "a b c", held(o.Column("long", true), "a", "b", "c"))
	assert.True(t, o.Covered([]string{"id"}))
	assert.True(t, o.Covered([]string{"ref"}))
	assert.False(t, o.Covered([]string{"part"}))
	assert.True(t, o.Covered([]string{"v", "part"}))
	assert.True(t, o.Column("g", true).Generated)
	assert.True(t, o.Column("v", true).NotNull)
	assert.Equal(t, Integer, o.Column("v", true).Class)
	assert.Equal(t, View, s.Table("", "seen").Kind)
	assert.True(t, s.Table("", "w").Covered([]string{"a", "b"}))
	why, _ := o.Column("status", true).Holds("c")
	assert.Equal(t, "is not allowed by CHECK (status IN ('a', 'b'))", why)
}

func TestMySQL(t *testing.T) {
	t.Parallel()
	s := read(t, "mysql", `
CREATE TABLE orders (
  id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  ref VARCHAR(36) NOT NULL UNIQUE,
  status ENUM('a', 'b') NOT NULL DEFAULT 'a',
  other VARCHAR(3) NOT NULL CHECK (other IN ('a', 'b')),
  free VARCHAR(3) CHECK (free <> 'a') NOT ENFORCED,
  v INT NOT NULL,
  g INT AS (v + 1),
  bin VARBINARY(10),
  b TEXT,
  CONSTRAINT pair CHECK (b = 'a' OR v > 3),
  UNIQUE KEY two (ref, v)
);
CREATE VIEW seen AS SELECT 1;
ALTER TABLE orders ADD COLUMN late VARCHAR(9), ADD UNIQUE INDEX l (late), MODIFY b VARCHAR(2);
CREATE UNIQUE INDEX e ON orders (v);
DROP INDEX e ON orders;
`)
	o := s.Table("", "orders")
	require.NotNil(t, o)
	assert.Equal(t, "a b", held(o.Column("status", true), "a", "b", "c"))
	assert.Equal(t, "a b", held(o.Column("other", true), "a", "b", "c"))
	assert.Equal(t, "a b c", held(o.Column("free", true), "a", "b", "c"))
	assert.Equal(t, "a b c", held(o.Column("b", true), "a", "b", "c", "long"))
	assert.True(t, o.Covered([]string{"id"}))
	assert.True(t, o.Covered([]string{"ref"}))
	assert.True(t, o.Covered([]string{"late"}))
	assert.False(t, o.Covered([]string{"v"}))
	assert.True(t, o.Column("id", true).NotNull)
	assert.True(t, o.Column("g", true).Generated)
	assert.Equal(t, Integer, o.Column("V", true).Class)
	assert.Equal(t, Bytes, o.Column("bin", true).Class)
	assert.Equal(t, View, s.Table("", "seen").Kind)
	why, _ := o.Column("status", true).Holds("c")
	assert.Equal(t, "is not a label of the enum", why)
	why, _ = o.Column("other", true).Holds("c")
	assert.Equal(t, "is not allowed by CHECK (other IN ('a','b'))", strings.ReplaceAll(why, "`", ""))
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for engine, line := range map[string]int{"postgresql": 2, "mysql": 2, "sqlite": 0} {
		_, err := Read(engine, []model.SchemaFile{{Path: "x.sql", Text: []byte("CREATE TABLE a (id int);\nCREATE TABEL b (id int);\n")}})
		var fault *Error
		require.ErrorAs(t, err, &fault, engine)
		assert.Equal(t, "x.sql", fault.Path)
		assert.Equal(t, line, fault.Line, engine)
		assert.NotContains(t, fault.Error(), "\n")
	}
}
