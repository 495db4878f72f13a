package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// asks are the events of an order's life by the state that they lead to, and the name of their body.
var asks = map[string]string{"confirmed": "confirm", "shipped": "ship", "cancelled": "cancel"}

// steps are the changes that there are.
var steps = map[string][]string{"pending": {"confirmed", "cancelled"}, "confirmed": {"shipped", "cancelled"}}

// movement is one delivery of an event: what it asks for.
type movement struct {
	events.Moved
	want  string
	tries int
}

// lifecycle is a queue of orders' events, late, doubled and out of order, and what became of them.
type lifecycle struct {
	mu       sync.Mutex
	queue    []movement
	accepted map[string]map[string]int // by order and state: how often the answer was success
	people   map[string]map[string]int // how often it was a conflict to the last
}

// deliveriesEach is how many deliveries an order has.
const deliveriesEach = 10

// patienceOfQueue is how often a conflict is delivered again: an event may have come before the one that it follows.
const patienceOfQueue = 3

func newLifecycle(ids []string, random *rand.Rand) *lifecycle {
	l := &lifecycle{accepted: map[string]map[string]int{}, people: map[string]map[string]int{}}
	for _, id := range ids {
		l.accepted[id], l.people[id] = map[string]int{}, map[string]int{}
		kinds := [][]string{{"confirmed"}, {"confirmed", "shipped"}, {"confirmed", "cancelled"}, {"cancelled"}, {"confirmed", "shipped", "cancelled"}}[random.IntN(5)]
		for n := range deliveriesEach {
			want := kinds[n%len(kinds)]
			l.queue = append(l.queue, movement{Moved: events.Moved{OrderID: id, Event: fmt.Sprint(want, n)}, want: want})
		}
	}
	random.Shuffle(len(l.queue), func(i, j int) { l.queue[i], l.queue[j] = l.queue[j], l.queue[i] })
	return l
}

// work delivers until the queue is empty.
func (l *lifecycle) work(ctx context.Context, deliver map[string]func(context.Context, events.Moved) error) error {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.mu.Unlock()
			return nil
		}
		m := l.queue[0]
		l.queue = l.queue[1:]
		l.mu.Unlock()
		err := deliver[m.want](ctx, m.Moved)
		var conflict *idem.ConflictError
		l.mu.Lock()
		switch m.tries++; {
		case err == nil:
			l.accepted[m.OrderID][m.want]++
		case errors.As(err, &conflict) && m.tries <= patienceOfQueue:
			l.queue = append(l.queue, m)
		case errors.As(err, &conflict):
			l.people[m.OrderID][m.want]++
		default:
			l.mu.Unlock()
			return err
		}
		l.mu.Unlock()
	}
}

// A life of ten thousand events, by eight workers: every order ends where its accepted events lead to, and the body of each
// transition has run exactly once. An event that came after something that excludes it has gone to a person.
func TestTransition_Lifecycle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, driver string
		orders       int
		more         string
	}{
		{"PostgreSQL enum", "pgx", 1000, ""},
		{"PostgreSQL text", "std", 100, ""},
		{"PostgreSQL text, lib/pq", "pq", 100, ""},
		{"MariaDB ENUM", "maria", 1000, ""},
		{"MariaDB VARCHAR", "maria", 1000, `ALTER TABLE orders MODIFY status VARCHAR(20) NOT NULL DEFAULT 'pending'
			CHECK (status IN ('pending', 'confirmed', 'shipped', 'cancelled'))`},
		{"SQLite", "lite", 100, ""},
		{"SQLite, mattn", "mattn", 100, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := driverOf(c.driver)
			d.need(t)
			var more []string
			if c.more != "" {
				more = []string{c.more}
			}
			o := openOrders(t, d, setup{options: []idem.Option{long}}, more...)
			live(t, o, c.orders)
		})
	}
}

// live plays a life of so many orders.
func live(t *testing.T, o *orders, n int) {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1)
	}
	for chunk := 0; chunk < n; chunk += 100 {
		var rows []string
		for _, id := range ids[chunk:min(chunk+100, n)] {
			rows = append(rows, fmt.Sprintf("('%s', 'acme')", id))
		}
		o.exec(t, `INSERT INTO orders (id, customer) VALUES `+strings.Join(rows, ", "))
	}
	random := rand.New(rand.NewPCG(1, uint64(n)))
	l := newLifecycle(ids, random)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			assert.NoError(t, l.work(t.Context(), map[string]func(context.Context, events.Moved) error{
				"confirmed": o.Confirm, "shipped": o.Ship, "cancelled": o.Cancel,
			}))
		})
	}
	workers.Wait()

	conflicts := 0
	for _, id := range ids {
		conflicts += l.explained(t, o, id)
	}
	assert.Positive(t, conflicts, "a queue in which nothing goes wrong shows nothing")
}

// explained says that an order's state is what its accepted events make of it, and counts the conflicts that are for people.
func (l *lifecycle) explained(t *testing.T, o *orders, id string) (conflicts int) {
	t.Helper()
	rows, err := o.look.QueryContext(t.Context(), o.spell(`SELECT what FROM moves WHERE order_id = $1 ORDER BY id`), id)
	require.NoError(t, err)
	defer rows.Close()
	state, passed := "pending", map[string]bool{}
	version := 1
	for rows.Next() {
		var what string
		require.NoError(t, rows.Scan(&what))
		next := ""
		for _, to := range steps[state] {
			if asks[to] == what {
				next = to
			}
		}
		require.NotEmpty(t, next, "order %s: %s from %s", id, what, state)
		state, passed[next] = next, true
		version++
	}
	require.NoError(t, rows.Err())
	require.Equal(t, fmt.Sprint(state, " ", version), o.found(t, id), "order %s: its bodies and its row disagree", id)
	for want := range asks {
		if passed[want] {
			require.Positive(t, l.accepted[id][want], "order %s is past %s, and nobody was told", id, want)
		} else {
			require.Zero(t, l.accepted[id][want], "order %s never was %s, and somebody was told so", id, want)
		}
		conflicts += l.people[id][want]
	}
	return conflicts
}
