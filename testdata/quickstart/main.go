// Command shop runs the handlers of package orders behind a queue that behaves as badly as queues do: it delivers every
// event one to three times to eight workers, loses acknowledgements, hands one event to two workers at once, and sees
// workers die in the middle of a transaction. In the end it counts in the database what every event did, and exits
// with 1 unless each had exactly one effect.
//
//	go run .              # guarded by idemgen
//	go run . -unguarded   # the same handlers without it, to see what it is for
//	go run . -lifecycle   # orders that are confirmed, shipped and cancelled by events that come in any order
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/idemgen/idemgen/runtime/idem"

	"example.com/shop/orders"
	"example.com/shop/orders/idemdb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// settings are the command's flags.
type settings struct {
	events    int
	seed      uint64
	database  string
	unguarded bool
	lifecycle bool
	victim    bool
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var s settings
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&s.events, "events", 150, "how many orders, and how many payments, to send")
	flags.Uint64Var(&s.seed, "seed", 1, "decides what goes wrong: the same seed, the same mishaps")
	flags.StringVar(&s.database, "db", "", "a new database `file` to use, and to keep (default: a temporary one)")
	flags.BoolVar(&s.unguarded, "unguarded", false, "call the handlers directly, without idemgen")
	flags.BoolVar(&s.lifecycle, "lifecycle", false, "play changes of an order's status instead; -events is how many to deliver")
	flags.BoolVar(&s.victim, "victim", false, "be the worker process that gets killed; the program starts it itself")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case s.events < 1:
		fmt.Fprintln(stderr, "shop: -events must be at least 1")
		return 2
	}

	var ok bool
	var err error
	if s.victim {
		ok, err = true, beVictim(ctx, s, stdin, stdout)
	} else {
		ok, err = simulate(ctx, s, stdout)
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "shop:", err)
		return 2
	case !ok:
		return 1
	default:
		return 0
	}
}

// simulate sends the events through the queue and says whether every one of them had exactly one effect.
func simulate(ctx context.Context, s settings, stdout io.Writer) (ok bool, err error) {
	if s.database == "" {
		dir, err := os.MkdirTemp("", "shop")
		if err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		s.database = filepath.Join(dir, "shop.db")
	}
	db, err := open(s.database)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if s.lifecycle {
		return live(ctx, s, db, stdout)
	}
	if _, err := db.ExecContext(ctx, orders.Schema+idemdb.Schema); err != nil {
		return false, fmt.Errorf("make the tables in %s: %w", s.database, err)
	}

	messages := plan(s)
	seen := &tally{}
	q := newQueue(newShop(s, db, idem.WithObserver(seen)), s, seen)
	if err := q.deliver(ctx, messages); err != nil {
		return false, err
	}
	found, err := findEffects(ctx, db)
	if err != nil {
		return false, err
	}
	return report(stdout, messages, seen, found)
}

// open opens a SQLite database for several workers, of this process and of others.
func open(file string) (*sql.DB, error) {
	pragmas := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(wal)"}}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(file), RawQuery: pragmas.Encode()}
	return sql.Open("sqlite", dsn.String())
}

// shop is what the workers call. The generated *orders.IdempotentService fits.
type shop interface {
	PlaceOrder(context.Context, orders.OrderPlaced) (orders.Receipt, error)
	ConfirmPayment(context.Context, orders.PaymentCaptured) error
}

func newShop(s settings, db *sql.DB, opts ...idem.Option) shop {
	service := &orders.Service{Log: fatefulLog()}
	if s.unguarded {
		return unguarded{service, db}
	}
	return orders.NewIdempotentService(service, db, opts...)
}
