package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/idemgen/idemgen/testdata/e2e/kill"
)

// The history of every order, which the engine knows nothing of: a row for each step that was committed.
const (
	historyPostgres = `CREATE FUNCTION history() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO moves (order_id, what, event) VALUES (NEW.id, OLD.status || ' -> ' || NEW.status, ''); RETURN NULL; END $$;
		CREATE TRIGGER history AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION history();`
	historyMaria = `CREATE TRIGGER history AFTER UPDATE ON orders FOR EACH ROW
		INSERT INTO moves (order_id, what, event) VALUES (NEW.id, CONCAT(OLD.status, ' -> ', NEW.status), '')`
	historyLite = `CREATE TRIGGER history AFTER UPDATE ON orders BEGIN
			INSERT INTO moves (order_id, what, event) VALUES (NEW.id, OLD.status || ' -> ' || NEW.status, ''); END;`
)

// Why a transition has to be refused.
const (
	cancelled = "the order is cancelled"
	manyRows  = "its customer has two orders"
)

// moves reports whether the cell's events are transitions.
func (c *killCell) moves() bool {
	return c.mode == transitionMode || c.mode == noCodeMode || c.mode == keyedMode
}

// adapt is what the points of transitions ask for, and what others ask of a transition: code of the user's, where it is that which
// comes to the point, and a transaction, where a single statement is none that anybody could stop in.
func (s *script) adapt(point, mode string) {
	switch mode {
	case keyedMode:
		s.ofKeyed(point)
	case noCodeMode:
		s.ofNoCode(point)
	}
	if (mode == transitionMode || mode == noCodeMode) && slices.Contains([]string{"before-question", "asked", "answered"}, point) {
		// Another copy would make the step of a COMMIT that did not arrive, and the question find it made.
		s.copies = 1
	}
	switch point {
	case "before-row-look-up", "row-looked-up":
		// A key of which nothing is known, and whose row cannot be moved; the others are repeats.
		s.refuse(cancelled)
	}
}

// refuse has every other event be one that cannot be accepted. Its delivery ends with that.
func (s *script) refuse(why string) {
	s.refusals = []string{why, "", why}
	s.last = func(a kill.Answer) bool { return a.Refused }
}

func (s *script) ofKeyed(point string) {
	switch point {
	case "before-retry", "before-rollback", "rolled-back", "before-failure", "failure-claimed", "failure-recorded":
		s.calls = []kill.Call{kill.Pay}
	}
}

// mostlyTransactions have a COMMIT. Through database/sql on PostgreSQL all of them have one.
var mostlyTransactions = []kill.Call{kill.ShipAll, kill.ShipAll, kill.JustConfirm}

func (s *script) ofNoCode(point string) {
	switch point {
	case "before-commit", "commit-sent", "committed", "before-question", "asked", "answered":
		s.calls = mostlyTransactions
	case "before-retry":
		// What did not arrive is tried again, unless another copy of the event was faster.
		s.calls, s.losing, s.copies = []kill.Call{kill.ShipAll}, kill.Unsent, 1
	case "before-rollback", "rolled-back":
		s.calls = []kill.Call{kill.ShipAll}
		s.refuse(manyRows)
	}
}

// transition reports whether the event is one, bare whether it has no code, and keyed whether a key is kept for it.
func (e *event) transition() bool { return e.from() != "" }

func (e *event) bare() bool {
	return slices.Contains([]kill.Call{kill.JustConfirm, kill.JoinJustConfirm, kill.ShipAll, kill.PayNow}, e.call)
}

func (e *event) keyed() bool {
	switch e.repeat() {
	case kill.Pay, kill.JoinPay, kill.PayNow:
		return e.refusal == ""
	default:
		return !e.transition()
	}
}

// id is the event's order, as its row has it.
func (e *event) id() string { return e.OrderID.String() }

// from and to are the step that an event asks for.
func (e *event) from() string {
	switch e.repeat() {
	case kill.Confirm, kill.JoinConfirm, kill.JustConfirm, kill.JoinJustConfirm, kill.Pay, kill.JoinPay, kill.PayNow:
		return "pending"
	case kill.ShipAll:
		return "confirmed"
	default:
		return ""
	}
}

func (e *event) to() string {
	if e.repeat() == kill.ShipAll {
		return "shipped"
	}
	return "confirmed"
}

// before is the state in which the event finds its order.
func (e *event) before() string {
	if e.refusal == cancelled {
		return "cancelled"
	}
	return e.from()
}

// steps is the number of times that the event is to move its order.
func (e *event) steps() int {
	if e.how == kill.Permanent || e.marked() || e.refusal != "" {
		return 0
	}
	return 1
}

// order makes the row that an event is about, or the rows.
func (p killPlace) order(ctx context.Context, e *event) error {
	insert := func(id string) error {
		_, err := p.look.ExecContext(ctx, p.spell(fmt.Sprintf(`INSERT INTO orders (id, customer, status) VALUES ($1, $2, '%s')`, e.before())), id, e.id())
		return err
	}
	if e.refusal == manyRows {
		e.twin = uuid.NewString()
		return errors.Join(insert(e.id()), insert(e.twin))
	}
	return insert(e.id())
}

// history is where all orders are, and how they came there.
type history struct {
	at map[string][]string
	of map[string][]string
}

// movesThere reads it, where the cell has orders.
func (r *killRun) movesThere(ctx context.Context) (h history, err error) {
	if !r.moves() {
		return h, nil
	}
	if h.at, err = r.place.pairs(ctx, `SELECT id, status FROM orders`); err != nil {
		return h, err
	}
	h.of, err = r.place.pairs(ctx, `SELECT order_id, what FROM moves`)
	return h, err
}

// judge compares an order with what its event has to have done.
func (h history) judge(e *event) error {
	at, of := e.before(), []string(nil)
	if e.steps() > 0 {
		at, of = e.to(), []string{e.from() + " -> " + e.to()}
	}
	var err error
	if !slices.Equal(h.at[e.id()], []string{at}) || !slices.Equal(h.of[e.id()], of) {
		err = fmt.Errorf("%s: its order is %q by the steps %q, and should be %q by %q", e.what(), h.at[e.id()], h.of[e.id()], at, of)
	}
	if e.twin != "" && (!slices.Equal(h.at[e.twin], []string{at}) || len(h.of[e.twin]) > 0) {
		err = errors.Join(err, fmt.Errorf("%s: the other order of its customer is %q, by the steps %q", e.what(), h.at[e.twin], h.of[e.twin]))
	}
	return err
}
