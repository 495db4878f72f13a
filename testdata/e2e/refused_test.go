package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"
)

// An error in answer to COMMIT is of what was deferred to it, and says nothing about the table of keys, whatever its code.
func TestCommitRefused(t *testing.T) {
	eachPostgres(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		for _, statement := range []string{
			`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
				$$ BEGIN RAISE insufficient_privilege; END $$`,
			`CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON effects DEFERRABLE INITIALLY DEFERRED
				FOR EACH ROW EXECUTE FUNCTION refuse()`,
		} {
			s.exec(t, statement)
		}
		for _, deliver := range s.both(order()) {
			_, err := deliver(t.Context())
			var table *idem.TableError
			require.ErrorContains(t, err, "42501")
			assert.NotErrorAs(t, err, &table)
		}
		s.clean(t)
		s.returned(t)
	})
}
