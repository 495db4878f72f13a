package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/bouncer"
	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/litehook"
	"github.com/idemgen/idemgen/testdata/e2e/mywire"
	"github.com/idemgen/idemgen/testdata/e2e/pgtest"
	"github.com/idemgen/idemgen/testdata/e2e/wire"
)

// Tx is what a test's handler does in its transaction, whatever the driver. Parameters are $1, $2 on every engine.
type Tx interface {
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	Int(ctx context.Context, query string, args ...any) (int64, error)
}

// bodies are what the handlers do. A test sets them before it delivers.
type bodies struct {
	placeOrder   func(context.Context, Tx, events.OrderPlaced) (events.Receipt, error)
	auditOrder   func(context.Context, Tx, events.OrderPlaced) error
	rushOrder    func(context.Context, Tx, *events.OrderPlaced) (*events.Receipt, error)
	reserveStock func(context.Context, *slog.Logger, takeStock, events.StockReserved) error
	closeDay     func(context.Context, Tx, events.DayClosed) (int64, error)
	ship         func(context.Context, Tx, events.Shipped) error
	settle       func(context.Context, Tx) (int64, error)
	refund       func(context.Context, Tx, events.RefundAsked) error
}

// takeStock is the query of sqlc's that ReserveStock has.
type takeStock func(ctx context.Context, sku string, quantity int64) (int64, error)

// shop is the generated code of one driver, on a database of its own.
type shop struct {
	driver
	bodies

	PlaceOrder   func(context.Context, events.OrderPlaced) (events.Receipt, error)
	AuditOrder   func(context.Context, events.OrderPlaced) error
	RushOrder    func(context.Context, *events.OrderPlaced) (*events.Receipt, error)
	ReserveStock func(context.Context, *slog.Logger, events.StockReserved) error
	CloseDay     func(context.Context, events.DayClosed) (int64, error)
	Ship         func(context.Context, events.Shipped) error
	Settle       func(ctx context.Context, tenant string, batch uuid.UUID) (int64, error)
	Refund       func(context.Context, events.RefundAsked) error
	RefundTotal  func(context.Context) (int64, error)

	// Charge and Wire have leases, and cards is what they do.
	Charge     func(context.Context, events.OrderPlaced) (events.Receipt, error)
	Wire       func(context.Context, events.OrderPlaced) error
	MarkCharge func(context.Context, events.OrderPlaced, events.Receipt) error
	cards      cards

	// MarkOrder and MarkAudit are the handlers' Mark.
	MarkOrder func(context.Context, events.OrderPlaced, events.Receipt) error
	MarkAudit func(context.Context, events.OrderPlaced) error

	// Begin begins a transaction of the test's own on the code's database.
	Begin func(*testing.T) caller

	// Janitor makes one for the guard.
	Janitor func(...idem.JanitorOption) *idem.Janitor

	// Check is the guard's.
	Check func(context.Context) error

	// OldAudit is AuditOrder as it was before its function was renamed.
	OldAudit func(context.Context, events.OrderPlaced) error

	look     *sql.DB             // for the test's own eyes
	pool     *pgxpool.Pool       // pgx
	db       *sql.DB             // the others
	place    string              // PostgreSQL: schema and application name; MariaDB: database and user; SQLite: DSN
	file     string              // SQLite
	proxy    *wire.Proxy         // PostgreSQL, if the setup asks for one
	hook     *litehook.Connector // SQLite
	wire     *mywire.Wire        // MariaDB
	runs     atomic.Int64        // of the default bodies
	seenLock sync.Mutex
	seen     []idem.Delivery
}

// setup is what a test asks of its shop.
type setup struct {
	options  []idem.Option
	proxied  bool                  // PostgreSQL: through a proxy
	database []string              // PostgreSQL: ALTER DATABASE … for each
	encoding string                // PostgreSQL: of the database, which needs an ALTER DATABASE too; UTF8 if empty
	pooler   *bouncer.Server       // PostgreSQL: through it
	cluster  *pgtest.Cluster       // PostgreSQL: in it, and not on the server of all tests
	same     *shop                 // in the place of another shop, of the same driver
	conn     func(*pgx.ConnConfig) // PostgreSQL: further settings of a connection
	pool     func(*pgxpool.Config) // pgx: further settings of the pool
	mysql    func(*mysql.Config)   // MariaDB: further settings of the pool
	journal  string                // SQLite: the journal mode; "wal" if empty
	begin    string                // SQLite: how transactions begin, "immediate" say; as SQLite has it if empty
	patient  bool                  // SQLite: with patience of its own with other writers
	memory   bool                  // SQLite: in memory, on one connection, through which the test looks as well
	shared   bool                  // SQLite: in memory, in a cache that the connections share
}

// driver is one of the ways to a database.
type driver struct {
	name     string
	code     string // what the names of the generated package and of its handlers begin with
	postgres bool
	mysql    bool
	missing  string // why it cannot be had in this build; empty if it can
	open     func(*testing.T, setup) *shop
}

func drivers() []driver {
	return []driver{
		{name: "pgx", code: "pgx", postgres: true, open: openPGX},
		{name: "std", code: "std", postgres: true, open: openStd},
		{name: "pq", code: "std", postgres: true, open: openPQ},
		{name: "maria", code: "my", mysql: true, open: openMaria},
		{name: "lite", code: "lite", open: openLite},
		{name: "mattn", code: "lite", missing: mattnMissing, open: openMattn},
	}
}

func driverOf(name string) driver {
	all := drivers()
	return all[slices.IndexFunc(all, func(d driver) bool { return d.name == name })]
}

func driversThat(fit func(driver) bool) (some []driver) {
	for _, d := range drivers() {
		if fit(d) {
			some = append(some, d)
		}
	}
	return some
}

// onPostgres, onSQLite and onSQL are the drivers of PostgreSQL, those of SQLite, and those of database/sql; onServers those of
// databases that tell a rival from any other writer.
func onPostgres() []driver { return driversThat(func(d driver) bool { return d.postgres }) }
func onSQLite() []driver   { return driversThat(func(d driver) bool { return d.code == "lite" }) }
func onSQL() []driver      { return driversThat(func(d driver) bool { return d.name != "pgx" }) }
func onServers() []driver  { return driversThat(func(d driver) bool { return d.postgres || d.mysql }) }

// eachDriver runs a test once for each driver, in parallel.
func eachDriver(t *testing.T, test func(*testing.T, driver)) { each(t, drivers(), test) }

// eachPostgres runs a test once for each driver of PostgreSQL.
func eachPostgres(t *testing.T, test func(*testing.T, driver)) { each(t, onPostgres(), test) }

// eachServer runs a test once for each driver of a database that tells a rival from any other writer.
func eachServer(t *testing.T, test func(*testing.T, driver)) { each(t, onServers(), test) }

// eachSQLite runs a test once for each driver of SQLite.
func eachSQLite(t *testing.T, test func(*testing.T, driver)) { each(t, onSQLite(), test) }

func each(t *testing.T, drivers []driver, test func(*testing.T, driver)) {
	t.Parallel()
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			d.need(t)
			test(t, d)
		})
	}
}

// need leaves the test out where its driver or its database cannot be had. TestMain says so at the end of the run.
func (d driver) need(t *testing.T) {
	t.Helper()
	if why := d.leftOut(); why != "" {
		t.Skip("left out: " + why)
	}
}

// leftOut says why a driver's tests cannot be run; empty if they can.
func (d driver) leftOut() string {
	switch {
	case d.missing != "":
		return d.name + " " + d.missing
	case d.postgres && server == nil:
		return "no PostgreSQL"
	case d.mysql && myServer == nil:
		return "no MariaDB"
	default:
		return ""
	}
}

// newShop has bodies that leave one row in effects each, and an observer.
func newShop(d string) *shop {
	s := &shop{driver: driverOf(d)}
	s.bodies = bodies{
		placeOrder: func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
			return s.receipt(ctx, tx, e)
		},
		auditOrder: func(ctx context.Context, tx Tx, e events.OrderPlaced) error {
			return s.effect(ctx, tx, "audit "+e.OrderID.String())
		},
		rushOrder: func(ctx context.Context, tx Tx, e *events.OrderPlaced) (*events.Receipt, error) {
			r, err := s.receipt(ctx, tx, *e)
			return &r, err
		},
		reserveStock: func(ctx context.Context, _ *slog.Logger, take takeStock, e events.StockReserved) error {
			_, err := take(ctx, e.SKU, e.Quantity)
			return err
		},
		closeDay: func(ctx context.Context, tx Tx, e events.DayClosed) (int64, error) {
			return s.runs.Add(1), s.effect(ctx, tx, "day "+e.Shop)
		},
		ship:   func(ctx context.Context, tx Tx, _ events.Shipped) error { return s.effect(ctx, tx, "shipped") },
		settle: func(ctx context.Context, tx Tx) (int64, error) { return s.runs.Add(1), s.effect(ctx, tx, "settled") },
		refund: func(ctx context.Context, tx Tx, e events.RefundAsked) error {
			return s.effect(ctx, tx, "refund "+string(e.Payment))
		},
	}
	return s
}

// receipt is the default of PlaceOrder: a row in effects and an answer that no other run gives.
func (s *shop) receipt(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
	if err := s.effect(ctx, tx, e.OrderID.String()); err != nil {
		return events.Receipt{}, err
	}
	return s.answer(e), nil
}

// answer is a result that no other run gives, with numbers and times that a careless codec would round.
func (s *shop) answer(e events.OrderPlaced) events.Receipt {
	run := s.runs.Add(1)
	return events.Receipt{
		Number: 1<<53 + run, Total: e.Total, PlacedBy: fmt.Sprintf("run %d", run), PlacedAt: time.Now().Round(0).UTC(),
	}
}

func (s *shop) effect(ctx context.Context, tx Tx, what string) error {
	_, err := tx.Exec(ctx, `INSERT INTO effects (what, worker) VALUES ($1, 'a handler')`, what)
	return err
}

// options are the setup's, with the shop's observer.
func (s *shop) options(set setup) []idem.Option {
	return append([]idem.Option{idem.WithObserver(idem.ObserverFunc(func(_ context.Context, d idem.Delivery) {
		s.seenLock.Lock()
		s.seen = append(s.seen, d)
		s.seenLock.Unlock()
	}))}, set.options...)
}

// deliveries are what the observer has been told so far.
func (s *shop) deliveries() []idem.Delivery {
	s.seenLock.Lock()
	defer s.seenLock.Unlock()
	return slices.Clone(s.seen)
}

// outcomes counts the deliveries so far by their outcome.
func (s *shop) outcomes() map[idem.Outcome]int {
	counts := map[idem.Outcome]int{}
	for _, d := range s.deliveries() {
		counts[d.Outcome]++
	}
	return counts
}

// count is a number that the test sees in the database.
func (s *shop) count(t *testing.T, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, s.look.QueryRowContext(t.Context(), s.spell(query), args...).Scan(&n))
	return n
}

func (s *shop) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	_, err := s.look.ExecContext(t.Context(), s.spell(query), args...)
	require.NoError(t, err)
}

// spell writes parameters as the engine wants them.
func (d driver) spell(query string) string {
	switch {
	case d.postgres:
		return query
	case d.mysql:
		return numbered.ReplaceAllString(query, "?")
	default:
		return strings.ReplaceAll(query, "$", "?")
	}
}

// effects is how many rows the handlers have left.
func (s *shop) effects(t *testing.T) int {
	t.Helper()
	return s.count(t, `SELECT count(*) FROM effects`)
}

// row is a row of idemgen's table.
type row struct{ handler, key, state string }

func (s *shop) rows(t *testing.T) (all []row) {
	t.Helper()
	rows, err := s.look.QueryContext(t.Context(), `SELECT handler, "key", state FROM idempotency_keys ORDER BY handler, "key"`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var r row
		require.NoError(t, rows.Scan(&r.handler, &r.key, &r.state))
		all = append(all, r)
	}
	require.NoError(t, rows.Err())
	return all
}

// expire lets all rows be past their window.
func (s *shop) expire(t *testing.T) {
	t.Helper()
	s.exec(t, `UPDATE idempotency_keys SET expires_at = `+s.past())
}

// clean says that nothing is left of a delivery: no row, no effect.
func (s *shop) clean(t *testing.T) {
	t.Helper()
	require.Empty(t, s.rows(t))
	require.Zero(t, s.effects(t))
}

// awaitRivals returns when n deliveries wait for another one's end.
func (s *shop) awaitRivals(t *testing.T, n int) {
	t.Helper()
	switch {
	case s.postgres:
		eventually(t, func() bool { return s.activity(t, `wait_event_type = 'Lock'`) >= n })
		return
	case s.mysql:
		eventually(t, func() bool { return s.waiting(t) >= n })
		return
	}
	met := s.hook.Busy()
	eventually(t, func() bool { return s.hook.Busy() >= met+n })
}

// patience ends a test that would otherwise wait for ever.
const patience = time.Minute

// eventually polls until the condition holds.
func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience) // it may be in a cleanup
	defer cancel()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for !condition() {
		select {
		case <-poll.C:
		case <-ctx.Done():
			require.FailNow(t, "the condition never held")
		}
	}
}

// inUse is how many connections the code under test holds.
func (s *shop) inUse() int {
	if s.pool != nil {
		return int(s.pool.Stat().AcquiredConns())
	}
	return s.db.Stats().InUse
}

// returned says that all connections are back. A pgx pool takes a moment for one that was closed.
func (s *shop) returned(t *testing.T) {
	t.Helper()
	eventually(t, func() bool { return s.inUse() == 0 })
}

// order is an event that nobody has sent before.
func order() events.OrderPlaced {
	return events.OrderPlaced{TenantID: "acme", OrderID: uuid.New(), Total: 4200, Attempt: 1}
}

// parked is a run of PlaceOrder that stops in the middle of its transaction until it is let go.
type parked struct {
	reached chan struct{} // closed when it is there
	letGo   chan error    // what the handler returns
}

// park has the next run of PlaceOrder stop after its effect. Later runs go through.
func (s *shop) park(t *testing.T) parked {
	p := parked{make(chan struct{}), make(chan error)}
	var first atomic.Bool
	s.placeOrder = func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
		r, err := s.receipt(ctx, tx, e)
		if err != nil || !first.CompareAndSwap(false, true) {
			return r, err
		}
		close(p.reached)
		select {
		case err := <-p.letGo:
			return r, err
		case <-t.Context().Done():
			return r, t.Context().Err()
		}
	}
	return p
}

// answered is what a delivery in another goroutine returned.
type answered struct {
	events.Receipt
	err error
}

// deliver hands the event to PlaceOrder in another goroutine.
func (s *shop) deliver(ctx context.Context, e events.OrderPlaced) <-chan answered {
	done := make(chan answered, 1)
	go func() {
		r, err := s.PlaceOrder(ctx, e)
		done <- answered{r, err}
	}()
	return done
}
