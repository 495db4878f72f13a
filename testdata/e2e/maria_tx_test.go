package e2e

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// myModes are ways in which users open their pools.
var myModes = map[string]func(*mysql.Config){
	"as it is":       func(*mysql.Config) {},
	"found rows":     func(c *mysql.Config) { c.ClientFoundRows = true },
	"interpolated":   func(c *mysql.Config) { c.InterpolateParams = true },
	"multistatement": func(c *mysql.Config) { c.MultiStatements, c.InterpolateParams = true, true },
	"not strict":     func(c *mysql.Config) { c.Params = map[string]string{"sql_mode": "''"} },
	"oracle":         func(c *mysql.Config) { c.Params = map[string]string{"sql_mode": "'ORACLE'"} },
	"no empty texts": func(c *mysql.Config) { mode(c, "ORACLE,EMPTY_STRING_IS_NULL") },
	"quotes": func(c *mysql.Config) {
		c.InterpolateParams = true
		c.Params = map[string]string{"sql_mode": "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'"}
	},
	"no autocommit": func(c *mysql.Config) { c.Params = map[string]string{"autocommit": "0"} },
	"no autocommit, serializable": func(c *mysql.Config) {
		c.Params = map[string]string{"autocommit": "0", "tx_isolation": "'SERIALIZABLE'"}
	},
	"read uncommitted":   sessionLevel("READ-UNCOMMITTED"),
	"repeatable read":    sessionLevel("REPEATABLE-READ"),
	"snapshot isolation": snapshots,
	"in Bulgarian":       func(c *mysql.Config) { c.Params = map[string]string{"lc_messages": "'bg_BG'"} },
	"chained":            completion("CHAIN"),
	"released":           completion("RELEASE"),
	"safe updates":       func(c *mysql.Config) { c.Params = map[string]string{"sql_safe_updates": "1"} },
	"bulk load":          func(c *mysql.Config) { c.Params = map[string]string{"unique_checks": "0", "foreign_key_checks": "0"} },
	"no deadlock search": func(c *mysql.Config) { c.Params = map[string]string{"innodb_lock_wait_timeout": "1"} },
}

// completion is what the session does after each COMMIT and ROLLBACK.
func completion(kind string) func(*mysql.Config) {
	return func(c *mysql.Config) { c.Params = map[string]string{"completion_type": "'" + kind + "'"} }
}

// Everything a delivery can meet, on every kind of session. The settings of the connections are afterwards what they were.
func TestMaria_Sessions(t *testing.T) {
	for name, set := range myModes {
		t.Run(name, func(t *testing.T) {
			eachMaria(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{mysql: set, options: []idem.Option{long}})
				before := s.settings(t)
				s.everything(t)

				a := s.charging(t)
				e := order()
				first, err := s.Charge(t.Context(), e)
				require.NoError(t, err)
				again, err := s.Charge(t.Context(), e)
				require.NoError(t, err)
				assert.Equal(t, first, again)
				assert.Equal(t, 1, a.count(t, "call"))
				states, _ := s.states(t)
				assert.Equal(t, []string{"done"}, states, "visible to others")
				s.allHave(t, before)
			})
		})
	}
}

// mySettings are those of a session that the driver changes.
const mySettings = `SELECT CONCAT_WS(' ', @@SESSION.autocommit, @@SESSION.innodb_lock_wait_timeout, @@SESSION.lock_wait_timeout,
	@@SESSION.tx_isolation, @@SESSION.sql_mode, @@SESSION.completion_type, @@SESSION.sql_safe_updates)`

// settings are those of one of the pool's connections.
func (s *shop) settings(t *testing.T) (all string) {
	t.Helper()
	require.NoError(t, s.db.QueryRowContext(t.Context(), mySettings).Scan(&all))
	return all
}

// allHave says that all of the pool's idle connections have these settings, and no transaction.
func (s *shop) allHave(t *testing.T, want string) {
	t.Helper()
	var conns []*sql.Conn
	for range s.db.Stats().Idle {
		conn, err := s.db.Conn(t.Context())
		require.NoError(t, err)
		conns = append(conns, conn)
		var got string
		require.NoError(t, conn.QueryRowContext(t.Context(), mySettings).Scan(&got))
		assert.Equal(t, want, got)
	}
	assert.NotEmpty(t, conns)
	for _, conn := range conns {
		require.NoError(t, conn.Close())
	}
}

// A transaction that somebody has begun by SQL text on one of the pool's connections, and left there, is committed as by BEGIN: what
// a delivery writes is not in it.
func TestMaria_TransactionLeftOnTheConnection(t *testing.T) {
	for name, autocommit := range map[string]string{"autocommit": "1", "no autocommit": "0"} {
		t.Run(name, func(t *testing.T) {
			eachMaria(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{mysql: func(c *mysql.Config) { c.Params = map[string]string{"autocommit": autocommit} }})
				s.db.SetMaxOpenConns(1)
				s.charging(t)
				leave := func() {
					for _, text := range []string{`BEGIN`, `INSERT INTO effects (what, worker) VALUES ('left', 'somebody')`} {
						_, err := s.db.ExecContext(t.Context(), text)
						require.NoError(t, err)
					}
				}
				leave()
				_, err := s.Charge(t.Context(), order())
				require.NoError(t, err)
				states, _ := s.states(t)
				assert.Equal(t, []string{"done"}, states, "visible to others")
				leave()
				_, err = s.PlaceOrder(t.Context(), order())
				require.NoError(t, err)
				_, err = s.db.ExecContext(t.Context(), `ROLLBACK`)
				require.NoError(t, err)
				assert.Len(t, s.rows(t), 2)
				assert.Equal(t, 3, s.effects(t))
				s.returned(t)
			})
		})
	}
}

// The handler's statements have the user's own waits and mode, not those of the claim.
func TestMaria_SettingsInTheHandler(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{mysql: func(c *mysql.Config) {
			c.Params = map[string]string{"innodb_lock_wait_timeout": "47", "lock_wait_timeout": "48", "sql_mode": "'ANSI_QUOTES'"}
		}})
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			n, err := tx.Int(ctx, `SELECT @@SESSION.innodb_lock_wait_timeout = 47 AND @@SESSION.lock_wait_timeout = 48
				AND @@SESSION.sql_mode = 'ANSI_QUOTES'`)
			assert.EqualValues(t, 1, n)
			return s.answer(e), err
		}
		e := order()
		_, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		s.expire(t)
		_, err = s.PlaceOrder(t.Context(), e)
		require.NoError(t, err, "taken over")

		c := s.Begin(t)
		_, err = c.place(t.Context(), order())
		require.NoError(t, err)
		_, err = c.place(t.Context(), e)
		require.NoError(t, err)
		_, err = s.placeOrder(t.Context(), c.tx, e)
		require.NoError(t, err, "in the caller's transaction, after a claim and after a repeat")
		require.NoError(t, c.commit(t.Context()))
	})
}

// What ends the transaction under the handler: the database commits it for a statement of another kind, or the handler does by
// SQL text. What came before is committed with an open claim; what comes after must not be.
func TestMaria_EndedUnderTheHandler(t *testing.T) {
	for name, end := range map[string][]string{
		"DDL":                     {`CREATE TABLE ddl (i int)`},
		"DDL that fails":          {`DROP TABLE no_such_table`},
		"BEGIN":                   {`BEGIN`},
		"START TRANSACTION":       {`START TRANSACTION`},
		"COMMIT":                  {`COMMIT`},
		"COMMIT AND CHAIN":        {`COMMIT AND CHAIN`},
		"COMMIT, BEGIN":           {`COMMIT`, `BEGIN`},
		"LOCK TABLES":             {`LOCK TABLES effects WRITE, idempotency_keys WRITE`, `UNLOCK TABLES`},
		"autocommit":              {`SET autocommit = 1`},
		"ROLLBACK":                {`ROLLBACK`},
		"ROLLBACK, BEGIN":         {`ROLLBACK`, `BEGIN`},
		"ROLLBACK AND CHAIN":      {`ROLLBACK AND CHAIN`},
		"a savepoint of its name": {`ROLLBACK`, `SAVEPOINT idemgen`},
	} {
		t.Run(name, func(t *testing.T) {
			eachMaria(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{})
				before := s.settings(t)
				s.auditOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) error {
					if err := s.effect(ctx, tx, "before"); err != nil {
						return err
					}
					for _, text := range end {
						if _, err := tx.Exec(ctx, text); err != nil && !strings.HasPrefix(text, "DROP") {
							return err
						}
					}
					return s.effect(ctx, tx, "after")
				}
				s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
					return s.answer(e), s.auditOrder(ctx, tx, e)
				}
				for i, deliver := range s.both(order()) {
					if i == 1 && name == "DDL" {
						s.exec(t, `DROP TABLE ddl`)
					}
					_, err := deliver(t.Context())
					require.ErrorIs(t, err, idem.ErrTransactionLost)
				}
				s.returned(t)
				s.allHave(t, before)
				after := 0
				if name == "autocommit" { // from then on each statement is committed as it comes
					after = 2
				}
				assert.Equal(t, after, s.count(t, `SELECT count(*) FROM effects WHERE what = 'after'`))
				if end[0][:3] == "ROL" {
					s.clean(t)
					return
				}
				assert.Equal(t, 2, s.count(t, `SELECT count(*) FROM effects WHERE what = 'before'`))
				for _, r := range s.rows(t) {
					assert.Equal(t, "open", r.state)
				}
			})
		})
	}
}

// A visible open row is no result to a repeat: someone has to look.
func TestMaria_OpenRow(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			_, err := tx.Exec(ctx, `CREATE TABLE ddl (i int)`)
			return s.answer(e), err
		}
		e := order()
		for range 2 {
			_, err := s.PlaceOrder(t.Context(), e)
			require.ErrorIs(t, err, idem.ErrTransactionLost)
		}
		assert.EqualValues(t, 1, s.runs.Load())
	})
}

// A context that ends in a statement of the handler costs the connection. The server sees that when the statement ends, and until
// then the key is taken.
func TestMaria_ContextOverInAStatement(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{long}})
		honest := s.placeOrder
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			r, err := s.receipt(ctx, tx, e)
			if err != nil {
				return r, err
			}
			_, err = tx.Int(ctx, `SELECT SLEEP(2)`)
			return r, err
		}
		e := order()
		asleep := s.deliver(ctx, e)
		eventually(t, func() bool {
			return s.count(t, `SELECT count(*) FROM information_schema.PROCESSLIST WHERE USER = $1 AND STATE = 'User sleep'`, s.place) == 1
		})
		cancel()
		require.ErrorIs(t, (<-asleep).err, context.Canceled)
		s.returned(t)

		s.placeOrder = honest
		got, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err, "after the server has seen it")
		assert.Equal(t, "run 2", got.PlacedBy)
		assert.Equal(t, 1, s.effects(t))
		assert.Len(t, s.rows(t), 1)
	})
}

// Rows that the handler leaves open keep the connection busy: nothing more can be sent, and nothing is committed.
func TestMaria_RowsLeftOpen(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{long}})
		s.fill(t, 20_000)
		var left []*sql.Rows
		s.auditOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) error {
			if err := s.effect(ctx, tx, "in vain"); err != nil {
				return err
			}
			rows, err := tx.(sqlTx).tx.(*sql.Tx).QueryContext(ctx, "SELECT REPEAT(`key`, 50) FROM idempotency_keys")
			if err == nil && !rows.Next() {
				err = errors.New("no rows")
			}
			left = append(left, rows)
			return err
		}
		err := s.AuditOrder(t.Context(), order())
		require.Error(t, err)
		require.NoError(t, errors.Join(left[0].Close()))
		s.returned(t)
		eventually(t, func() bool { return s.transactions(t).all[s.place] == 0 })
		assert.Zero(t, s.effects(t))
		assert.Equal(t, 20_000, s.count(t, `SELECT count(*) FROM idempotency_keys`))
	})
}

// A result that the server's packets have no room for is an error, and nothing is left.
func TestMaria_ResultOverThePacket(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		for _, inText := range []bool{false, true} {
			s := d.open(t, setup{options: []idem.Option{idem.WithResultLimit(1 << 30)}, mysql: func(c *mysql.Config) {
				c.InterpolateParams = inText
				c.Params = map[string]string{"sql_mode": "''"}
			}})
			large := strings.Repeat("x", 17<<20) // max_allowed_packet is 16 MiB
			s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
				r, err := s.receipt(ctx, tx, e)
				r.PlacedBy = large
				return r, err
			}
			_, err := s.PlaceOrder(t.Context(), order())
			require.Error(t, err)
			s.returned(t)
			eventually(t, func() bool { return s.transactions(t).all[s.place] == 0 })
			s.clean(t)
			large = strings.Repeat("x", 1<<20) // more than a BLOB holds
			e := order()
			first, err := s.PlaceOrder(t.Context(), e)
			require.NoError(t, err)
			again, err := s.PlaceOrder(t.Context(), e)
			require.NoError(t, err)
			assert.Equal(t, first, again)
		}
	})
}

// A table that takes the statements and does other things with them than those of schema.sql.
func TestMaria_UnfitTable(t *testing.T) {
	for want, statement := range map[string]string{
		"engine":       `ALTER TABLE idempotency_keys ENGINE = Aria`,
		"primary key":  `ALTER TABLE idempotency_keys DROP PRIMARY KEY, ADD PRIMARY KEY (handler, "key", state)`,
		"part of it":   `ALTER TABLE idempotency_keys DROP PRIMARY KEY, ADD PRIMARY KEY (handler, "key"(20))`,
		"bytewise":     `ALTER TABLE idempotency_keys CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci`,
		"without name": `ALTER TABLE idempotency_keys DROP PRIMARY KEY, ADD UNIQUE KEY (handler, "key")`,
	} {
		t.Run(want, func(t *testing.T) {
			eachMaria(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{})
				s.exec(t, statement)
				_, first := s.PlaceOrder(t.Context(), order())
				_, charged := s.Charge(t.Context(), order())
				c := s.Begin(t)
				_, joined := c.place(t.Context(), order())
				require.NoError(t, c.rollback(t.Context()))
				for _, err := range []error{first, charged, joined, s.Check(t.Context())} {
					var table *idem.TableError
					require.ErrorAs(t, err, &table)
				}
				s.clean(t)
				s.returned(t)
			})
		})
	}
}

// What an account must be allowed to do, and by what error it is told where it is not.
func TestMaria_Permissions(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		all := "`" + s.place + "`"
		s.exec(t, `REVOKE ALL ON `+all+`.* FROM `+all+`@'%'`)
		s.exec(t, `GRANT INSERT ON `+all+`.effects TO `+all+`@'%'`)
		s.wrong(t, nil, "must not be used", foreign)
		s.exec(t, `GRANT SELECT, INSERT ON `+all+`.idempotency_keys TO `+all+`@'%'`)
		var table *idem.TableError
		require.ErrorAs(t, s.Check(t.Context()), &table, "UPDATE is needed too")
		s.exec(t, `GRANT UPDATE ON `+all+`.idempotency_keys TO `+all+`@'%'`)
		require.NoError(t, s.Check(t.Context()))
		_, err := s.PlaceOrder(t.Context(), order())
		require.NoError(t, err)
		_, err = s.Janitor().Once(t.Context())
		require.ErrorAs(t, err, &table, "the janitor needs DELETE")
		s.exec(t, `GRANT DELETE ON `+all+`.idempotency_keys TO `+all+`@'%'`)
		_, err = s.Janitor().Once(t.Context())
		require.NoError(t, err)
	})
}

// Connections that broke while they were idle, after a restart of the server say, are no error: nothing was done on them.
func TestMaria_IdleConnectionsBreak(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		for _, unchecked := range []bool{false, true} {
			s := d.open(t, setup{options: []idem.Option{long}, mysql: func(c *mysql.Config) { c.CheckConnLiveness = !unchecked }})
			var all []<-chan answered
			for range 8 {
				all = append(all, s.deliver(t.Context(), order()))
			}
			for _, one := range all {
				require.NoError(t, (<-one).err)
			}
			s.killAll(t)
			_, err := s.PlaceOrder(t.Context(), order())
			require.NoError(t, err)
			s.killAll(t)
			a := s.charging(t)
			_, err = s.Charge(t.Context(), order())
			require.NoError(t, err)
			assert.Equal(t, 1, a.count(t, "call"))
			s.returned(t)
		}
	})
}

// Metadata locks, of DDL and LOCK TABLES, are waited for like rivals: within the bound, and with inflight=fail hardly at all.
func TestMaria_TableLocked(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{idem.WithInFlightTimeout(50 * time.Millisecond)}})
		require.NoError(t, s.Check(t.Context()))
		locker, err := s.look.Conn(t.Context())
		require.NoError(t, err)
		_, err = locker.ExecContext(t.Context(), `LOCK TABLES idempotency_keys WRITE`)
		require.NoError(t, err)
		var busy *idem.InProgressError
		_, err = s.PlaceOrder(t.Context(), order())
		require.ErrorAs(t, err, &busy)
		e := order()
		_, err = s.RushOrder(t.Context(), &e)
		require.ErrorAs(t, err, &busy)
		_, err = s.Charge(t.Context(), e)
		require.ErrorAs(t, err, &busy)
		_, err = locker.ExecContext(t.Context(), `UNLOCK TABLES`)
		require.NoError(t, err)
		require.NoError(t, locker.Close())
		_, err = s.RushOrder(t.Context(), &e)
		require.NoError(t, err)
		s.returned(t)
	})
}

// The server undoes the statement that failed and nothing else: what the handler goes on with is committed, as it would be without
// idemgen.
func TestEffects15_SwallowedErrorOnMariaDB(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		s.swallow(t)
		e := order()
		first, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		again, err := s.PlaceOrder(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, first, again)
		assert.Equal(t, 1, s.effects(t))
	})
}

// A deadlock in a handler that has joined ends all of the caller's transaction, and the caller cannot go on in it as if it did not.
func TestInTx_Deadlock(t *testing.T) {
	for name, swallowed := range map[string]bool{"returned": false, "swallowed": true} {
		t.Run(name, func(t *testing.T) {
			eachMaria(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{})
				s.exec(t, `INSERT INTO stock (sku, on_hand) VALUES ('tea', 0), ('coffee', 0)`)
				s.exec(t, `INSERT INTO effects (what, worker) SELECT 'ballast', i FROM (SELECT 1 AS i UNION SELECT 2 UNION SELECT 3) AS n`)
				const take = `UPDATE stock SET on_hand = on_hand + 1 WHERE sku = $1`
				other, err := s.look.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				// It has done more, so it is not the one to be rolled back.
				for _, statement := range []string{`UPDATE effects SET worker = 'x'`, `UPDATE effects SET worker = 'y'`, `UPDATE stock SET on_hand = 5 WHERE sku = 'tea'`} {
					_, err = other.ExecContext(t.Context(), statement)
					require.NoError(t, err)
				}
				c := s.Begin(t)
				met := make(chan error, 1)
				s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
					if _, err := tx.Exec(ctx, take, "coffee"); err != nil {
						return events.Receipt{}, err
					}
					go func() {
						_, err := other.ExecContext(context.WithoutCancel(ctx), s.spell(take), "coffee")
						met <- err
					}()
					eventually(t, func() bool { return s.transactions(t).waiting["root"] > 0 })
					_, err := tx.Exec(ctx, take, "tea")
					assert.EqualValues(t, 1213, myNumber(err))
					if swallowed {
						return s.answer(e), nil
					}
					return events.Receipt{}, err
				}
				_, err = c.place(t.Context(), order())
				if swallowed {
					require.ErrorIs(t, err, idem.ErrTransactionLost)
				} else {
					assert.EqualValues(t, 1213, myNumber(err), "it is the caller's to begin anew")
				}
				require.NoError(t, <-met)
				require.NoError(t, other.Rollback())
				require.ErrorIs(t, s.effect(t.Context(), c.tx, "after"), sql.ErrTxDone)
				require.Error(t, c.commit(t.Context()))
				assert.Empty(t, s.rows(t))
				assert.Zero(t, s.count(t, `SELECT count(*) FROM effects WHERE what <> 'ballast'`))
				s.returned(t)
			})
		})
	}
}

// What a delivery costs beside the handler's own statement, on a warm connection.
func TestMaria_RoundTrips(t *testing.T) {
	for name, inText := range map[string]int{"prepared": 2, "interpolated": 1} { // round trips of a statement with parameters
		t.Run(name, func(t *testing.T) {
			eachMaria(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{mysql: func(c *mysql.Config) { c.InterpolateParams = inText == 1 }})
				require.NoError(t, s.Check(t.Context()))
				e := order()
				trips := func() int {
					s.wire.Count()
					_, err := s.PlaceOrder(t.Context(), e)
					require.NoError(t, err)
					return s.wire.RoundTrips()
				}
				const unguarded = 3 // SET TRANSACTION, START TRANSACTION, COMMIT, and the handler's own
				assert.Equal(t, 7+2*inText, trips()-unguarded-inText, "a new event")
				assert.Equal(t, 11+2*inText, trips(), "a repeat")
				s.charging(t)
				l := s.leased(t, time.Minute, setup{})
				s.wire.Count()
				_, err := l.Do(t.Context(), e)
				require.NoError(t, err)
				// The guard is a new one, and its first claim looks at the table.
				assert.Equal(t, 2*(2+inText)+inText, s.wire.RoundTrips(), "a lease: its claim and its end")
			})
		})
	}
}

// The batch is found by the index, however many rows are still inside their window: the statement reads hardly any of them.
func TestMaria_JanitorUsesTheIndex(t *testing.T) {
	eachMaria(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		s.fill(t, 50_000)
		s.exec(t, `UPDATE idempotency_keys SET expires_at = `+s.future())
		s.exec(t, `ANALYZE TABLE idempotency_keys`)
		for i := range 10 {
			s.exec(t, `INSERT INTO idempotency_keys (handler, "key", state, owner, created_at, updated_at, expires_at)
				VALUES ('expired', $1, 'done', '0123456789abcdef', 0, 0, 0)`, i)
		}
		s.db.SetMaxOpenConns(1)
		before := s.rowsRead(t)
		swept, err := s.Janitor(idem.WithSweepBatch(100)).Once(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 10, swept.Removed)
		read := s.rowsRead(t) - before
		assert.Positive(t, read)
		assert.Less(t, read, 1000)
	})
}

// rowsRead is how many rows the pool's only connection has had the server read.
func (s *shop) rowsRead(t *testing.T) (sum int) {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), `SHOW SESSION STATUS LIKE 'Handler_read%'`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		var n int
		require.NoError(t, rows.Scan(&name, &n))
		sum += n
	}
	require.NoError(t, rows.Err())
	return sum
}
