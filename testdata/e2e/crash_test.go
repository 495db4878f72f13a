package e2e

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/lib/pq"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/testdata/e2e/events"
	"github.com/idemgen/idemgen/testdata/e2e/litehook"
	"github.com/idemgen/idemgen/testdata/e2e/liteshop"
	"github.com/idemgen/idemgen/testdata/e2e/pgxshop"
	"github.com/idemgen/idemgen/testdata/e2e/stdshop"
)

// A worker process that is killed in the middle of the transaction leaves nothing, and its event runs when it is
// delivered again. One that is killed after the commit and before its acknowledgement leaves a result for the repeat.
func TestCrash(t *testing.T) {
	for _, stage := range []string{inTransaction, afterCommit} {
		t.Run(stage, func(t *testing.T) {
			eachDriver(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{})
				e := order()
				killWorker(t, d, job{Driver: d.name, Place: s.place, Stage: stage, Event: e})
				s.awaitWorkersEnd(t)
				if stage == inTransaction {
					s.clean(t)
				}
				got, err := s.PlaceOrder(t.Context(), e)
				require.NoError(t, err)
				if stage == inTransaction {
					assert.Equal(t, "run 1", got.PlacedBy)
				} else {
					assert.Equal(t, "the worker process", got.PlacedBy)
				}
				assert.Equal(t, 1, s.effects(t))
				assert.Len(t, s.rows(t), 1)
			})
		})
	}
}

// awaitWorkersEnd returns when the server has seen that a killed worker process is gone, which takes it a moment.
func (s *shop) awaitWorkersEnd(t *testing.T) {
	t.Helper()
	switch {
	case s.postgres:
		eventually(t, func() bool {
			return s.count(t, `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1`, s.place+workerSuffix) == 0
		})
	case s.mysql: // where the test's own connections have none
		eventually(t, func() bool { return s.transactions(t).all[s.place] == 0 })
	}
}

// job is what a worker process is to do.
type job struct {
	Driver string
	Server string // PostgreSQL, MariaDB: the DSN of the server
	Place  string // its schema or database; SQLite: the DSN
	Stage  string // where it gets killed
	Event  events.OrderPlaced

	Outside string // the outside system, for a job that charges
	End     string // how the charge ends that is not killed

	Suite string // the conformance suite's order, for a job of its own

	Order string // the order to confirm, for a job that does that
}

// The stages that a worker process can report, and stay in.
const (
	inTransaction = "in the transaction"
	afterCommit   = "after the commit"
)

// workerSuffix tells a worker process's connections from the test's.
const workerSuffix = "_worker"

// killWorker starts a worker process and kills it when it has come to the job's stage.
func killWorker(t *testing.T, d driver, j job) {
	t.Helper()
	worker, stdout := startWorker(t, d, j)
	said, readErr := stdout.ReadString('\n')
	require.NoError(t, worker.Process.Kill())
	var exit *exec.ExitError
	require.ErrorAs(t, worker.Wait(), &exit)
	require.NoError(t, readErr)
	require.Equal(t, j.Stage, strings.TrimSpace(said))
	require.False(t, exit.Exited(), "it was not killed: %v", exit)
}

// startWorker starts a worker process, and returns it with what it says.
func startWorker(t *testing.T, d driver, j job) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	switch {
	case d.postgres:
		j.Server = server.DSN
	case d.mysql:
		j.Server = myServer.DSN
	}
	text, err := json.Marshal(j)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	worker := exec.CommandContext(t.Context(), self)
	worker.Env = append(os.Environ(), workerVariable+"="+string(text))
	worker.Stderr = os.Stderr
	_, err = worker.StdinPipe() // which ends when this process does
	require.NoError(t, err)
	stdout, err := worker.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, worker.Start())
	return worker, bufio.NewReader(stdout)
}

// work is the worker process. It ends by being killed; otherwise it returns an exit code.
func work(text string) int {
	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		err = j.do(context.Background())
	}
	fmt.Fprintln(os.Stderr, "worker:", err)
	return 1
}

func (j job) do(ctx context.Context) error {
	if j.Order != "" {
		return j.confirm(ctx)
	}
	service, end, err := j.open(ctx)
	if err != nil {
		return err
	}
	defer end()
	if j.Suite != "" {
		return j.conform(ctx, service)
	}
	if j.Outside != "" {
		return j.charge(ctx, service)
	}
	_, err = service.PlaceOrder(ctx, j.Event)
	if err == nil {
		err = j.reached(afterCommit)
	}
	return errors.Join(err, errors.New("was not killed"))
}

// reached says that the process has come to a stage, and stays there if the job says so: until the parent kills it,
// or is gone itself and with it the other end of the pipe.
func (j job) reached(stage string) error {
	if j.Stage != stage {
		return nil
	}
	fmt.Println(stage)
	_, err := os.Stdin.Read(make([]byte, 1))
	return fmt.Errorf("not killed %s: %w", stage, err)
}

// placer is the generated type of every driver.
type placer interface {
	PlaceOrder(context.Context, events.OrderPlaced) (events.Receipt, error)
}

// charger is the generated type of every driver's cards.
type charger interface {
	Charge(context.Context, events.OrderPlaced) (events.Receipt, error)
	Wire(context.Context, events.OrderPlaced) error
}

// worker is what a worker process has.
type worker struct {
	placer
	charger
}

func (j job) open(ctx context.Context) (_ worker, end func(), err error) {
	place := func(ctx context.Context, tx Tx, e events.OrderPlaced) (events.Receipt, error) {
		s := &shop{}
		if err := s.effect(ctx, tx, e.OrderID.String()); err != nil {
			return events.Receipt{}, err
		}
		return events.Receipt{PlacedBy: "the worker process", Total: e.Total}, j.reached(inTransaction)
	}
	onSQL := func(ctx context.Context, tx *sql.Tx, e events.OrderPlaced) (events.Receipt, error) {
		return place(ctx, sqlTx{driverOf(j.Driver), tx}, e)
	}
	if way, ok := liteWay(j.Driver); ok {
		db := litehook.New(way, j.Place).Open()
		return worker{
			liteshop.NewIdempotentService(&liteshop.Service{OnPlaceOrder: onSQL}, db), liteshop.NewIdempotentCards(j.cards(), db),
		}, func() { _ = db.Close() }, nil
	}
	if j.Driver == "maria" {
		return j.openMaria(place)
	}
	config, err := pgxpool.ParseConfig(j.Server)
	if err != nil {
		return worker{}, nil, err
	}
	config.ConnConfig.RuntimeParams["search_path"] = j.Place
	config.ConnConfig.RuntimeParams["application_name"] = j.Place + workerSuffix
	if j.Driver != "pgx" {
		db := stdlib.OpenDB(*config.ConnConfig)
		if j.Driver == "pq" {
			connector, err := pq.NewConnectorConfig(pqConfig(config.ConnConfig))
			if err != nil {
				return worker{}, nil, err
			}
			db = sql.OpenDB(connector)
		}
		return worker{
			stdshop.NewIdempotentService(&stdshop.Service{OnPlaceOrder: onSQL}, db), stdshop.NewIdempotentCards(j.cards(), db),
		}, func() { _ = db.Close() }, nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return worker{}, nil, err
	}
	return worker{pgxshop.NewIdempotentService(&pgxshop.Service{
		OnPlaceOrder: func(ctx context.Context, tx pgx.Tx, e events.OrderPlaced) (events.Receipt, error) {
			return place(ctx, pgxTx{tx}, e)
		},
	}, pool), pgxshop.NewIdempotentCards(j.cards(), pool)}, pool.Close, nil
}
