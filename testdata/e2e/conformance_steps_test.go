package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/idemmysql"
	"github.com/idemgen/idemgen/runtime/idempgx"
	"github.com/idemgen/idemgen/runtime/idemsql"
	"github.com/idemgen/idemgen/runtime/idemtest"
)

// items is what an engine has of its own for the suite's transitions.
type items struct {
	table    string // of items
	meddle   string // has a trigger write into each row that changes
	suppress string // has one keep rows from being changed; "" where none can
}

const noSuppression = "a trigger fails, or the row changes; it cannot keep a row as it is in silence"

var (
	postgresSteps = items{
		table: `CREATE TABLE items (id text PRIMARY KEY, tenant text NOT NULL, state text NOT NULL, version bigint NOT NULL DEFAULT 1, note text)`,
		meddle: `CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := 'seen'; RETURN NEW; END $$;
			CREATE TRIGGER meddle BEFORE UPDATE ON items FOR EACH ROW EXECUTE FUNCTION meddle()`,
		suppress: `CREATE FUNCTION suppress() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
			CREATE TRIGGER suppress BEFORE UPDATE ON items FOR EACH ROW EXECUTE FUNCTION suppress()`,
	}
	mariaSteps = items{
		table: `CREATE TABLE items (id VARCHAR(100) PRIMARY KEY, tenant VARCHAR(100) NOT NULL, state VARCHAR(20) NOT NULL,
			version BIGINT NOT NULL DEFAULT 1, note VARCHAR(20), KEY (tenant))`,
		meddle: `CREATE TRIGGER meddle BEFORE UPDATE ON items FOR EACH ROW SET NEW.note = 'seen'`,
	}
	sqliteSteps = items{
		table: `CREATE TABLE items (id TEXT PRIMARY KEY, tenant TEXT NOT NULL, state TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 1,
			note TEXT) STRICT`,
		meddle: `CREATE TRIGGER meddle AFTER UPDATE ON items WHEN NEW.note IS NULL BEGIN
			UPDATE items SET note = 'seen' WHERE id = NEW.id; END`,
		suppress: `CREATE TRIGGER suppress BEFORE UPDATE ON items BEGIN SELECT RAISE(IGNORE); END`,
	}
)

// fillSteps adds the place's rows that have a state.
func fillSteps[T any](place *idemtest.Place[T], p *suitePlace, all *idemtest.Steps[T]) {
	p.exec(p.T, p.items.table)
	all.Put = func(id, group, state string) {
		p.exec(p.T, `INSERT INTO items (id, tenant, state) VALUES ($1, $2, $3)`, id, group, state)
	}
	all.At = func(id string) (state string, version int64) {
		row := p.look.QueryRowContext(p.Context(), p.spell(`SELECT state, version FROM items WHERE id = $1`), id)
		require.NoError(p.T, row.Scan(&state, &version))
		return state, version
	}
	all.Meddle = func() { p.exec(p.T, p.meddle) }
	all.Suppress = func() { p.exec(p.T, p.suppress) }
	place.Steps = all
}

// stepUpdate is the UPDATE of a step, and stepLook its look-up. Parameters are $1, $2.
func stepUpdate(s idemtest.Step) (query string, args []any) {
	where, args := stepRows(s, s.To)
	from := make([]string, len(s.From))
	for i, state := range s.From {
		args = append(args, state)
		from[i] = fmt.Sprintf("$%d", len(args))
	}
	query = `-- name: Move :execrows
		UPDATE items SET state = $1, version = version + 1 WHERE ` + where + ` AND state IN (` + strings.Join(from, ", ") + `)`
	if s.Expect != nil {
		args = append(args, *s.Expect)
		query += fmt.Sprintf(" AND version = $%d", len(args))
	}
	return query, args
}

func stepLook(s idemtest.Step) (query string, args []any) {
	where, args := stepRows(s)
	if s.ID != "" {
		return `SELECT state, version, 1 FROM items WHERE ` + where, args
	}
	return `SELECT coalesce(max(state), ''), coalesce(max(version), 0), count(*) FROM items WHERE ` + where, args
}

// stepRows are the rows that a step is about. Their parameter comes behind others.
func stepRows(s idemtest.Step, before ...any) (where string, args []any) {
	if s.ID != "" {
		return fmt.Sprintf("id = $%d", len(before)+1), append(before, s.ID)
	}
	return fmt.Sprintf("tenant = $%d", len(before)+1), append(before, s.Group)
}

func pgxSteps(driver) *idemtest.Steps[pgx.Tx] {
	return idemtest.NewSteps[pgx.Tx](idemtest.StepQueries[idempgx.DBTX]{
		Update: func(ctx context.Context, db idempgx.DBTX, s idemtest.Step) (int64, error) {
			query, args := stepUpdate(s)
			tag, err := db.Exec(ctx, query, args...)
			return tag.RowsAffected(), err
		},
		Look: func(ctx context.Context, db idempgx.DBTX, s idemtest.Step) (row idem.RowState, err error) {
			query, args := stepLook(s)
			err = db.QueryRow(ctx, query, args...).Scan(&row.State, &row.Version, &row.Rows)
			return row, err
		},
	})
}

// onSQLDB is what the statements of both drivers of database/sql run on.
type onSQLDB interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

func sqlSteps[DB onSQLDB](d driver) *idemtest.Steps[*sql.Tx] {
	return idemtest.NewSteps[*sql.Tx](idemtest.StepQueries[DB]{
		Update: func(ctx context.Context, db DB, s idemtest.Step) (int64, error) {
			query, args := stepUpdate(s)
			result, err := db.ExecContext(ctx, d.spell(query), args...)
			if err != nil {
				return 0, err
			}
			return result.RowsAffected()
		},
		Look: func(ctx context.Context, db DB, s idemtest.Step) (row idem.RowState, err error) {
			query, args := stepLook(s)
			err = db.QueryRowContext(ctx, d.spell(query), args...).Scan(&row.State, &row.Version, &row.Rows)
			return row, err
		},
	})
}

// sqlSteps are those of a worker process.
func (j job) sqlSteps() *idemtest.Steps[*sql.Tx] {
	d := driverOf(j.Driver)
	if d.mysql {
		return sqlSteps[idemmysql.DBTX](d)
	}
	return sqlSteps[idemsql.DBTX](d)
}
