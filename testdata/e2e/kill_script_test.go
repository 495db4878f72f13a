package e2e

import (
	"github.com/idemgen/idemgen/testdata/e2e/kill"
)

// The modes of the matrix, as the list of points has them.
const (
	transactionMode = "transaction"
	leaseMode       = "lease"
)

// script is what deliveries have to be like for a worker to come to a point. Calls, hows and seeds are taken in turn by the
// events of a round.
type script struct {
	calls []kill.Call
	hows  []kill.How
	seeds []string // the rows that events find; none if empty
	lose  bool     // COMMITs are not answered
	sweep bool     // a janitor deletes other rows meanwhile
	last  func(kill.Answer) bool
}

// ordinary events come to most points: half of the orders have a result, and each is delivered twice at once.
func ordinary(mode string) script {
	if mode == leaseMode {
		return script{calls: []kill.Call{kill.Charge}, hows: []kill.How{kill.Well}}
	}
	return script{calls: []kill.Call{kill.PlaceOrder, kill.AuditOrder}, hows: []kill.How{kill.Well}}
}

// scriptFor is how a worker comes to a point in a mode.
func scriptFor(point, mode string) script {
	s := ordinary(mode)
	switch point {
	case "before-take-over", "taken-over":
		s.seeds = []string{pastWindow}
		if mode == leaseMode {
			s.seeds = []string{pastWindow, pastLease}
		}
	case "before-retry":
		s.hows = []kill.How{kill.Conflict}
		if mode == leaseMode {
			s.hows = []kill.How{kill.Slow}
		}
	case "before-rollback", "rolled-back", "before-release", "released":
		s.hows = []kill.How{kill.Fail, kill.Panic, kill.Exit, kill.Fail}
	case "before-question", "asked", "answered":
		s.lose = true
	case "before-failure", "failure-claimed", "failure-recorded":
		s.hows = []kill.How{kill.Permanent}
		s.last = func(a kill.Answer) bool { return a.Failed }
	case "savepoint-set", "before-savepoint-release", "savepoint-released":
		s.calls = []kill.Call{kill.JoinOrder}
	case "before-savepoint-rollback", "savepoint-rolled-back":
		s.calls, s.hows = []kill.Call{kill.JoinOrder}, []kill.How{kill.Fail}
	case "before-renewal", "renewed":
		s.hows = []kill.How{kill.Slow}
	case "before-parking", "parked":
		s.calls, s.seeds = []kill.Call{kill.Wire}, []string{pastLease}
		s.last = func(a kill.Answer) bool { return a.Parked }
	case "mark-claimed", "marked":
		s.calls = []kill.Call{kill.MarkOrder}
		if mode == leaseMode {
			s.calls = []kill.Call{kill.MarkCharge}
		}
	case "before-sweep", "swept":
		s.sweep = true
	}
	return s
}

// parks reports whether the events end with their keys parked, for a person to decide.
func (s script) parks() bool { return s.calls[0] == kill.Wire }

// wanted is the number of effects that an event is to have in the end.
func (e *event) wanted() int {
	if e.how == kill.Permanent || e.marked() {
		return 0
	}
	return 1
}

func (e *event) marked() bool { return e.call == kill.MarkOrder || e.call == kill.MarkCharge }

// repeat is the call of the handler that the event is for.
func (e *event) repeat() kill.Call {
	switch e.call {
	case kill.MarkOrder:
		return kill.PlaceOrder
	case kill.MarkCharge:
		return kill.Charge
	default:
		return e.call
	}
}

// key is the event's key, as it stands in the table.
func (e *event) key() string { return e.TenantID + "/" + e.OrderID.String() }

// what is the name of the event's effect.
func (e *event) what() string { return kill.What(e.repeat(), e.OrderPlaced) }
