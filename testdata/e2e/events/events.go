// Package events has the payloads of the handlers under test, in a package of their own as payloads often are, and
// their results.
package events

import (
	"database/sql"
	"time"

	"github.com/google/uuid"
)

// OrderPlaced has a key of two parts, a fingerprint, and all that must not have an influence on either.
type OrderPlaced struct {
	TenantID string            `json:"tenant_id" idem:"key"`
	OrderID  uuid.UUID         `json:"order_id"  idem:"key"`
	Total    int64             `json:"total"     idem:"fingerprint"`
	Attempt  int               `json:"attempt"   idem:"attempt"`
	TraceID  string            `json:"trace_id"`
	SentAt   time.Time         `json:"sent_at"`
	Labels   map[string]string `json:"labels"`
}

// Receipt is the answer to an order.
type Receipt struct {
	Number   int64     `json:"number"` // past 2^53 in a test
	Total    int64     `json:"total"`
	PlacedBy string    `json:"placed_by"` // who ran the handler: a repeat gets the first one's
	PlacedAt time.Time `json:"placed_at"`
}

// StockReserved has no result.
type StockReserved struct {
	OrderID  uuid.UUID `json:"order_id" idem:"key"`
	SKU      string    `json:"sku"      idem:"key"`
	Quantity int64     `json:"quantity" idem:"fingerprint"`
}

// DayClosed is keyed by a date.
type DayClosed struct {
	Shop string    `json:"shop" idem:"key"`
	Day  time.Time `json:"day"  idem:"key,utc"`
}

// Shipped is keyed by parts that may each be absent.
type Shipped struct {
	Carrier *string        `json:"carrier" idem:"key,allowzero"`
	Parcel  sql.NullString `json:"parcel"  idem:"key,allowzero"`
}

// RefundAsked is keyed by numbers and by a named string, of which one must be there.
type RefundAsked struct {
	Payment PaymentID `json:"payment" idem:"key"`
	Line    *int32    `json:"line"    idem:"key"`
	Amount  int64     `json:"amount"  idem:"fingerprint"`
}

// PaymentID names a payment.
type PaymentID string
