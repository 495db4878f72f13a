package events

// Moved asks for a change of an order's state. Which one, the handler says.
type Moved struct {
	OrderID string  `json:"order_id"`
	Event   string  `json:"event"` // who asks; nothing is known by it
	Note    *string `json:"note"`
}

// Paid is a payment: its own key, and the order that it is for.
type Paid struct {
	PaymentID string `json:"payment_id" idem:"key"`
	OrderID   string `json:"order_id"`
}

// Known asks for a change of an order of which the sender knows the version.
type Known struct {
	OrderID string `json:"order_id"`
	Version int64  `json:"version"`
}

// Vague asks for a change of what may be many orders.
type Vague struct {
	Customer string `json:"customer"`
}
