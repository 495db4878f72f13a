package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/idemtest"
)

// engine is what a database has of its own, as the suite needs it.
type engine struct {
	in      string // the clock and a number of microseconds
	until   string // the microseconds from now to a column's time
	filling string // inserts rows that are done and past their window
	owner   string // some owner
	refused string // a statement that fails
	// conflict is a statement that fails as that of a transaction does which has lost against another one; "" where it takes
	// another connection.
	conflict string
	lock     string // has its transaction hold all rows of keys
	// times are the columns that have to be given a value, and zeros one.
	times, zeros string
	cannot       idemtest.Cannot
	items
}

// What the engines cannot. docs/guarantees.md says the same.
const (
	onePipeline  = "database/sql sends one statement at a time; its round trips are not promised"
	goesOn       = "a statement that fails is undone alone, and the transaction can commit the rest"
	abortsAll    = "a statement that fails aborts the transaction; only a savepoint undoes it alone"
	oneWriter    = "SQLite has one lock for all writers"
	noUsers      = "SQLite has no users"
	noZones      = "SQLite's sessions have no time zone"
	ownProcess   = "SQLite runs in the process of its client; a COMMIT does not outlive the call"
	microseconds = `CAST(unixepoch('subsec') * 1000000 AS INTEGER)`
	myMicros     = `UNIX_TIMESTAMP() * 1000000 + MICROSECOND(NOW(6))`
)

var (
	postgresEngine = engine{
		in:    `clock_timestamp() + %d * interval '1 microsecond'`,
		until: `(extract(epoch FROM %s - clock_timestamp()) * 1000000)::bigint`,
		filling: `INSERT INTO idempotency_keys (handler, key, state, owner, expires_at)
			SELECT $1, i::text, 'done', '0123456789abcdef', clock_timestamp() - i * interval '1 ms' FROM generate_series(1, $2) AS i`,
		owner:    `'0123456789abcdef'`,
		refused:  `INSERT INTO effects (what) VALUES (NULL)`,
		conflict: `DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$`,
		lock:     `SELECT handler FROM idempotency_keys FOR UPDATE`,
		cannot:   idemtest.Cannot{idemtest.NeedSurvives: abortsAll},
		items:    postgresSteps,
	}
	mariaEngine = engine{
		in:    myMicros + ` + %d`,
		until: `%s - CAST(` + myMicros + ` AS SIGNED)`,
		filling: `INSERT INTO idempotency_keys (handler, "key", state, owner, created_at, updated_at, expires_at)
			SELECT $1, seq, 'done', '0123456789abcdef', 0, 0, ` + myMicros + ` - seq FROM seq_1_to_1000000 WHERE seq <= $2`,
		times:    `, created_at, updated_at`,
		zeros:    `, 0, 0`,
		owner:    `'0123456789abcdef'`,
		refused:  `INSERT INTO effects (what, worker) VALUES (NULL, 'a handler')`,
		conflict: `SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213`,
		lock:     `SELECT handler FROM idempotency_keys FOR UPDATE`,
		cannot:   idemtest.Cannot{idemtest.NeedAborts: goesOn, idemtest.NeedSuppression: noSuppression},
		items:    mariaSteps,
	}
	sqliteEngine = engine{
		in:    microseconds + ` + %d`,
		until: `%s - ` + microseconds,
		filling: `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < $2)
			INSERT INTO idempotency_keys (handler, key, state, owner, expires_at)
			SELECT $1, CAST(i AS TEXT), 'done', zeroblob(16), ` + microseconds + ` - i FROM numbers`,
		items:   sqliteSteps,
		owner:   `zeroblob(16)`,
		refused: `INSERT INTO effects (what) VALUES (NULL)`,
		lock:    `INSERT INTO once (what) VALUES ('the lock')`,
		cannot: idemtest.Cannot{
			idemtest.NeedAborts:      goesOn,
			idemtest.NeedRowLocks:    oneWriter,
			idemtest.NeedPermissions: noUsers,
			idemtest.NeedZones:       noZones,
			idemtest.NeedHeldCommit:  ownProcess,
		},
	}
)

// engines are the drivers'.
var engines = map[string]engine{
	"pgx": postgresEngine, "std": postgresEngine, "pq": postgresEngine, "maria": mariaEngine, "lite": sqliteEngine, "mattn": sqliteEngine,
}

// cannot is what a driver cannot, or its engine.
func (d driver) cannot() idemtest.Cannot {
	all := idemtest.Cannot{}
	for need, reason := range engines[d.name].cannot {
		all[need] = reason
	}
	if d.name != "pgx" {
		all[idemtest.NeedRoundTrips] = onePipeline
	}
	return all
}

// backend is a driver as the suite needs it.
func backend[T any](d driver, guard func(*shop, ...idem.Option) *idem.Guard[T], as func(driver, T) Tx, begin func(*shop, *testing.T) idemtest.Caller[T], steps func(driver) *idemtest.Steps[T]) idemtest.Backend[T] {
	return idemtest.Backend[T]{
		Driver: d.name, Matrix: &matrix, Cannot: d.cannot(), Levels: d.levels()[1:], Patience: patience,
		Open: func(t *testing.T, asked idemtest.Setup) idemtest.Place[T] {
			p := suitePlace{T: t, engine: engines[d.name]}
			p.open(d, asked)
			place := idemtest.Place[T]{
				Guard: func(opts ...idem.Option) *idem.Guard[T] { return guard(p.shop, opts...) },
				Begin: func() idemtest.Caller[T] { return begin(p.shop, t) },
				Effect: func(ctx context.Context, tx T, what string) error {
					return p.shop.effect(ctx, as(d, tx), what)
				},
				Refused: func(ctx context.Context, tx T) error {
					_, err := as(d, tx).Exec(ctx, p.refused)
					return err
				},
				RefusedInSavepoint: func(ctx context.Context, tx T) error { return p.refusedInSavepoint(ctx, as(d, tx)) },
				Conflict:           func(ctx context.Context, tx T) error { return p.conflicts(ctx, as(d, tx)) },
				Update:             func(ctx context.Context, tx T, name string) error { return p.update(ctx, as(d, tx), name) },
			}
			fillPlace(&place, &p)
			if asked.Steps {
				fillSteps(&place, &p, steps(d))
			}
			return place
		},
	}
}

// suitePlace is a shop as a place of the suite.
type suitePlace struct {
	*testing.T
	*shop
	engine
	held int // COMMITs that are held up, and look like rivals
}

// open opens the shop.
func (p *suitePlace) open(d driver, asked idemtest.Setup) {
	set := setup{}
	var role string
	switch {
	case asked.Faults:
		set = seen(set)
	case asked.Alone:
		set.proxied, set.pool = true, oneConnection
	}
	before := set.conn
	set.conn = func(c *pgx.ConnConfig) {
		if before != nil {
			before(c)
		}
		if asked.Zone != "" {
			c.RuntimeParams["timezone"] = "<" + asked.Zone + ">" + strings.Replace(asked.Zone, "+", "-", 1)
		}
		if asked.Nobody {
			role = c.RuntimeParams["application_name"] + "_nobody"
			c.RuntimeParams["role"] = role
		}
	}
	set.mysql = func(c *mysql.Config) {
		if asked.Zone != "" {
			c.Params = map[string]string{"time_zone": "'" + asked.Zone + "'"}
		}
		c.InterpolateParams = asked.Faults // for the wire to see what is executed
	}
	p.shop = d.open(p.T, set)
	switch {
	case asked.Nobody && p.mysql:
		p.exec(p.T, "REVOKE ALL ON `"+p.place+"`.* FROM `"+p.place+"`@'%'")
		p.exec(p.T, "GRANT SELECT ON effects TO `"+p.place+"`@'%'") // without any it could not connect
	case asked.Nobody:
		p.exec(p.T, `CREATE ROLE `+role)
		p.Cleanup(func() {
			_, err := p.look.Exec(`DROP OWNED BY ` + role + `; DROP ROLE ` + role)
			assert.NoError(p.T, err)
		})
		p.exec(p.T, `GRANT USAGE ON SCHEMA `+p.place+` TO `+role)
	}
	p.exec(p.T, `INSERT INTO stock (sku, on_hand) VALUES ('a', 0), ('b', 0)`)
}

// fillPlace adds what does not depend on the transaction's type.
func fillPlace[T any](place *idemtest.Place[T], p *suitePlace) {
	place.InUse, place.Rows, place.Alter, place.Put, place.Lock = p.inUse, p.seeRows, p.alter, p.put, p.lockRows
	place.Fill = func(handler string, n int) { p.exec(p.T, p.filling, handler, n) }
	place.Clear = func() { p.exec(p.T, `DELETE FROM idempotency_keys`) }
	place.Effects = func() int { return p.effects(p.T) }
	place.Counter = func(name string) int { return p.count(p.T, `SELECT on_hand FROM stock WHERE sku = $1`, name) }
	place.AwaitRivals = func(n int) { p.awaitRivals(p.T, n+p.held) }
	place.LoseCommit = p.loseCommit
	place.BreakCommit = func() <-chan struct{} { return p.breakCommit(p.T) }
	place.HoldCommit = p.holdCommit
	place.LoseAnswer = func(query string) { p.loseAnswer("-- name: " + query + " ") }
	place.Before = func(query string, do func()) { p.before("-- name: "+query+" ", do) }
	place.Translate = p.abroad
	place.DropTable = func() { p.exec(p.T, `DROP TABLE idempotency_keys`) }
	place.DropColumns = func(names ...string) {
		for _, name := range names {
			p.exec(p.T, `ALTER TABLE idempotency_keys DROP COLUMN `+name)
		}
	}
	place.DropPrimaryKey = func() {
		p.exec(p.T, `ALTER TABLE idempotency_keys RENAME TO earlier`)
		p.exec(p.T, `CREATE TABLE idempotency_keys AS SELECT * FROM earlier`)
	}
	place.Grant = func(privileges string) {
		if p.mysql {
			p.exec(p.T, "GRANT "+privileges+" ON idempotency_keys TO `"+p.place+"`@'%'")
			return
		}
		p.exec(p.T, `GRANT `+privileges+` ON idempotency_keys TO `+p.place+`_nobody`)
	}
	place.RoundTrips = func(do func()) int {
		p.proxy.Count()
		do()
		return p.proxy.RoundTrips()
	}
	place.Bare = p.bare
	place.Kill = func(j idemtest.Job) {
		killWorker(p.T, p.driver, job{Driver: p.name, Place: p.place, Stage: j.Stage, Suite: j.ID})
		p.workersGone()
	}
}

// workersGone returns when the server has seen that a killed worker process is gone, which takes it a moment.
func (p *suitePlace) workersGone() {
	if p.postgres {
		eventually(p.T, func() bool {
			return p.count(p.T, `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1`, p.place+workerSuffix) == 0
		})
	}
}

// seeRows are the rows as the suite sees them.
func (p *suitePlace) seeRows() (all []idemtest.Row) {
	rows, err := p.look.QueryContext(p.Context(), fmt.Sprintf(`SELECT handler, "key", state, fence, `+p.until+`, `+p.until+`
		FROM idempotency_keys ORDER BY handler, "key"`, "expires_at", "lease_until"))
	require.NoError(p.T, err)
	defer rows.Close()
	for rows.Next() {
		var r idemtest.Row
		var expires, lease *int64
		require.NoError(p.T, rows.Scan(&r.Handler, &r.Key, &r.State, &r.Fence, &expires, &lease))
		r.ExpiresIn, r.LeaseLeft = micros(expires), micros(lease)
		all = append(all, r)
	}
	require.NoError(p.T, rows.Err())
	return all
}

func micros(n *int64) *time.Duration {
	if n == nil {
		return nil
	}
	d := time.Duration(*n) * time.Microsecond
	return &d
}

// after is a time as the table holds it; nil is none.
func (e engine) after(d *time.Duration) string {
	if d == nil {
		return "NULL"
	}
	return fmt.Sprintf(e.in, d.Microseconds())
}

func (p *suitePlace) alter(c idemtest.Change) {
	var set []string
	if c.State != "" {
		set = append(set, `state = '`+c.State+`'`)
	}
	if c.ExpiresIn != nil {
		set = append(set, `expires_at = `+p.after(c.ExpiresIn))
	}
	if c.LeaseLeft != nil {
		set = append(set, `lease_until = `+p.after(c.LeaseLeft))
	}
	var args []any
	if c.Result != nil {
		set, args = append(set, `result = $1`), append(args, c.Result)
	}
	p.exec(p.T, `UPDATE idempotency_keys SET `+strings.Join(set, ", "), args...)
}

func (p *suitePlace) put(handler, key, state string, expiresIn *time.Duration) {
	p.exec(p.T, `INSERT INTO idempotency_keys (handler, "key", state, owner, expires_at`+p.times+`)
		VALUES ($1, $2, $3, `+p.owner+`, `+p.after(expiresIn)+p.zeros+`)`, handler, key, state)
}

// lockRows holds all rows of keys.
func (p *suitePlace) lockRows() func() {
	tx, err := p.look.BeginTx(p.Context(), nil)
	require.NoError(p.T, err)
	_, err = tx.ExecContext(p.Context(), p.lock)
	require.NoError(p.T, err)
	return func() { require.NoError(p.T, tx.Rollback()) }
}

// refusedInSavepoint has a statement fail, and undoes it.
func (p *suitePlace) refusedInSavepoint(ctx context.Context, tx Tx) error {
	if _, err := tx.Exec(ctx, `SAVEPOINT mine`); err != nil {
		return nil //nolint:nilerr // The suite takes no error for what is wrong.
	}
	_, refused := tx.Exec(ctx, p.refused)
	if _, err := tx.Exec(ctx, `ROLLBACK TO SAVEPOINT mine`); err != nil {
		return nil //nolint:nilerr // As above.
	}
	return refused
}

// conflicts returns the error of a transaction that has lost against another one. On SQLite it is the other one that has.
func (p *suitePlace) conflicts(ctx context.Context, tx Tx) error {
	if p.conflict == "" {
		_, err := p.db.ExecContext(ctx, `INSERT INTO once (what) VALUES ('another writer')`)
		return err
	}
	_, err := tx.Exec(ctx, p.conflict)
	return err
}

// update reads a counter and adds one to it.
func (p *suitePlace) update(ctx context.Context, tx Tx, name string) error {
	if _, err := tx.Int(ctx, `SELECT on_hand FROM stock WHERE sku = $1`, name); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE stock SET on_hand = on_hand + 1 WHERE sku = $1`, name)
	return err
}

// holdCommit has the next order wait in its COMMIT, without its client.
func (p *suitePlace) holdCommit() func() {
	if p.mysql {
		return p.stickInCommit(p.T)
	}
	held := p.hold(p.T)
	p.held++
	p.proxy.CutAfter(commit)
	return held.letGo
}

// loseAnswer has the answer to the next statement with this text get lost.
func (p *suitePlace) loseAnswer(text string) {
	switch {
	case p.postgres:
		p.proxy.Lose(text)
	case p.mysql:
		p.wire.Lose(text)
	default:
		p.hook.Lose(text)
	}
}

// bare is a transaction of one statement, without a guard.
func (p *suitePlace) bare(ctx context.Context) error {
	tx, err := p.pool.Begin(ctx)
	if err != nil {
		return err
	}
	if err := p.effect(ctx, pgxTx{tx}, "bare"); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
