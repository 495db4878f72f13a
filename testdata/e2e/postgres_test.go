package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/testdata/e2e/wire"
)

// places numbers the schemas and databases of this run.
var places atomic.Int64

// newPlace makes a schema for one test, with the given tables in it, and returns how to connect to it. A setup that
// changes its database gets one of its own. The schema's name is also the application's, so that a test can tell its
// connections from the others'.
func newPlace(t *testing.T, set setup, tables ...string) *pgx.ConnConfig {
	t.Helper()
	config, err := pgx.ParseConfig(set.dsn())
	require.NoError(t, err)
	if set.same != nil {
		own := config.Copy()
		own.RuntimeParams["search_path"], own.RuntimeParams["application_name"] = set.same.place, set.same.place
		return own
	}
	name := fmt.Sprintf("idemgen_%d_%d", os.Getpid(), places.Add(1))
	own := config.Copy()
	own.RuntimeParams["search_path"] = name
	own.RuntimeParams["application_name"] = name
	changes := set.database
	if set.pooler != nil {
		// It does not pass a connection's settings on.
		changes = append([]string{"SET search_path = " + name}, changes...)
	}
	for i, change := range changes {
		if own.Database = name; i == 0 {
			provide(t, config, "CREATE DATABASE "+name+set.encoded(), "DROP DATABASE "+name+" WITH (FORCE)")
		}
		admin(t, config, "ALTER DATABASE "+name+" "+change)
	}
	provide(t, own, "CREATE SCHEMA "+name, "DROP SCHEMA "+name+" CASCADE")
	admin(t, own, tables...)
	return own
}

// encoded is the rest of the statement that makes a database with the setup's encoding.
func (set setup) encoded() string {
	if set.encoding == "" {
		return ""
	}
	return " ENCODING '" + set.encoding + "' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
}

// dsn is where the server is.
func (set setup) dsn() string {
	if set.cluster != nil {
		return set.cluster.DSN
	}
	return server.DSN
}

// provide creates something and has it dropped at the test's end.
func provide(t *testing.T, config *pgx.ConnConfig, create, drop string) {
	t.Helper()
	admin(t, config, create)
	t.Cleanup(func() { assert.NoError(t, execute(context.WithoutCancel(t.Context()), config, drop)) })
}

func admin(t *testing.T, config *pgx.ConnConfig, statements ...string) {
	t.Helper()
	require.NoError(t, execute(t.Context(), config, statements...))
}

// execute runs statements on a connection of their own.
func execute(ctx context.Context, config *pgx.ConnConfig, statements ...string) (err error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := conn.Close(ctx); err == nil {
			err = cerr
		}
	}()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// eyes is a pool of the test's own, past proxy and settings.
func eyes(t *testing.T, config *pgx.ConnConfig) *sql.DB {
	t.Helper()
	look := config.Copy()
	look.RuntimeParams["application_name"] = "eyes"
	db := stdlib.OpenDB(*look)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// through sends the connections of config through a new proxy.
func through(t *testing.T, config *pgx.ConnConfig) *wire.Proxy {
	t.Helper()
	proxy := wire.New(t, net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))))
	host, port, err := net.SplitHostPort(proxy.Addr())
	require.NoError(t, err)
	number, err := strconv.ParseUint(port, 10, 16)
	require.NoError(t, err)
	config.Host, config.Port, config.Fallbacks = host, uint16(number), nil
	return proxy
}

// activity is how many connections of the code under test are in a state, by the server's word.
func (s *shop) activity(t *testing.T, condition string) int {
	t.Helper()
	return s.count(t, `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND `+condition, s.place)
}
