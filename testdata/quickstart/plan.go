package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"

	"example.com/shop/orders"
)

// message is an event in the queue, an order or a payment, and how it will be delivered.
type message struct {
	Order      *orders.OrderPlaced     `json:"order,omitempty"`
	Payment    *orders.PaymentCaptured `json:"payment,omitempty"`
	Deliveries []delivery              `json:"-"` // one to three
}

// delivery is one attempt of the queue to get a message handled.
type delivery struct {
	fate    fate
	changed bool // the amount is not what it was in the deliveries before
}

// fate is what becomes of a delivery. All but the first make the queue deliver again.
type fate int

const (
	acked   fate = iota // handled and acknowledged
	ackLost             // handled, but the acknowledgement gets lost
	slow                // the queue loses patience and delivers to another worker while this one is at it
	panics              // the worker panics in the middle of the transaction
	exits               // the worker's goroutine ends there
	killed              // the worker is a process of its own that gets killed there
)

// One in so many events …
const (
	oneChanged  = 15 // comes once more with another amount, after it was handled
	oneNameless = 30 // comes without its ID
	oneKilled   = 75 // has its worker's process killed
)

// plan makes the events and decides what will go wrong with each.
func plan(s settings) []*message {
	random := rand.New(rand.NewPCG(s.seed, 0))
	goods := []string{"bread", "coffee", "honey", "milk", "tea"}
	var all []*message
	for i := range s.events {
		order := orders.OrderPlaced{
			OrderID:  fmt.Sprintf("order-%04d", i+1),
			SKU:      goods[random.IntN(len(goods))],
			Quantity: 1 + random.Int64N(3),
			Total:    100 + random.Int64N(9_900),
		}
		payment := orders.PaymentCaptured{
			PaymentID: fmt.Sprintf("payment-%04d", i+1),
			Customer:  fmt.Sprintf("customer-%d", random.IntN(40)),
			Amount:    order.Total,
		}
		all = append(all,
			&message{Order: &order, Deliveries: draw(random, i)},
			&message{Payment: &payment, Deliveries: draw(random, i)})
		if i%oneNameless == oneNameless/2 {
			order.OrderID, payment.PaymentID = "", ""
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// draw decides how the i-th event of a kind is delivered. The last delivery always comes to its end.
func draw(random *rand.Rand, i int) []delivery {
	switch {
	case i%oneKilled == oneKilled/2:
		return []delivery{{fate: killed}, {fate: ackLost}, {fate: acked}}
	case i%oneChanged == oneChanged/2:
		return []delivery{{fate: ackLost}, {fate: acked, changed: true}}
	}
	mishaps := []fate{ackLost, slow, panics, exits}
	var all []delivery
	for range random.IntN(3) {
		all = append(all, delivery{fate: mishaps[random.IntN(len(mishaps))]})
	}
	return append(all, delivery{fate: acked})
}

// id is the event's business ID; empty where the sender forgot it.
func (m *message) id() string {
	if m.Order != nil {
		return m.Order.OrderID
	}
	return m.Payment.PaymentID
}

// midway is the key of a context's func(), which the handlers' log calls in the middle of the transaction.
type midway struct{}

// fatefulLog is the handlers' log. It prints nothing, but fate strikes in it.
func fatefulLog() *slog.Logger { return slog.New(fatefulHandler{slog.DiscardHandler}) }

type fatefulHandler struct{ slog.Handler }

func (fatefulHandler) Enabled(context.Context, slog.Level) bool { return true }

func (fatefulHandler) Handle(ctx context.Context, _ slog.Record) error {
	if strike, ok := ctx.Value(midway{}).(func()); ok {
		strike()
	}
	return nil
}
