package schema

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A key holds for a column's own comparison, and for as long as it is there: what is looser than a key is no key, or a
// transition without code would change two rows in one round trip.
func TestKeysThatDoNotCover(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		engine, ddl string
		column      string
		want        bool
	}{
		{"postgresql", `CREATE TABLE o (a text COLLATE ci UNIQUE)`, "a", true},
		{"postgresql", `CREATE TABLE o (a text COLLATE ci); CREATE UNIQUE INDEX i ON o (a)`, "a", true},
		{"postgresql", `CREATE TABLE o (a text COLLATE ci); CREATE UNIQUE INDEX i ON o (a COLLATE "C")`, "a", false},
		{"postgresql", `CREATE TABLE o (a text COLLATE "C"); CREATE UNIQUE INDEX i ON o (a COLLATE "C")`, "a", true},
		{"postgresql", `CREATE TABLE o (a text); CREATE UNIQUE INDEX i ON o (a text_pattern_ops)`, "a", true},
		{"postgresql", `CREATE TABLE o (a text); CREATE UNIQUE INDEX i ON o (a my_ops)`, "a", false},
		{"postgresql", `CREATE TABLE o (a int UNIQUE INITIALLY DEFERRED)`, "a", false},
		{"postgresql", `CREATE TABLE o (a int UNIQUE NOT DEFERRABLE)`, "a", true},
		{"postgresql", `CREATE TABLE o (a int); CREATE UNIQUE INDEX i ON o (a); ALTER INDEX i RENAME TO j; DROP INDEX j`, "a", false},
		{"postgresql", `CREATE SCHEMA x; CREATE TABLE o (a int); CREATE UNIQUE INDEX i ON o (a); ALTER TABLE o SET SCHEMA x; DROP INDEX x.i; ALTER TABLE x.o SET SCHEMA public`, "a", false},
		{"postgresql", `CREATE TABLE o (a int) PARTITION BY LIST (a); CREATE UNIQUE INDEX i ON ONLY o (a)`, "a", false},
		{"postgresql", `CREATE TABLE o (a int UNIQUE NULLS NOT DISTINCT, b int)`, "a", true},
		{"postgresql", `CREATE TABLE o (a int, b int); CREATE UNIQUE INDEX i ON o (a) INCLUDE (b)`, "a", true},
		{"postgresql", `CREATE TABLE o (a int, b int); CREATE UNIQUE INDEX i ON o (b) INCLUDE (a)`, "a", false},
		{"postgresql", `CREATE TABLE o (a int, b int, EXCLUDE USING gist (a WITH =))`, "a", false},
		{"mysql", "CREATE TABLE o (a varchar(20) UNIQUE)", "a", true},
		{"mysql", "CREATE TABLE o (a varchar(20), UNIQUE KEY k (a(10)))", "a", false},
		{"mysql", "CREATE TABLE o (a text, PRIMARY KEY (a(10)))", "a", false},
		{"mysql", "CREATE TABLE o (a int, UNIQUE KEY k (a)); ALTER TABLE o DROP CONSTRAINT k", "a", false},
		{"mysql", "CREATE TABLE o (a int, UNIQUE KEY k ((a + 1)))", "a", false},
		{"mysql", "CREATE TABLE o (a int, UNIQUE KEY k (a)); ALTER TABLE o RENAME INDEX k TO l; DROP INDEX l ON o", "a", false},
		{"mysql", "CREATE TABLE o (a SERIAL)", "a", true},
		{"mysql", "CREATE TABLE o (a int KEY)", "a", true},
		{"mysql", "CREATE TABLE o (a int) /*!50100 ENGINE=InnoDB */; CREATE /*!50000 UNIQUE */ INDEX i ON o (a)", "a", true},
		{"sqlite", "CREATE TABLE o (a TEXT COLLATE NOCASE UNIQUE)", "a", true},
		{"sqlite", "CREATE TABLE o (a TEXT COLLATE NOCASE); CREATE UNIQUE INDEX i ON o (a)", "a", true},
		{"sqlite", "CREATE TABLE o (a TEXT COLLATE NOCASE); CREATE UNIQUE INDEX i ON o (a COLLATE BINARY)", "a", false},
		{"sqlite", "CREATE TABLE o (a TEXT); CREATE UNIQUE INDEX i ON o (a COLLATE NOCASE)", "a", true},
		{"sqlite", "CREATE TABLE o (a TEXT COLLATE NOCASE, PRIMARY KEY (a COLLATE BINARY))", "a", false},
		{"sqlite", "CREATE TABLE o (a TEXT COLLATE NOCASE, PRIMARY KEY (a COLLATE BINARY)) WITHOUT ROWID", "a", false},
		{"sqlite", "CREATE TABLE o (a TEXT PRIMARY KEY) WITHOUT ROWID", "a", true},
		{"sqlite", "CREATE TABLE o (a INTEGER PRIMARY KEY)", "a", true},
		{"sqlite", "CREATE TABLE o (a INT PRIMARY KEY DESC)", "a", true},
	} {
		assert.Equal(t, c.want, read(t, c.engine, c.ddl).Table("", "o").Covered([]string{c.column}), "%s: %s", c.engine, c.ddl)
	}
}

// What is dropped, renamed or replaced no longer forbids a state, and what only the database understands forbids none.
func TestChecksThatAreGone(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("l", 58)
	for _, c := range []struct{ engine, ddl, want string }{
		{"postgresql", `CREATE DOMAIN d AS text CHECK (VALUE IN ('a')); CREATE TABLE o (s d); ALTER DOMAIN d DROP CONSTRAINT d_check; ALTER DOMAIN d ADD CHECK (VALUE IN ('a', 'b'))`, "a b"},
		{"postgresql", `CREATE DOMAIN d AS text CONSTRAINT x CHECK (VALUE IN ('a')); CREATE TABLE o (s d); ALTER DOMAIN d RENAME CONSTRAINT x TO y; ALTER DOMAIN d DROP CONSTRAINT y`, "a b c"},
		{"postgresql", `CREATE DOMAIN d AS text; CREATE TABLE o (s d); ALTER DOMAIN d ADD CONSTRAINT x CHECK (VALUE IN ('a'))`, "a"},
		{"postgresql", `CREATE TABLE ` + long + ` (s text CHECK (s IN ('a'))); ALTER TABLE ` + long + ` DROP CONSTRAINT ` + long[:63-len("_s_check")] + `_s_check; ALTER TABLE ` + long + ` RENAME TO o`, "a b c"},
		{"postgresql", `CREATE TABLE o (s text CHECK (s IN ('a')), CHECK (s IN ('a', 'b'))); ALTER TABLE o DROP CONSTRAINT o_s_check`, "a b"},
		{"postgresql", `CREATE TABLE o (s text CHECK (s IN ('a')), CHECK (s IN ('a', 'b'))); ALTER TABLE o DROP CONSTRAINT o_s_check1`, "a"},
		{"postgresql", `CREATE TABLE o (s citext CHECK (s IN ('A')))`, "a"},
		{"postgresql", `CREATE TABLE o (s text CHECK (s::varchar(1) IN ('a')))`, "a b c"},
		{"postgresql", `CREATE TABLE o (s text CHECK ((s)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[])))`, "a b"},
		{"postgresql", `CREATE TABLE o (s text CHECK (s LIKE 'x%'))`, "a b c"},
		{"postgresql", `CREATE TABLE o (s text CHECK (lower(s) IN ('x')))`, "a b c"},
		{"postgresql", `CREATE TABLE o (s text); ALTER TABLE o ADD CHECK (s IN ('a')) NOT VALID`, "a"},
		{"mysql", `CREATE TABLE o (s varchar(9) CHECK (s IN ('a'))); ALTER TABLE o DROP CHECK o_chk_1`, "a b c"},
		{"mysql", `CREATE TABLE o (s varchar(9), CHECK (s IN ('a')), CHECK (s IN ('a', 'b'))); ALTER TABLE o DROP CONSTRAINT o_chk_2`, "a"},
		{"mysql", `CREATE TABLE o (s varchar(9), CHECK (s IN ('a')), CHECK (s IN ('a', 'b'))); ALTER TABLE o DROP CONSTRAINT CONSTRAINT_1`, "a b"},
		{"mysql", `CREATE TABLE o (s varchar(9), CONSTRAINT x CHECK (s IN ('a'))); ALTER TABLE o DROP CONSTRAINT x`, "a b c"},
		{"mysql", `CREATE TABLE o (s varchar(9) CHECK (s IN ('a'))); ALTER TABLE o MODIFY s varchar(9) CHECK (s IN ('a', 'b'))`, "a b"},
		{"mysql", `CREATE TABLE o (s varchar(9), CONSTRAINT x CHECK (s IN ('a'))); ALTER TABLE o MODIFY s varchar(10)`, "a"},
		{"mysql", `CREATE TABLE o (s enum('a')); ALTER TABLE o MODIFY s enum('a', 'b')`, "a b"},
		{"sqlite", `CREATE TABLE o (s TEXT COLLATE NOCASE CHECK (s IN ('A', 'b')))`, "a b"},
		{"sqlite", `CREATE TABLE o (s TEXT CHECK (s IN ("a", "b")))`, "a b"},
		{"sqlite", `CREATE TABLE o (s TEXT CHECK (s LIKE 'x%'))`, "a b c"},
		{"sqlite", `CREATE TABLE o (s TEXT CHECK (s IN ('a')) ); ALTER TABLE o RENAME COLUMN s TO t; ALTER TABLE o RENAME COLUMN t TO s`, "a"},
	} {
		assert.Equal(t, c.want, held(read(t, c.engine, c.ddl).Table("", "o").Column("s", true), "a", "b", "c"), "%s: %s", c.engine, c.ddl)
	}
}

// The state of a row that is inserted without one.
func TestDefaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ engine, ddl, want string }{
		{"postgresql", `CREATE TABLE o (s text DEFAULT 'a')`, "a"},
		{"postgresql", `CREATE TABLE o (s text DEFAULT 'a'::character varying)`, "a"},
		{"postgresql", `CREATE TYPE k AS ENUM ('a', 'b'); CREATE TABLE o (s k DEFAULT 'b'::k)`, "b"},
		{"postgresql", `CREATE TABLE o (s text); ALTER TABLE o ALTER COLUMN s SET DEFAULT 'b'`, "b"},
		{"postgresql", `CREATE TABLE o (s text DEFAULT 'a'); ALTER TABLE o ALTER s DROP DEFAULT`, ""},
		{"postgresql", `CREATE DOMAIN d AS text DEFAULT 'a'; CREATE TABLE o (s d)`, "a"},
		{"postgresql", `CREATE DOMAIN d AS text DEFAULT 'a'; CREATE TABLE o (s d DEFAULT 'b'); ALTER DOMAIN d DROP DEFAULT`, "b"},
		{"postgresql", `CREATE TABLE o (s text DEFAULT lower('A'))`, ""},
		{"mysql", `CREATE TABLE o (s varchar(9) DEFAULT 'a')`, "a"},
		{"mysql", `CREATE TABLE o (s enum('a', 'b') NOT NULL DEFAULT 'b')`, "b"},
		{"mysql", `CREATE TABLE o (s enum('a', 'b') NOT NULL)`, "a"},
		{"mysql", `CREATE TABLE o (s enum('a', 'b'))`, ""},
		{"mysql", `CREATE TABLE o (s varchar(9)); ALTER TABLE o ALTER COLUMN s SET DEFAULT 'b'`, "b"},
		{"mysql", `CREATE TABLE o (s varchar(9) DEFAULT 'a'); ALTER TABLE o ALTER s DROP DEFAULT`, ""},
		{"mysql", `CREATE TABLE o (s varchar(9) DEFAULT 'a'); ALTER TABLE o MODIFY s varchar(9)`, ""},
		{"sqlite", `CREATE TABLE o (s TEXT DEFAULT 'a''b')`, "a'b"},
		{"sqlite", `CREATE TABLE o (s TEXT DEFAULT "a")`, "a"},
		{"sqlite", `CREATE TABLE o (s TEXT DEFAULT (lower('A')))`, ""},
		{"sqlite", `CREATE TABLE o (s TEXT)`, ""},
	} {
		assert.Equal(t, c.want, read(t, c.engine, c.ddl).Table("", "o").Column("s", true).Default, "%s: %s", c.engine, c.ddl)
	}
}
