package e2e

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// What docs/operating.md tells an operator to type does what the page says, on every engine.

var (
	sqlBlock = regexp.MustCompile("(?ms)^```sql\n(.*?)^```$")
	sqlFor   = regexp.MustCompile(`(?m)\A-- (.*)\n`)
	readRow  = regexp.MustCompile("(?m)^\\| a (?:time|result) \\| `(.*)` \\| `(.*)` \\| `(.*)` \\|$")
)

// engine is what the page calls the driver's engine, and the number of its column in the page's table.
func (d driver) engine() (name string, column int) {
	switch {
	case d.postgres:
		return "PostgreSQL", 1
	case d.mysql:
		return "MySQL, MariaDB", 2
	default:
		return "SQLite", 3
	}
}

func operatingPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/operating.md")
	require.NoError(t, err)
	return string(page)
}

// pageStatements are those of the page for d's engine, about one row.
func pageStatements(t *testing.T, d driver, r row) (all []string) {
	t.Helper()
	name, _ := d.engine()
	for _, m := range sqlBlock.FindAllStringSubmatch(operatingPage(t), -1) {
		if only := sqlFor.FindStringSubmatch(m[1]); only == nil || only[1] == name {
			all = append(all, strings.NewReplacer("'HANDLER'", "'"+r.handler+"'", "'KEY'", "'"+r.key+"'").Replace(m[1]))
		}
	}
	return all
}

// typed runs the one statement of the page that begins with start and is about a row in this state.
func (s *shop) typed(t *testing.T, start, state string) {
	t.Helper()
	all := s.rows(t)
	require.Len(t, all, 1)
	require.Equal(t, state, all[0].state)
	var found []string
	for _, statement := range pageStatements(t, s.driver, all[0]) {
		if strings.HasPrefix(statement, start) && strings.Contains(statement, fmt.Sprintf("AND state = '%s'", state)) {
			found = append(found, statement)
		}
	}
	require.Len(t, found, 1)
	result, err := s.look.ExecContext(t.Context(), found[0])
	require.NoError(t, err)
	changed, err := result.RowsAffected()
	require.NoError(t, err)
	require.EqualValues(t, 1, changed)
}

// Every statement and every expression runs.
func TestOperating_EveryStatement(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		_, err := s.PlaceOrder(t.Context(), order())
		require.NoError(t, err)
		name, column := d.engine()
		all := pageStatements(t, d, s.rows(t)[0])
		require.GreaterOrEqual(t, len(all), 10, name)
		for _, m := range readRow.FindAllStringSubmatch(operatingPage(t), -1) {
			all = append(all, fmt.Sprintf("SELECT %s FROM idempotency_keys", m[column]))
		}
		require.Contains(t, all[len(all)-1], "result")
		var text string
		require.NoError(t, s.look.QueryRowContext(t.Context(), all[len(all)-1]).Scan(&text))
		assert.Contains(t, text, "{", "the result as text")
		for _, statement := range all {
			_, err := s.look.ExecContext(t.Context(), statement)
			require.NoError(t, err, statement)
		}
	})
}

// A parked key that is released runs again, under the next fence; one that is made done does not.
func TestOperating_Parked(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		for _, again := range []bool{true, false} {
			s := d.open(t, setup{})
			a := s.charging(t)
			e := order()
			killWorker(t, d, job{Driver: d.name, Place: s.place, Stage: afterCharge, Event: e, Outside: string(a), End: "wire"})
			eventually(t, func() bool { return s.rows(t)[0].state == "parked" || s.Wire(t.Context(), e) == nil })
			require.ErrorIs(t, s.Wire(t.Context(), e), idem.ErrParked)
			calls, fence := 1, 1
			if again {
				s.typed(t, "UPDATE idempotency_keys SET state = 'released'", "parked")
				calls, fence = 2, 2
			} else {
				s.typed(t, "UPDATE idempotency_keys SET state = 'done'", "parked")
			}
			for range 2 {
				require.NoError(t, s.Wire(t.Context(), e))
			}
			assert.Equal(t, calls, a.count(t, "call"))
			assert.Equal(t, 1, a.count(t, "charge"))
			states, fences := s.states(t)
			assert.Equal(t, []string{"done"}, states)
			assert.Equal(t, fence, fences)
			if !again {
				s.staysWhenSwept(t)
			}
		}
	})
}

// staysWhenSwept says that a janitor leaves the one row there is.
func (s *shop) staysWhenSwept(t *testing.T) {
	t.Helper()
	round, err := s.Janitor().Once(t.Context())
	require.NoError(t, err)
	assert.Zero(t, round.Removed)
	assert.Len(t, s.rows(t), 1)
}

// A failure that is forgotten leaves the event to the next delivery, in both modes, and with another payload.
func TestOperating_Failed(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		honest := s.placeOrder
		s.placeOrder = func(context.Context, Tx, events.OrderPlaced) (events.Receipt, error) {
			return events.Receipt{}, idem.Permanent(errBusiness)
		}
		e := order()
		for range 2 {
			_, err := s.PlaceOrder(t.Context(), e)
			require.ErrorAs(t, err, new(*idem.FailedError))
		}
		s.placeOrder = honest
		s.typed(t, "DELETE", "failed")
		e.Total++
		_, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.EqualValues(t, 1, s.runs.Load())

		s.typed(t, "DELETE", "done")
		_, err = s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.EqualValues(t, 2, s.runs.Load(), "forgotten")
	})
}

// A key that a lost transaction has left open is a person's, who deletes it or makes it done.
func TestOperating_Open(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		e := order()
		_, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		lose := func() {
			t.Helper()
			_, err := s.look.ExecContext(t.Context(), `UPDATE idempotency_keys SET state = 'open', result = NULL, expires_at = NULL`)
			require.NoError(t, err)
			_, err = s.PlaceOrder(t.Context(), e)
			require.ErrorIs(t, err, idem.ErrTransactionLost)
		}
		lose()
		s.typed(t, "UPDATE idempotency_keys SET state = 'done'", "open")
		_, err = s.PlaceOrder(t.Context(), e)
		require.ErrorIs(t, err, idem.ErrResultOmitted)
		assert.EqualValues(t, 1, s.runs.Load())
		s.staysWhenSwept(t)
		lose()
		s.typed(t, "DELETE", "open")
		_, err = s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.EqualValues(t, 2, s.runs.Load())
	})
}

// holder asks, as the page says, for the transaction that holds the key which a delivery waits for.
func (s *shop) holder(t *testing.T) (id int64) {
	t.Helper()
	about, how := "pg_stat_activity", `SELECT coalesce(max(h.pid), 0) FROM (%[1]s) AS h JOIN (%[1]s) AS w ON h.pid = ANY(w.waits_for)
		WHERE w.application_name = $1`
	if s.mysql {
		about, how = "innodb_trx", `SELECT coalesce(max(h.trx_mysql_thread_id), 0) FROM (%s) AS h
			JOIN information_schema.PROCESSLIST AS p ON p.ID = h.trx_mysql_thread_id WHERE p.USER = ? AND h.trx_state <> 'LOCK WAIT'`
	}
	all := pageStatements(t, s.driver, row{})
	i := slices.IndexFunc(all, func(statement string) bool { return strings.Contains(statement, about) })
	require.GreaterOrEqual(t, i, 0)
	asked := strings.TrimSuffix(strings.TrimSpace(sqlFor.ReplaceAllString(all[i], "")), ";")
	eventually(t, func() bool {
		require.NoError(t, s.look.QueryRowContext(t.Context(), fmt.Sprintf(how, asked), s.place).Scan(&id))
		return id != 0
	})
	return id
}

// A transaction that holds a key is found as the page says. It can be ended: the claim goes with the effects, and whoever waits runs.
func TestOperating_InProgress(t *testing.T) {
	eachServer(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{long}})
		winner := s.park(t)
		e := order()
		first := s.deliver(t.Context(), e)
		<-winner.reached
		second := s.deliver(t.Context(), e)
		s.awaitRivals(t, 1)
		end := s.terminate
		if s.mysql {
			end = s.kill
		}
		end(t, s.holder(t))
		won := <-second
		require.NoError(t, won.err)
		assert.Equal(t, "run 2", won.PlacedBy)
		winner.letGo <- errBusiness
		require.Error(t, (<-first).err)
		assert.Equal(t, 1, s.effects(t))
	})
}
