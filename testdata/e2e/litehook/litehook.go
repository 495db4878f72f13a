// Package litehook opens SQLite through a driver that lets a test look in: it counts statements that met a lock, runs a
// test's code before a given statement, and can put error texts into another language. Everything else is the driver's, of
// which there are two: modernc's and, in a build with cgo, mattn's.
package litehook

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"
)

// Connector opens connections to one database. Use it with sql.OpenDB.
type Connector struct {
	way Way
	dsn string

	mu        sync.Mutex
	busy      int
	before    []hook
	faults    []fault
	translate bool
}

// fault is what goes wrong with the next statement that contains text.
type fault struct {
	text string
	lost bool // it is executed all the same
	then func()
}

type hook struct {
	text string
	do   func()
}

// New makes a Connector for a DSN of the driver.
func New(way Way, dsn string) *Connector { return &Connector{way: way, dsn: dsn} }

// Busy is how many statements have met another connection's lock.
func (c *Connector) Busy() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.busy
}

// Before has do run once, before the next statement that contains text.
func (c *Connector) Before(text string, do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = append(c.before, hook{text, do})
}

// Fail has the next statement that contains text fail with an I/O error, without being executed; each call one statement.
func (c *Connector) Fail(text string) { c.fault(fault{text: text}) }

// Lose has the next statement that contains text be executed and fail with an I/O error all the same.
func (c *Connector) Lose(text string) { c.fault(fault{text: text, lost: true}) }

// FailThen and LoseThen are Fail and Lose, with something that is done before the statement's client is told.
func (c *Connector) FailThen(text string, then func()) { c.fault(fault{text: text, then: then}) }
func (c *Connector) LoseThen(text string, then func()) {
	c.fault(fault{text: text, lost: true, then: then})
}

func (c *Connector) fault(f fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, f)
}

// faulty takes out the fault of a statement, if there is one.
func (c *Connector) faulty(query string) (f fault, there bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, f := range c.faults {
		if strings.Contains(query, f.text) {
			c.faults = append(c.faults[:i:i], c.faults[i+1:]...)
			return f, true
		}
	}
	return fault{}, false
}

// run runs a statement, with its fault.
func (c *Connector) run(query string, do func() error) error {
	f, there := c.faulty(query)
	switch {
	case !there:
		return do()
	case f.lost:
		if err := do(); err != nil {
			return err
		}
	}
	if f.then != nil {
		f.then()
	}
	return c.way.foreign(ioErr)
}

// Translate has the texts of all errors come in another language from now on. Their codes stay.
func (c *Connector) Translate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.translate = true
}

// Code is SQLite's result code in an error of the driver's, or 0; Error is an error of the driver's kind that has it.
func (c *Connector) Code(err error) int   { return c.way.code(err) }
func (c *Connector) Error(code int) error { return c.way.foreign(code) }

// Driver is the one that everything goes to.
func (c *Connector) Driver() driver.Driver { return c.way.driver }

// Connect opens a connection.
func (c *Connector) Connect(context.Context) (driver.Conn, error) {
	inner, err := c.Driver().Open(c.dsn)
	if err != nil {
		return nil, c.outcome(err) // a new connection begins with statements of the DSN's
	}
	full, ok := inner.(fullConn)
	if !ok {
		return nil, errors.Join(errors.New("litehook: the driver's connection has lost a method"), inner.Close())
	}
	outer := &conn{full, c}
	if pooled, ok := inner.(pooledConn); ok {
		return &struct {
			*conn
			pooledConn
		}{outer, pooled}, nil
	}
	return outer, nil
}

// statement is called before each statement.
func (c *Connector) statement(query string) {
	c.mu.Lock()
	var do []func()
	rest := c.before[:0]
	for _, h := range c.before {
		if strings.Contains(query, h.text) {
			do = append(do, h.do)
		} else {
			rest = append(rest, h)
		}
	}
	c.before = rest
	c.mu.Unlock()
	for _, f := range do {
		f()
	}
}

// SQLite's primary result codes, in the low byte of an extended code.
const (
	primaryBusy = 5
	ioErr       = 10
)

// outcome is called with the error of each statement and returns it, translated if need be.
func (c *Connector) outcome(err error) error {
	code := c.way.code(err)
	if code == 0 {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if code&0xff == primaryBusy {
		c.busy++
	}
	if c.translate {
		return c.way.foreign(code)
	}
	return err
}

type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
}

// pooledConn is what a connection may have beyond that, and database/sql makes a difference by it.
type pooledConn interface {
	driver.SessionResetter
	driver.Validator
}

type conn struct {
	fullConn
	c *Connector
}

func (n *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	n.c.statement(query)
	var result driver.Result
	err := n.c.run(query, func() (err error) {
		result, err = n.fullConn.ExecContext(ctx, query, args)
		return err
	})
	return result, n.c.outcome(err)
}

func (n *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	n.c.statement(query)
	rows, err := n.fullConn.QueryContext(ctx, query, args)
	return rows, n.c.outcome(err)
}

func (n *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	n.c.statement("BEGIN")
	inner, err := n.fullConn.BeginTx(ctx, opts)
	if err != nil {
		return nil, n.c.outcome(err)
	}
	return &tx{inner, n.c}, nil
}

type tx struct {
	driver.Tx
	c *Connector
}

func (t *tx) Commit() error {
	t.c.statement("COMMIT")
	return t.c.outcome(t.c.run("COMMIT", t.Tx.Commit))
}

func (t *tx) Rollback() error {
	t.c.statement("ROLLBACK")
	return t.c.outcome(t.c.run("ROLLBACK", t.Tx.Rollback))
}

// Open opens the database.
func (c *Connector) Open() *sql.DB { return sql.OpenDB(c) }
