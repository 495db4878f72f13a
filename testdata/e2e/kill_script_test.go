package e2e

import (
	"github.com/idemgen/idemgen/testdata/e2e/kill"
)

// The modes of the matrix, as the list of points has them.
const (
	transactionMode = "transaction"
	leaseMode       = "lease"
	transitionMode  = "transition"
	noCodeMode      = "transition without code"
	keyedMode       = "keyed transition"
)

var killModes = []string{transactionMode, leaseMode, transitionMode, noCodeMode, keyedMode}

// script is what deliveries have to be like for a worker to come to a point. Calls, hows and seeds are taken in turn by the
// events of a round.
type script struct {
	calls  []kill.Call
	hows   []kill.How
	seeds  []string  // the rows that events find; none if empty
	losing kill.Loss // what is not answered; nothing if empty
	copies int       // of each event, delivered at once
	sweep  bool      // a janitor deletes other rows meanwhile
	last   func(kill.Answer) bool

	refusals []string // of transitions, in turn: why they have to be refused; "" where they have not
}

// ordinary events come to most points: half of the orders have a result, and each is delivered twice at once.
func ordinary(mode string) script {
	calls := map[string][]kill.Call{
		transactionMode: {kill.PlaceOrder, kill.AuditOrder},
		leaseMode:       {kill.Charge},
		transitionMode:  {kill.Confirm},
		noCodeMode:      {kill.JustConfirm, kill.ShipAll},
		keyedMode:       {kill.Pay, kill.PayNow},
	}
	return script{calls: calls[mode], hows: []kill.How{kill.Well}, refusals: []string{""}, copies: 2}
}

// scriptFor is how a worker comes to a point in a mode.
func scriptFor(point, mode string) script {
	s := ordinary(mode)
	s.adapt(point, mode)
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
		s.losing = kill.Commits
		if mode == noCodeMode {
			s.losing = kill.Moves
		}
	case "before-forestall", "forestalled":
		s.hows, s.losing = []kill.How{kill.GiveUp}, kill.Claims
	case "before-take-back", "taken-back":
		s.hows, s.losing, s.copies = []kill.How{kill.GiveUp}, kill.Granted, 1
	case "before-failure", "failure-claimed", "failure-recorded":
		s.hows = []kill.How{kill.Permanent}
		s.last = func(a kill.Answer) bool { return a.Failed }
	case "savepoint-set", "before-savepoint-release", "savepoint-released":
		s.calls = joins[mode]
	case "before-savepoint-rollback", "savepoint-rolled-back":
		s.calls, s.hows = joins[mode], []kill.How{kill.Fail}
	case "before-renewal", "renewed":
		s.hows = []kill.How{kill.Slow}
	case "before-parking", "parked":
		s.calls, s.seeds = []kill.Call{kill.Wire}, []string{pastLease}
		s.last = func(a kill.Answer) bool { return a.Parked }
	case "mark-claimed", "marked":
		s.calls = map[string][]kill.Call{
			transactionMode: {kill.MarkOrder}, leaseMode: {kill.MarkCharge}, keyedMode: {kill.MarkPay},
		}[mode]
	case "before-sweep", "swept":
		s.sweep = true
	}
	return s
}

// joins are the calls in a transaction of the worker's.
var joins = map[string][]kill.Call{
	transactionMode: {kill.JoinOrder},
	transitionMode:  {kill.JoinConfirm},
	noCodeMode:      {kill.JoinJustConfirm},
	keyedMode:       {kill.JoinPay},
}

// parks reports whether the events end with their keys parked, for a person to decide.
func (s script) parks() bool { return s.calls[0] == kill.Wire }

// wanted is the number of effects that an event is to have in the end.
func (e *event) wanted() int {
	if e.how == kill.Permanent || e.marked() || e.refusal != "" || e.bare() {
		return 0
	}
	return 1
}

func (e *event) marked() bool {
	return e.call == kill.MarkOrder || e.call == kill.MarkCharge || e.call == kill.MarkPay
}

// repeat is the call of the handler that the event is for.
func (e *event) repeat() kill.Call {
	switch e.call {
	case kill.MarkOrder:
		return kill.PlaceOrder
	case kill.MarkCharge:
		return kill.Charge
	case kill.MarkPay:
		return kill.Pay
	default:
		return e.call
	}
}

// key is the event's key, as it stands in the table.
func (e *event) key() string {
	if e.transition() {
		return e.id()
	}
	return e.TenantID + "/" + e.OrderID.String()
}

// answers reports whether the event's call has a result.
func (e *event) answers() bool {
	switch e.repeat() {
	case kill.PlaceOrder, kill.JoinOrder, kill.Charge, kill.Pay, kill.JoinPay:
		return true
	default:
		return false
	}
}

// what is the name of the event's effect.
func (e *event) what() string { return kill.What(e.repeat(), e.OrderPlaced) }
