package e2e

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/myshop"
)

// myCommit is the packet in which the client commits: a query that is nothing else.
const myCommit = "\x03COMMIT"

// transactions are how many transactions each account has on the server, and how many of them wait for a lock.
type transactions struct{ all, waiting map[string]int }

// innodb is what is known of the server's transactions. The server shows a copy, which it makes anew only if nobody has looked for
// a tenth of a second: so all tests look through this.
var innodb struct {
	sync.Mutex
	looked time.Time
	transactions
}

// transactions looks at the server's transactions, as they are after the call began.
func (s *shop) transactions(t *testing.T) transactions {
	t.Helper()
	began := time.Now()
	innodb.Lock()
	defer innodb.Unlock()
	if innodb.looked.After(began) {
		return innodb.transactions
	}
	const pause = 120 * time.Millisecond
	again := time.NewTimer(time.Until(innodb.looked.Add(pause)))
	defer again.Stop()
	<-again.C
	looked := time.Now()
	rows, err := s.look.QueryContext(context.WithoutCancel(t.Context()), `SELECT p.USER, t.trx_state = 'LOCK WAIT'
		FROM information_schema.INNODB_TRX AS t JOIN information_schema.PROCESSLIST AS p ON p.ID = t.trx_mysql_thread_id`)
	require.NoError(t, err)
	defer rows.Close()
	seen := transactions{map[string]int{}, map[string]int{}}
	for rows.Next() {
		var account string
		var waits int
		require.NoError(t, rows.Scan(&account, &waits))
		seen.all[account]++
		seen.waiting[account] += waits
	}
	require.NoError(t, rows.Err())
	innodb.looked, innodb.transactions = looked, seen
	return seen
}

// waiting is how many transactions of the code under test wait for a lock.
func (s *shop) waiting(t *testing.T) int {
	t.Helper()
	return s.transactions(t).waiting[s.place]
}

// myNumber is the number of the server's error, or 0.
func myNumber(err error) uint16 {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return 0
	}
	return e.Number
}

// killAll ends all connections of the code under test that there are now, and waits until they are gone.
func (s *shop) killAll(t *testing.T) {
	t.Helper()
	const connections = `SELECT ID FROM information_schema.PROCESSLIST WHERE USER = ?`
	rows, err := s.look.QueryContext(t.Context(), connections, s.place)
	require.NoError(t, err)
	var ids []int64
	for rows.Next() {
		var id int64
		require.NoError(t, rows.Scan(&id))
		ids = append(ids, id)
	}
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close())
	for _, id := range ids {
		s.kill(t, id)
	}
}

// kill ends a connection on the server's side, and waits until it is gone.
func (s *shop) kill(t *testing.T, id int64) {
	t.Helper()
	_, err := s.look.ExecContext(t.Context(), `KILL ?`, id)
	const noSuchThread = 1094
	if myNumber(err) != noSuchThread { // it may have gone by itself
		require.NoError(t, err)
	}
	eventually(t, func() bool {
		return s.count(t, `SELECT count(*) FROM information_schema.PROCESSLIST WHERE ID = $1`, id) == 0
	})
}

func (j job) openMaria(place func(context.Context, Tx, events.OrderPlaced) (events.Receipt, error)) (worker, func(), error) {
	server, err := mysql.ParseDSN(j.Server)
	if err != nil {
		return worker{}, nil, err
	}
	db, err := openMy(myAccount(server, j.Place))
	if err != nil {
		return worker{}, nil, err
	}
	return worker{myshop.NewIdempotentService(&myshop.Service{
		OnPlaceOrder: func(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) (events.Receipt, error) {
			return place(ctx, sqlTx{driverOf("maria"), tx}, e)
		},
	}, db), myshop.NewIdempotentCards(j.cards(), db)}, func() { _ = db.Close() }, nil
}
