package main

import (
	"context"
	"database/sql"
	"fmt"

	"example.com/shop/orders"
)

// effects are what the handlers left in the shop's own tables, by the event's ID. Nothing here is idemgen's word.
type effects struct {
	receipts map[string][]orders.Receipt // one for each time that an order was booked
	booked   map[string][]int64          // one amount for each time that a payment was
	mails    map[string]int              // a payment's confirmations in the outbox
	onHand   map[string]int64            // what is left in stock
}

func findEffects(ctx context.Context, db *sql.DB) (effects, error) {
	found := effects{map[string][]orders.Receipt{}, map[string][]int64{}, map[string]int{}, map[string]int64{}}
	var (
		id      string
		receipt orders.Receipt
		amount  int64
	)
	for _, table := range []struct {
		query string
		row   []any
		note  func()
	}{
		{`SELECT order_id, number, total FROM orders`, []any{&id, &receipt.Number, &receipt.Total},
			func() { found.receipts[id] = append(found.receipts[id], receipt) }},
		{`SELECT payment_id, amount FROM ledger`, []any{&id, &amount},
			func() { found.booked[id] = append(found.booked[id], amount) }},
		{`SELECT payment_id FROM outbox`, []any{&id}, func() { found.mails[id]++ }},
		{`SELECT sku, on_hand FROM stock`, []any{&id, &amount}, func() { found.onHand[id] = amount }},
	} {
		if err := eachRow(ctx, db, table.query, table.row, table.note); err != nil {
			return effects{}, fmt.Errorf("%s: %w", table.query, err)
		}
	}
	return found, nil
}

func eachRow(ctx context.Context, db *sql.DB, query string, row []any, note func()) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(row...); err != nil {
			return err
		}
		note()
	}
	return rows.Err()
}

// verdict is how many events of one kind had no effect, exactly one, or more.
type verdict struct{ none, one, more int }

func (v verdict) sum() int { return v.none + v.one + v.more }

func (found effects) verdicts(messages []*message) (forOrders, forPayments verdict) {
	for _, m := range messages {
		v := &forPayments
		if m.Order != nil {
			v = &forOrders
		}
		switch n := found.timesHandled(m); {
		case m.id() == "":
		case n == 0:
			v.none++
		case n == 1:
			v.one++
		default:
			v.more++
		}
	}
	return forOrders, forPayments
}

// timesHandled is how often the event took effect: by its confirmations, for a payment.
func (found effects) timesHandled(m *message) int {
	if m.Order != nil {
		return len(found.receipts[m.Order.OrderID])
	}
	return found.mails[m.Payment.PaymentID]
}

// total is the number of effects of both kinds.
func (found effects) total() (n int) {
	for _, receipts := range found.receipts {
		n += len(receipts)
	}
	for _, mails := range found.mails {
		n += mails
	}
	return n
}

// faults names everything in the tables that is not as exactly one run of each event would have left it.
func (found effects) faults(messages []*message, answers map[string][]orders.Receipt) (faults []string) {
	wanted := map[string]int64{"bread": 1000, "coffee": 1000, "honey": 1000, "milk": 1000, "tea": 1000}
	sent := map[string]bool{}
	for _, m := range messages {
		if m.id() == "" {
			continue
		}
		sent[m.id()] = true
		if m.Order != nil {
			wanted[m.Order.SKU] -= m.Order.Quantity
			faults = append(faults, found.orderFaults(m.Order, answers[m.id()])...)
		} else {
			faults = append(faults, found.paymentFaults(m.Payment)...)
		}
	}
	for sku, want := range wanted {
		if have := found.onHand[sku]; have != want {
			faults = append(faults, fmt.Sprintf("stock: %d of %s left instead of %d", have, sku, want))
		}
	}
	for id := range found.receipts {
		if !sent[id] {
			faults = append(faults, fmt.Sprintf("an order under the ID %q, which no event has", id))
		}
	}
	for id := range found.booked {
		if !sent[id] {
			faults = append(faults, fmt.Sprintf("a payment under the ID %q, which no event has", id))
		}
	}
	return faults
}

func (found effects) orderFaults(e *orders.OrderPlaced, answers []orders.Receipt) (faults []string) {
	booked := found.receipts[e.OrderID]
	if len(booked) != 1 {
		return []string{fmt.Sprintf("%s: booked %d times", e.OrderID, len(booked))}
	}
	if booked[0].Total != e.Total {
		faults = append(faults, fmt.Sprintf("%s: booked for %d instead of %d", e.OrderID, booked[0].Total, e.Total))
	}
	if len(answers) == 0 {
		faults = append(faults, fmt.Sprintf("%s: no sender got a receipt", e.OrderID))
	}
	for _, answer := range answers {
		if answer != booked[0] {
			faults = append(faults, fmt.Sprintf("%s: answered with %+v, booked as %+v", e.OrderID, answer, booked[0]))
		}
	}
	return faults
}

func (found effects) paymentFaults(e *orders.PaymentCaptured) (faults []string) {
	if mails := found.mails[e.PaymentID]; mails != 1 {
		faults = append(faults, fmt.Sprintf("%s: confirmed %d times", e.PaymentID, mails))
	}
	booked := found.booked[e.PaymentID]
	if len(booked) != 1 || booked[0] != e.Amount {
		faults = append(faults, fmt.Sprintf("%s: %d cents booked as %d", e.PaymentID, e.Amount, booked))
	}
	return faults
}
