package idempgx

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/point"
)

// The wait for a rival is bounded by lock_timeout, for the claim alone: the handler's statements have the user's value
// again. It is kept in a setting of our own, for the length of the transaction. keepLock is for a transaction without a
// claim, which is marked as the guard's in the same way.
const (
	boundLock = `SELECT set_config('idemgen.lock_timeout', current_setting('lock_timeout'), true), set_config('lock_timeout', $1, true)`
	keepLock  = `SELECT set_config('idemgen.lock_timeout', current_setting('lock_timeout'), true)`
	freeLock  = `SELECT set_config('lock_timeout', current_setting('idemgen.lock_timeout'), true)`
)

var errOneStatement = errors.New("idempgx: the store's statement was not run as generated code runs it: run go generate")

// noExec, noQuery complete a pipeline's DBTX: each pipeline serves one kind of statement.
type (
	noExec  struct{}
	noQuery struct{}
	errRow  struct{ err error }
)

func (noExec) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return pgconn.CommandTag{}, errOneStatement
}

func (noQuery) Query(context.Context, string, ...any) (pgx.Rows, error) { return nil, errOneStatement }
func (noQuery) QueryRow(context.Context, string, ...any) pgx.Row        { return errRow{errOneStatement} }

func (r errRow) Scan(...any) error { return r.err }

// beginning is the DBTX of a claim or a take-over: it sends BEGIN and the bound of the wait before the statement, and the
// bound's removal behind it.
type beginning struct {
	noQuery
	session *session
	wait    time.Duration
}

func (p beginning) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	b := &pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, 4)}
	b.BeginTx(p.session.pool.options)
	b.Queue(boundLock, driver.LockTimeout(p.wait))
	b.Queue(sql, args...)
	b.Queue(freeLock)

	results := p.session.conn.SendBatch(ctx, b)
	p.session.began(results.Tx())
	tags, err := readTags(results, 4)
	return tags[2], err
}

// sameTx fails where the transaction is another one than the claim's: the setting is gone with that.
const sameTx = `SELECT CAST(CASE WHEN current_setting('idemgen.lock_timeout', true) <> '' THEN '1' ELSE 'another transaction' END AS integer)`

// notInteger is sameTx's answer to another transaction. PostgreSQL, Appendix A, class 22.
const notInteger = "22P02"

// ending is the DBTX of a completion: it sends sameTx before the statement, where the transaction is to be checked, and
// COMMIT behind it, where that may travel with it.
type ending struct {
	noQuery
	session *session
	check   bool
	commit  bool
	reached bool              // all that comes before COMMIT was answered
	answer  pgconn.CommandTag // COMMIT's
}

func (p *ending) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return p.send(ctx, func(b *pgx.Batch) { b.Queue(sql, args...) })
}

// send sends what queue puts between sameTx and COMMIT: at most one statement, whose answer it returns.
func (p *ending) send(ctx context.Context, queue func(*pgx.Batch)) (pgconn.CommandTag, error) {
	b := &pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, 3)}
	if p.check {
		b.Queue(sameTx)
	}
	own := b.Len()
	queue(b)
	if p.commit {
		b.Queue("commit")
	}

	if p.commit {
		point.At(point.BeforeCommit)
	}
	tags, err := readTags(p.session.conn.SendBatch(ctx, b), b.Len())
	if p.commit {
		last := b.Len() - 1
		p.answer = tags[last]
		p.reached = last == 0 || tags[last-1].String() != ""
	}
	switch {
	case p.answer.String() != "":
		// What happens to the connection after COMMIT's answer does not concern the transaction.
		err = nil
	case p.check && tags[0].String() == "" && driver.SQLState(err) == notInteger:
		err = &driver.CommitError{Fate: driver.Lost}
	}
	return tags[own], err
}

// readTags reads the command tags of the n results of a pipeline and closes it.
func readTags(results pgx.BatchResults, n int) (tags [4]pgconn.CommandTag, err error) {
	for i := 0; i < n && err == nil; i++ {
		tags[i], err = results.Exec()
	}
	if cerr := results.Close(); err == nil {
		err = cerr
	}
	return tags, err
}

// looking is the DBTX of a look-up: it sends ROLLBACK before the statement.
type looking struct {
	noExec
	session *session
}

func (p looking) Query(context.Context, string, ...any) (pgx.Rows, error) {
	return nil, errOneStatement
}

func (p looking) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	b := &pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, 2)}
	b.Queue("rollback")
	b.Queue(sql, args...)
	return lookedUp{p.session, p.session.conn.SendBatch(ctx, b)}
}

// lookedUp is the row of a look-up, behind the answer to its ROLLBACK.
type lookedUp struct {
	session *session
	results pgx.BatchResults
}

func (r lookedUp) Scan(dest ...any) error {
	_, err := r.results.Exec()
	if err == nil {
		r.session.ended()
		err = r.results.QueryRow().Scan(dest...)
	}
	if cerr := r.results.Close(); err == nil {
		err = cerr
	}
	return err
}
