package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/store"

	"github.com/idemgen/idemgen/testdata/e2e/myshop"
	mydb "github.com/idemgen/idemgen/testdata/e2e/myshop/idemdb"
)

// mySessions are ways in which users open their pools: what they change of the session is nothing to the statements.
var mySessions = map[string]func(*mysql.Config){
	"plain":                    func(*mysql.Config) {},
	"matched rows":             func(c *mysql.Config) { c.ClientFoundRows = true },
	"interpolated":             func(c *mysql.Config) { c.InterpolateParams = true },
	"interpolated and matched": func(c *mysql.Config) { c.InterpolateParams, c.ClientFoundRows = true, true },
	"utf8 is three bytes":      func(c *mysql.Config) { charset(c, "utf8") },
	"latin1":                   func(c *mysql.Config) { charset(c, "latin1") },
	"latin1, interpolated":     func(c *mysql.Config) { charset(c, "latin1"); c.InterpolateParams = true },
	"gbk, not strict":          func(c *mysql.Config) { charset(c, "gbk"); mode(c, "") },
	"utf8, not strict":         func(c *mysql.Config) { charset(c, "utf8"); mode(c, "") },
	"quotes":                   func(c *mysql.Config) { mode(c, "ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,HIGH_NOT_PRECEDENCE") },
	"quotes, interpolated":     func(c *mysql.Config) { mode(c, "ANSI_QUOTES,NO_BACKSLASH_ESCAPES"); c.InterpolateParams = true },
	"traditional":              func(c *mysql.Config) { mode(c, "TRADITIONAL,ONLY_FULL_GROUP_BY,IGNORE_SPACE") },
	"time zone": func(c *mysql.Config) {
		c.Loc, c.ParseTime = time.FixedZone("Kathmandu", 20700), true
		c.Params = map[string]string{"time_zone": "'-11:30'"}
	},
}

func charset(c *mysql.Config, name string) {
	if err := c.Apply(mysql.Charset(name, "")); err != nil {
		panic(err)
	}
}

func mode(c *mysql.Config, words string) { c.Params = map[string]string{"sql_mode": "'" + words + "'"} }

// The statements do and return the same in every session, to the byte and to the microsecond: the clock stands still here. Rows
// that match count as affected, whether or not the driver asks for that.
func TestMaria_StoreInEverySession(t *testing.T) {
	t.Parallel()
	place := newMariaPlace(t)
	for name, set := range mySessions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, place, set)
			// Both sides of a second's end: whole seconds and their fractions come from two functions.
			for _, now := range []int64{1793494799_000000, 1793494799_999999, 1793494800_000000, 1793496600_123456} {
				s.setClock(now)
				s.completes(name, now)
				s.fails(name)
				s.leases(name, now)
			}
		})
	}
}

// newMariaPlace is a place with the shop's tables; a MariaDB is there.
func newMariaPlace(t *testing.T) *mysql.Config {
	t.Helper()
	driver{mysql: true}.need(t)
	return newMyPlace(t, myshop.Tables, mydb.Schema)
}

// awkward are the bytes that a connection's character set or a statement's quotes could change.
var awkward = store.Owner{0xff, 0xfe, '\\', '\'', '"', 0, 0xc3, 0x28, 0xe2, '\'', 0x9f, 0x92, 0x1a, '\n', ' ', 0}

var other = store.Owner{1}

const myHandler = "myshop.Service.PlaceOrder"

// myStore is the store's statements on one connection whose clock stands still.
type myStore struct {
	t    *testing.T
	conn *sql.Conn
}

// openStore opens the store of a place by the settings of a session.
func openStore(t *testing.T, place *mysql.Config, set func(*mysql.Config)) *myStore {
	t.Helper()
	config := place.Clone()
	set(config)
	db, err := openMy(config)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	return &myStore{t, conn}
}

// setClock stops the session's clock at a time in microseconds since 1970.
func (s *myStore) setClock(now int64) {
	s.t.Helper()
	_, err := s.conn.ExecContext(s.t.Context(), "SET timestamp = "+seconds(now))
	require.NoError(s.t, err)
}

// one and none are what a statement returns that has found its row, and one that has not.
func (s *myStore) one(n int64, err error)  { s.affected(1, n, err) }
func (s *myStore) none(n int64, err error) { s.affected(0, n, err) }

func (s *myStore) affected(want, n int64, err error) {
	s.t.Helper()
	require.NoError(s.t, err)
	require.Equal(s.t, want, n, "affected rows")
}

func (s *myStore) row(key string) store.Row {
	s.t.Helper()
	row, err := mydb.Store.Lookup(s.t.Context(), s.conn, myHandler, key)
	require.NoError(s.t, err)
	return row
}

// times are those of a row, as they stand in it.
func (s *myStore) times(key string) (created, updated int64, lease, expires sql.NullInt64) {
	s.t.Helper()
	err := s.conn.QueryRowContext(s.t.Context(), "SELECT created_at, updated_at, lease_until, expires_at FROM idempotency_keys "+
		"WHERE handler = ? AND `key` = ?", myHandler, key).Scan(&created, &updated, &lease, &expires)
	require.NoError(s.t, err)
	return created, updated, lease, expires
}

// completes has a claim completed with a result that is every byte there is.
func (s *myStore) completes(session string, now int64) {
	s.t.Helper()
	ctx, q := s.t.Context(), mydb.Store
	key := keyOf(session, "result", now)
	_, err := q.Lookup(ctx, s.conn, myHandler, key)
	require.ErrorIs(s.t, err, store.ErrNotFound)
	claim := store.Claim{Handler: myHandler, Key: key, Owner: awkward, State: store.Open, Fingerprint: "f:0123"}
	s.one(q.Claim(ctx, s.conn, claim))
	_, err = q.Claim(ctx, s.conn, claim)
	require.EqualValues(s.t, 1062, myNumber(err))
	assert.Equal(s.t, store.Row{State: store.Open, Owner: awkward, Fence: 1, Fingerprint: "f:0123"}, s.row(key))

	result := make([]byte, 0, 512)
	for b := range 512 {
		result = append(result, byte(b))
	}
	day := 24 * time.Hour
	s.none(q.Complete(ctx, s.conn, store.Completion{Handler: myHandler, Key: key, Owner: other, Window: &day}))
	s.one(q.Complete(ctx, s.conn, store.Completion{Handler: myHandler, Key: key, Owner: awkward, Result: result, Window: &day}))
	s.none(q.Complete(ctx, s.conn, store.Completion{Handler: myHandler, Key: key, Owner: awkward, Window: &day}))
	assert.Equal(s.t, store.Row{State: store.Done, Owner: awkward, Fence: 1, Fingerprint: "f:0123", Result: result}, s.row(key))
	created, updated, lease, expires := s.times(key)
	assert.Equal(s.t, []int64{now, now, now + day.Microseconds()}, []int64{created, updated, expires.Int64})
	assert.False(s.t, lease.Valid)

	// At the window's end the row counts as absent, and goes.
	s.setClock(now + day.Microseconds() - 1)
	assert.False(s.t, s.row(key).Expired)
	s.none(q.TakeOver(ctx, s.conn, store.Claim{Handler: myHandler, Key: key, Owner: other, State: store.Open}, awkward))
	s.setClock(now + day.Microseconds())
	assert.True(s.t, s.row(key).Expired)
	s.one(q.TakeOver(ctx, s.conn, store.Claim{Handler: myHandler, Key: key, Owner: other, State: store.Open}, awkward))
	assert.Equal(s.t, store.Row{State: store.Open, Owner: other, Fence: 2}, s.row(key))
	s.setClock(now)
}

// fails records a failure whose text needs all of UTF-8, and bytes that mean something in statements.
func (s *myStore) fails(session string) {
	s.t.Helper()
	key := keyOf(session, "failure", 0)
	failure := "\U0001F4A5 \u00fc \uFFFD \u6f22\u5b57 \\ ' \" % \x01 \n " + strings.Repeat("\U00010348", 5000)
	claim := store.Claim{Handler: myHandler, Key: key, Owner: awkward, State: store.Failed, Failure: failure}
	if n, err := mydb.Store.Claim(s.t.Context(), s.conn, claim); myNumber(err) != 1062 { // of an earlier time
		s.one(n, err)
	}
	assert.Equal(s.t, store.Row{State: store.Failed, Owner: awkward, Fence: 1, Failure: failure}, s.row(key))
}

// leases renews, loses, releases, parks and ends a lease.
func (s *myStore) leases(session string, now int64) {
	s.t.Helper()
	ctx, q := s.t.Context(), mydb.Store
	key := keyOf(session, "lease", now)
	minute := time.Minute
	claim := store.Claim{Handler: myHandler, Key: key, Owner: awkward, State: store.Running, Lease: &minute}
	s.one(q.Claim(ctx, s.conn, claim))
	assert.Equal(s.t, minute, s.row(key).LeaseLeft)
	h := store.Holder{Handler: myHandler, Key: key, Owner: awkward, Fence: 1}
	for range 3 { // in one microsecond
		s.one(q.Renew(ctx, s.conn, h, minute))
	}
	stranger := h
	stranger.Owner = other
	s.none(q.Renew(ctx, s.conn, stranger, minute))
	s.setClock(now + minute.Microseconds() - 1)
	assert.Equal(s.t, time.Microsecond, s.row(key).LeaseLeft)
	s.none(q.Park(ctx, s.conn, h))
	claim.Owner = other
	s.none(q.TakeOver(ctx, s.conn, claim, awkward))
	s.setClock(now + 2*minute.Microseconds())
	assert.Equal(s.t, -minute, s.row(key).LeaseLeft)
	s.one(q.TakeOver(ctx, s.conn, claim, awkward))
	s.none(q.Renew(ctx, s.conn, h, minute))
	s.none(q.Release(ctx, s.conn, h))
	h.Owner, h.Fence = other, 2
	s.one(q.Release(ctx, s.conn, h))
	assert.Equal(s.t, store.Row{State: store.Released, Owner: other, Fence: 2}, s.row(key))
	claim.Owner = awkward
	s.one(q.TakeOver(ctx, s.conn, claim, other))
	h.Owner, h.Fence = awkward, 3
	s.one(q.Finish(ctx, s.conn, store.End{Holder: h, State: store.Failed, Failure: "\U0001F4A5", Window: &minute}))
	assert.Equal(s.t, store.Row{State: store.Failed, Owner: awkward, Fence: 3, Failure: "\U0001F4A5"}, s.row(key))
	_, _, lease, expires := s.times(key)
	assert.False(s.t, lease.Valid)
	assert.Equal(s.t, now+3*minute.Microseconds(), expires.Int64)

	parked := keyOf(session, "parked", now)
	h = store.Holder{Handler: myHandler, Key: parked, Owner: awkward, Fence: 1}
	s.one(q.Claim(ctx, s.conn, store.Claim{Handler: myHandler, Key: parked, Owner: awkward, State: store.Running, Lease: &minute}))
	s.setClock(now + 4*minute.Microseconds())
	s.one(q.Park(ctx, s.conn, h))
	s.none(q.Park(ctx, s.conn, h))
	assert.Equal(s.t, store.Row{State: store.Parked, Owner: awkward, Fence: 1}, s.row(parked))
	s.setClock(now)
}

// The sweep takes those first that have waited longest, as many as it may, and none before its time.
func TestMaria_StoreSweepsInOrder(t *testing.T) {
	t.Parallel()
	s := openStore(t, newMariaPlace(t), func(*mysql.Config) {})
	const now = 1793494799_999999
	s.setClock(now)
	for i, key := range []string{"e", "d", "c", "b", "a"} {
		window := time.Duration(5-i) * time.Minute
		s.one(mydb.Store.Claim(t.Context(), s.conn, store.Claim{
			Handler: myHandler, Key: key, Owner: awkward, State: store.Failed, Window: &window,
		}))
	}
	s.setClock(now + time.Minute.Microseconds() - 1)
	s.none(mydb.Store.Sweep(t.Context(), s.conn, 10))
	s.setClock(now + 4*time.Minute.Microseconds())
	n, err := mydb.Store.Sweep(t.Context(), s.conn, 3)
	s.affected(3, n, err)
	assert.Equal(t, []string{"d", "e"}, s.keys())
	s.one(mydb.Store.Sweep(t.Context(), s.conn, 1<<40))
	assert.Equal(t, []string{"e"}, s.keys())
}

// A store with table=database.table works on a connection that has chosen no database, the sweep included.
func TestMaria_StoreInAnotherDatabase(t *testing.T) {
	t.Parallel()
	place := newMariaPlace(t)
	s := openStore(t, place, func(c *mysql.Config) { c.DBName = "" })
	db := qualified{s.conn, "`" + place.DBName + "`"}
	ctx, q := t.Context(), mydb.Store
	window := time.Minute
	s.setClock(1_000000)
	s.one(q.Claim(ctx, db, store.Claim{Handler: myHandler, Key: "a", Owner: awkward, State: store.Open}))
	s.one(q.Complete(ctx, db, store.Completion{Handler: myHandler, Key: "a", Owner: awkward, Window: &window}))
	s.setClock(61_000000)
	row, err := q.Lookup(ctx, db, myHandler, "a")
	require.NoError(t, err)
	assert.Equal(t, store.Row{State: store.Done, Owner: awkward, Fence: 1, Expired: true}, row)
	s.one(q.Sweep(ctx, db, 10))
	_, err = q.Lookup(ctx, db, myHandler, "a")
	require.ErrorIs(t, err, store.ErrNotFound)
}

// qualified has the statements name the table with its database, as those of such a store do.
type qualified struct {
	*sql.Conn
	database string
}

func (q qualified) in(query string) string {
	return strings.ReplaceAll(query, "`idempotency_keys`", q.database+".`idempotency_keys`")
}

func (q qualified) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return q.Conn.ExecContext(ctx, q.in(query), args...)
}

func (q qualified) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return q.Conn.QueryRowContext(ctx, q.in(query), args...)
}

// keys are those that the table has.
func (s *myStore) keys() (keys []string) {
	s.t.Helper()
	rows, err := s.conn.QueryContext(s.t.Context(), "SELECT `key` FROM idempotency_keys ORDER BY `key`")
	require.NoError(s.t, err)
	defer func() { assert.NoError(s.t, rows.Close()) }()
	for rows.Next() {
		var key string
		require.NoError(s.t, rows.Scan(&key))
		keys = append(keys, key)
	}
	require.NoError(s.t, rows.Err())
	return keys
}

// keyOf is a key that no other case has.
func keyOf(session, what string, now int64) string {
	return strings.NewReplacer(" ", "_", ",", "").Replace(session) + "/" + what + "/" + seconds(now)
}

// seconds are microseconds as SET timestamp takes them.
func seconds(micros int64) string {
	return strconv.FormatInt(micros/1e6, 10) + "." + fmt.Sprintf("%06d", micros%1e6)
}
