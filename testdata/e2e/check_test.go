package e2e

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"
)

// foreign is what the database says, in any language.
const foreign = "нечто пошло не так"

// wrong wants a delivery and Check to say the same of the table of keys.
func (s *shop) wrong(t *testing.T, columns []string, parts ...string) {
	t.Helper()
	s.abroad()
	_, first := s.PlaceOrder(t.Context(), order())
	for _, err := range []error{first, s.Check(t.Context())} {
		var table *idem.TableError
		require.ErrorAs(t, err, &table)
		assert.Equal(t, columns, table.Columns)
		for _, part := range append(parts, s.quoted("idempotency_keys"), "idemdb/schema.sql") {
			assert.Contains(t, err.Error(), part)
		}
	}
	assert.Zero(t, s.effects(t))
	s.returned(t)
}

// quoted is a name as the engine's statements spell it.
func (d driver) quoted(name string) string {
	if d.mysql {
		return "`" + name + "`"
	}
	return `"` + name + `"`
}

func TestCheck(t *testing.T) {
	t.Run("all is well", func(t *testing.T) {
		eachDriver(t, func(t *testing.T, d driver) {
			s := d.open(t, setup{})
			require.NoError(t, s.Check(t.Context()))
			s.clean(t)
			s.returned(t)
		})
	})
	t.Run("no table", func(t *testing.T) {
		eachDriver(t, func(t *testing.T, d driver) {
			s := d.open(t, setup{proxied: true})
			s.exec(t, `DROP TABLE idempotency_keys`)
			s.wrong(t, nil, "does not exist", foreign)
		})
	})
	t.Run("an older table", func(t *testing.T) {
		eachDriver(t, func(t *testing.T, d driver) {
			s := d.open(t, setup{proxied: true})
			s.exec(t, `ALTER TABLE idempotency_keys DROP COLUMN failure`)
			s.exec(t, `ALTER TABLE idempotency_keys DROP COLUMN successor`)
			s.wrong(t, []string{"failure", "successor"}, "has no column failure, successor", foreign)
		})
	})
	t.Run("another table", func(t *testing.T) {
		eachDriver(t, func(t *testing.T, d driver) {
			s := d.open(t, setup{proxied: true})
			s.exec(t, `ALTER TABLE idempotency_keys RENAME TO earlier`)
			s.exec(t, `CREATE TABLE idempotency_keys AS SELECT * FROM earlier`)
			if d.mysql { // which would take the claims, all of them
				s.wrong(t, nil, "is not as", "its primary key is () and not (handler,key)")
			} else {
				s.wrong(t, nil, "is not as", foreign)
			}
		})
	})
	t.Run("no permission", func(t *testing.T) {
		t.Parallel()
		for _, d := range onPostgres() {
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				d.need(t)
				var role string
				s := d.open(t, setup{proxied: true, conn: func(c *pgx.ConnConfig) {
					role = c.RuntimeParams["application_name"] + "_nobody"
					c.RuntimeParams["role"] = role
				}})
				s.exec(t, `CREATE ROLE `+role)
				t.Cleanup(func() {
					_, err := s.look.Exec(`DROP OWNED BY ` + role + `; DROP ROLE ` + role)
					assert.NoError(t, err)
				})
				s.exec(t, `GRANT USAGE ON SCHEMA `+s.place+` TO `+role)
				s.wrong(t, nil, "must not be used", foreign)
				s.exec(t, `GRANT SELECT, INSERT ON idempotency_keys TO `+role)
				var table *idem.TableError
				require.ErrorAs(t, s.Check(t.Context()), &table, "UPDATE is needed too")
				s.exec(t, `GRANT UPDATE ON idempotency_keys TO `+role)
				require.NoError(t, s.Check(t.Context()))
			})
		}
	})
}
