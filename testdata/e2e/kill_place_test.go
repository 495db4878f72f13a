package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/idemgen/idemgen/testdata/e2e/kill"
	"github.com/idemgen/idemgen/testdata/e2e/litehook"
	"github.com/idemgen/idemgen/testdata/e2e/liteorders"
	"github.com/idemgen/idemgen/testdata/e2e/liteshop"
	litedb "github.com/idemgen/idemgen/testdata/e2e/liteshop/idemdb"
	"github.com/idemgen/idemgen/testdata/e2e/myorders"
	"github.com/idemgen/idemgen/testdata/e2e/myshop"
	mydb "github.com/idemgen/idemgen/testdata/e2e/myshop/idemdb"
	"github.com/idemgen/idemgen/testdata/e2e/pgxorders"
	"github.com/idemgen/idemgen/testdata/e2e/pgxshop"
	pgxdb "github.com/idemgen/idemgen/testdata/e2e/pgxshop/idemdb"
	"github.com/idemgen/idemgen/testdata/e2e/stdorders"
	"github.com/idemgen/idemgen/testdata/e2e/stdshop"
	stddb "github.com/idemgen/idemgen/testdata/e2e/stdshop/idemdb"
)

// killEngine is a driver as the kill matrix needs it.
type killEngine struct {
	driver
	engine string   // its column in the list of points
	orders []string // what makes the tables of orders that change their state
	open   openKill
}

// openKill makes a database for one cell, with its files in a folder, and with further tables.
type openKill func(ctx context.Context, e killEngine, dir string, more ...string) (killPlace, error)

// killEngines are the engines of the matrix.
func killEngines() []killEngine {
	return []killEngine{
		{driverOf("pgx"), "postgresql", []string{pgxorders.Tables, historyPostgres}, killPostgres(pgxshop.Tables, pgxdb.Schema)},
		{driverOf("std"), "postgresql", []string{stdorders.Tables, historyPostgres}, killPostgres(stdshop.Tables, stddb.Schema)},
		{driverOf("maria"), "mysql", []string{myorders.Tables, historyMaria}, killMaria},
		{driverOf("lite"), "sqlite", []string{liteorders.Tables, historyLite}, killLite},
	}
}

// killPlace is a database of one cell's own.
type killPlace struct {
	killEngine
	server, place string
	outside       string // the folder of its outside system
	look          *sql.DB
	drop          func() error
}

func killPostgres(tables ...string) openKill {
	return func(ctx context.Context, e killEngine, dir string, more ...string) (p killPlace, err error) {
		config, err := pgx.ParseConfig(server.DSN)
		if err != nil {
			return p, err
		}
		name := fmt.Sprintf("idemgen_kill_%d_%d", os.Getpid(), places.Add(1))
		own := config.Copy()
		own.RuntimeParams["search_path"] = name
		if err := execute(ctx, config, "CREATE SCHEMA "+name); err != nil {
			return p, err
		}
		look := stdlib.OpenDB(*own)
		look.SetMaxOpenConns(1)
		drop := func() error {
			return errors.Join(look.Close(), execute(context.WithoutCancel(ctx), config, "DROP SCHEMA "+name+" CASCADE"))
		}
		if err := execute(ctx, own, slices.Concat(tables, more)...); err != nil {
			return p, errors.Join(err, drop())
		}
		return killPlace{killEngine: e, server: server.DSN, place: name, outside: dir, look: look, drop: drop}, nil
	}
}

func killMaria(ctx context.Context, e killEngine, dir string, more ...string) (p killPlace, err error) {
	root, err := mysql.ParseDSN(myServer.DSN)
	if err != nil {
		return p, err
	}
	name := fmt.Sprintf("idemgen_kill_%d_%d", os.Getpid(), places.Add(1))
	if err := executeMy(ctx, root, "CREATE DATABASE "+name); err != nil {
		return p, err
	}
	own := root.Clone()
	own.DBName, own.Params = name, map[string]string{"sql_mode": "'ANSI_QUOTES,STRICT_ALL_TABLES'"}
	look, err := openMy(own)
	if err != nil {
		return p, err
	}
	look.SetMaxOpenConns(1)
	drop := func() error {
		return errors.Join(look.Close(), executeMy(context.WithoutCancel(ctx), root, "DROP DATABASE "+name))
	}
	tables := root.Clone()
	tables.DBName, tables.MultiStatements = name, true
	if err := executeMy(ctx, tables, append([]string{myshop.Tables, mydb.Schema}, more...)...); err != nil {
		return p, errors.Join(err, drop())
	}
	return killPlace{killEngine: e, server: myServer.DSN, place: name, outside: dir, look: look, drop: drop}, nil
}

func killLite(ctx context.Context, e killEngine, dir string, more ...string) (p killPlace, err error) {
	way, ok := liteWay("lite")
	if !ok {
		return p, errors.New("no driver of SQLite")
	}
	file, settings := filepath.Join(dir, "shop.db"), litehook.Settings{Journal: "wal"}
	place := way.DSN(file, settings)
	// Eyes that wait: the worker meets locks at once, but the test looks when it wants to.
	settings.Patience = patience
	look := litehook.New(way, way.DSN(file, settings)).Open()
	if _, err := look.ExecContext(ctx, liteshop.Tables+litedb.Schema+strings.Join(more, "")); err != nil {
		return p, errors.Join(err, look.Close())
	}
	return killPlace{killEngine: e, place: place, outside: dir, look: look, drop: look.Close}, nil
}

// handler is the name under which the table has the handler of a call.
func (e killEngine) handler(call kill.Call) string {
	switch call {
	case kill.AuditOrder:
		return e.code + ".audit"
	case kill.Charge, kill.MarkCharge:
		return e.code + "shop.Cards.Charge"
	case kill.Wire:
		return e.code + "shop.Cards.Wire"
	case kill.Pay, kill.JoinPay:
		return e.code + "orders.Service.Pay"
	case kill.PayNow:
		return e.code + "orders.Moves.PayNow"
	default:
		return e.code + "shop.Service.PlaceOrder"
	}
}

// The states of a row that is there before its event, and free.
const (
	pastWindow = "done"
	pastLease  = "running"
)

// seed writes the row of an event that an earlier delivery has left.
func (p killPlace) seed(ctx context.Context, e *event, state string) error {
	expires, lease := p.past(), "NULL"
	if state == pastLease {
		expires, lease = lease, expires
	}
	owner := uuid.New()
	_, err := p.look.ExecContext(ctx, p.spell(fmt.Sprintf(
		`INSERT INTO idempotency_keys (handler, "key", owner, state, created_at, updated_at, expires_at, lease_until)
		VALUES ($1, $2, $3, $4, %[1]s, %[1]s, %[2]s, %[3]s)`, p.past(), expires, lease)),
		p.handler(e.call), e.key(), owner[:], state)
	return err
}

// unpark is what a person does about the keys that are parked.
func (p killPlace) unpark(ctx context.Context) error {
	_, err := p.look.ExecContext(ctx, `UPDATE idempotency_keys SET state = 'released' WHERE state = 'parked'`)
	return err
}

// effects are what the handlers with a transaction have left, each with the runs that it is of.
func (p killPlace) effects(ctx context.Context) (map[string][]string, error) {
	return p.pairs(ctx, `SELECT what, worker FROM effects`)
}

// states are the states of the rows of each key, of whichever handler.
func (p killPlace) states(ctx context.Context) (map[string][]string, error) {
	return p.pairs(ctx, `SELECT "key", state FROM idempotency_keys`)
}

func (p killPlace) pairs(ctx context.Context, query string) (all map[string][]string, err error) {
	rows, err := p.look.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	all = map[string][]string{}
	for rows.Next() {
		var of, value string
		if err := rows.Scan(&of, &value); err != nil {
			return nil, err
		}
		all[of] = append(all[of], value)
	}
	return all, rows.Err()
}

// outsiders are the files of the outside system by what they are of: its calls, or its charges.
func (p killPlace) outsiders(kind string) (map[string][]string, error) {
	files, err := filepath.Glob(filepath.Join(p.outside, kind+"-*"))
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for _, file := range files {
		what, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all[string(what)] = append(all[string(what)], strings.TrimPrefix(filepath.Base(file), kind+"-"))
	}
	return all, nil
}
