package e2e

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/idemmysql"
	"github.com/idemgen/idemgen/runtime/idempgx"
	"github.com/idemgen/idemgen/runtime/idemsql"

	liteordersdb "github.com/idemgen/idemgen/testdata/e2e/liteorders/idemdb"
	myordersdb "github.com/idemgen/idemgen/testdata/e2e/myorders/idemdb"
	pgxordersdb "github.com/idemgen/idemgen/testdata/e2e/pgxorders/idemdb"
	stdordersdb "github.com/idemgen/idemgen/testdata/e2e/stdorders/idemdb"
)

// step is a transition of a test's own: what the directives of the orders have not. Its statements have the row's identity as
// their first parameter.
type step struct {
	from, past []string
	to         string
	update     string
	args       func() ([]any, error) // further parameters of the UPDATE
	expect     func() int64
	noBody     bool
}

// own is a step as a transition, and with a key.
type own struct {
	do    func(ctx context.Context, id string) error
	keyed func(ctx context.Context, key, id string) error
}

// statements are what a step's statements run on, whatever the driver.
type statements interface {
	exec(ctx context.Context, query string, args ...any) (int64, error)
	row(ctx context.Context, query string, args ...any) interface{ Scan(...any) error }
}

// own makes a step for the driver of the orders.
func (o *orders) own(t *testing.T, s step, options ...idem.Option) own {
	t.Helper()
	options = o.options(setup{options: options})
	switch o.code {
	case "pgx":
		return ownOf(o, s, idempgx.New(o.pool, pgxordersdb.Store, options...), func(db idempgx.DBTX) statements { return onPGX{db} },
			func(tx pgx.Tx) Tx { return pgxTx{tx} })
	case "std":
		return ownOf(o, s, idemsql.New(o.db, stdordersdb.Store, options...), func(db idemsql.DBTX) statements { return onDB{db} },
			func(tx *sql.Tx) Tx { return o.on(tx) })
	case "my":
		return ownOf(o, s, idemmysql.New(o.db, myordersdb.Store, options...), func(db idemmysql.DBTX) statements { return onDB{db} },
			func(tx *sql.Tx) Tx { return o.on(tx) })
	default:
		return ownOf(o, s, idemsql.New(o.db, liteordersdb.Store, options...), func(db idemsql.DBTX) statements { return onDB{db} },
			func(tx *sql.Tx) Tx { return o.on(tx) })
	}
}

type keyedAsk struct{ key, id string }

func ownOf[T, DB any](o *orders, s step, g *idem.Guard[T], on func(DB) statements, tx func(T) Tx) own {
	look := `SELECT ` + o.text("status")
	if s.expect != nil {
		look += `, version`
	}
	look += ` FROM orders WHERE id = $1`
	spec := idem.TransitionSpec[DB, keyedAsk]{
		Name: "own." + s.to, Column: "orders.status", From: s.from, To: s.to, Past: append([]string{s.to}, s.past...), OneRow: true,
		Row: func(e keyedAsk) (string, error) {
			var k idem.KeyBuilder
			k.String("ID", e.id)
			return k.Key()
		},
		Update: func(ctx context.Context, db DB, e keyedAsk) (int64, error) {
			args := []any{e.id}
			if s.args != nil {
				more, err := s.args()
				if err != nil {
					return 0, err
				}
				args = append(args, more...)
			}
			return on(db).exec(ctx, o.spell(s.update), args...)
		},
		Look: func(ctx context.Context, db DB, e keyedAsk) (r idem.RowState, err error) {
			to := []any{&r.State}
			if s.expect != nil {
				to = append(to, &r.Version)
			}
			err = on(db).row(ctx, o.spell(look), e.id).Scan(to...)
			return r, err
		},
	}
	if s.expect != nil {
		spec.Expect = func(keyedAsk) int64 { return s.expect() }
	}
	run := func(ctx context.Context, native T, e keyedAsk) error { return o.body(ctx, tx(native), s.to, e.id, "") }
	if s.noBody {
		run = nil
	}
	tr := idem.NewTransition(g, spec, run)
	h := idem.NewHandler(g, idem.Spec[keyedAsk]{Name: "own.keyed." + s.to, Window: time.Hour, Key: func(e keyedAsk) (string, error) {
		var k idem.KeyBuilder
		k.String("Key", e.key)
		return k.Key()
	}}, idem.WithTransition(spec, idem.NoResult(run)))
	return own{
		do: func(ctx context.Context, id string) error { return tr.Do(ctx, keyedAsk{"", id}) },
		keyed: func(ctx context.Context, key, id string) error {
			_, err := h.Do(ctx, keyedAsk{key, id})
			return err
		},
	}
}

// onPGX and onDB are statements on either kind of database.
type (
	onPGX struct{ db idempgx.DBTX }
	onDB  struct{ db idemsql.DBTX }
)

func (p onPGX) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := p.db.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

func (p onPGX) row(ctx context.Context, query string, args ...any) interface{ Scan(...any) error } {
	return p.db.QueryRow(ctx, query, args...)
}

func (p onDB) exec(ctx context.Context, query string, args ...any) (int64, error) {
	r, err := p.db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (p onDB) row(ctx context.Context, query string, args ...any) interface{ Scan(...any) error } {
	return p.db.QueryRowContext(ctx, query, args...)
}

// text is a column as a text: an enum is none by itself.
func (d driver) text(column string) string {
	if d.postgres {
		return "CAST(" + column + " AS text)"
	}
	return column
}

// confirmAgain confirms what is pending, and what has been shipped and comes back: a state before its own that lies behind it,
// too.
func (o *orders) confirmAgain(t *testing.T, more func(*step), options ...idem.Option) own {
	t.Helper()
	s := step{
		from: []string{"pending", "shipped"}, to: "confirmed", past: []string{"shipped"},
		update: `UPDATE orders SET status = 'confirmed', version = version + 1 WHERE id = $1 AND status IN ('pending', 'shipped')`,
	}
	if more != nil {
		more(&s)
	}
	return o.own(t, s, options...)
}
