package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

const faultsShown = 5

// report prints what happened to all deliveries and what they did and says whether every event had exactly one effect.
func report(w io.Writer, messages []*message, seen *tally, found effects) (ok bool, err error) {
	o, p := &seen.orders, &seen.payments
	inOrders, inPayments := found.verdicts(messages)
	faults := found.faults(messages, seen.receipts)
	slices.Sort(faults)

	var out strings.Builder
	row := func(label string, orders, payments int) {
		fmt.Fprintf(&out, "%-38s%8d%10d\n", label, orders, payments)
	}
	fmt.Fprintf(&out, "%-38s%8s%10s\n", "", "orders", "payments")
	row("deliveries", o.deliveries, p.deliveries)
	row("  the handler ran and committed", o.answered-o.repeats, p.answered-p.repeats)
	row("  a repeat: answered, not run again", o.repeats, p.repeats)
	row("  the worker panicked", o.deaths[panics], p.deaths[panics])
	row("  the worker's goroutine ended", o.deaths[exits], p.deaths[exits])
	row("  the worker's process was killed", o.deaths[killed], p.deaths[killed])
	row("  the amount had changed: refused", o.mismatches, p.mismatches)
	row("  the ID was missing: refused", o.zeroKeys, p.zeroKeys)
	row("  the database was busy: sent again", o.busy, p.busy)
	row("events with an ID", inOrders.sum(), inPayments.sum())
	row("  with exactly one effect", inOrders.one, inPayments.one)
	row("  with none", inOrders.none, inPayments.none)
	row("  with more than one", inOrders.more, inPayments.more)

	fmt.Fprint(&out, "\nrepeats among the deliveries of each attempt (a first one, where two workers had the event at once):\n ")
	for i, r := range seen.attempts {
		fmt.Fprintf(&out, "  attempt %d: %d of %d", i+1, r.repeats, r.deliveries)
	}
	fmt.Fprint(&out, "\n")
	if len(faults) == 0 {
		fmt.Fprint(&out, "\nEvery event with an ID had exactly one effect, and no other event had any.\n")
	}
	for i, fault := range faults {
		if i == faultsShown {
			fmt.Fprintf(&out, "… and %d more\n", len(faults)-i)
			break
		}
		fmt.Fprintf(&out, "wrong: %s\n", fault)
	}
	fmt.Fprintf(&out, "\ndeliveries=%d effects=%d duplicates=%d mismatches=%d zero_keys=%d\n", o.deliveries+p.deliveries,
		found.total(), o.repeats+p.repeats, o.mismatches+p.mismatches, o.zeroKeys+p.zeroKeys)
	_, err = io.WriteString(w, out.String())
	return len(faults) == 0, err
}
