package gocode

import (
	"testing"
	"time"

	"github.com/idemgen/idemgen/generator/internal/model"
)

// cases build the models of the test module's packages.
var cases = map[string]func(testing.TB) *model.Package{
	"orders": func(t testing.TB) *model.Package {
		b := newBuilder(t, "orders", model.PGX)
		b.group("Service", model.Methods, true).
			handler("PlaceOrder", func(h *handlerBuilder) {
				h.key("TenantID", model.String)
				h.key("OrderID", model.UUID)
				h.fingerprint("Total", model.Int)
				attempt := h.part("", "Attempt", model.Int)
				h.h.Attempt = &attempt
			}).
			handler("ReserveStock", func(h *handlerBuilder) {
				h.h.Window, h.h.WindowAs = 7*24*time.Hour, "7d"
				h.keyFrom("e", "OrderID", model.UUID)
				h.keyFrom("e", "SKU", model.String)
			})
		return b.pkg
	},
	"shapes": func(t testing.TB) *model.Package {
		b := newBuilder(t, "shapes", model.SQL)
		b.group("Worker", model.Methods, false).
			handler("Pay", func(h *handlerBuilder) {
				h.key("ID", model.String)
				h.fingerprint("Amount", model.Int)
				h.fingerprint("Rate", model.Float)
			}).
			handler("Refund", func(h *handlerBuilder) {
				h.key("ID", model.String)
				h.h.Window, h.h.Forever, h.h.WindowAs = 0, true, "forever"
			}).
			handler("Settle", func(h *handlerBuilder) {
				h.key("ID", model.String)
				h.h.Window, h.h.WindowAs, h.h.FailFast = 90*time.Minute, "1h30m", true
			}).
			handler("Ship", func(h *handlerBuilder) {
				h.keyFrom("projectID", "", model.String)
				h.keyFrom("deploymentID", "", model.String)
				h.h.Window, h.h.WindowAs = time.Hour, "1h"
				h.h.Name = "ship it"
			})
		b.group("", model.Functions, false).
			handler("Cancel", func(h *handlerBuilder) {
				h.key("", model.String)
				h.h.Key[0].Label = "id"
				h.h.Window, h.h.WindowAs = 61*time.Second+time.Millisecond, "1m1s1ms"
			}).
			handler("refundAll", func(h *handlerBuilder) {
				h.keyFrom("err", "ID", model.String)
				h.keyFrom("s", "ID", model.String)
			})
		return b.pkg
	},
	"iface": func(t testing.TB) *model.Package {
		b := newBuilder(t, "iface", model.PGX)
		g := b.group("Handlers", model.Interface, false)
		g.handler("Open", func(h *handlerBuilder) { h.key("ID", model.Int) })
		methods := typesInterface(g.group.Type)
		for m := range methods.Methods() {
			if m.Name() != "Open" {
				g.group.Forwards = append(g.group.Forwards, m)
			}
		}
		return b.pkg
	},
	"leases": func(t testing.TB) *model.Package {
		b := newBuilder(t, "leases", model.PGX)
		lease := func(h *handlerBuilder) { h.h.Lease, h.h.LeaseAs = 30*time.Second, "30s" }
		b.group("Service", model.Methods, true).
			handler("ChargeCard", func(h *handlerBuilder) {
				lease(h)
				h.key("ID", model.String)
				h.fingerprint("Cents", model.Int)
			}).
			handler("PlaceOrder", func(h *handlerBuilder) { h.key("ID", model.String) }).
			handler("Wire", func(h *handlerBuilder) {
				lease(h)
				h.h.Park, h.h.FailFast = true, true
				h.h.Window, h.h.Forever, h.h.WindowAs = 0, true, "forever"
				h.keyFrom("account", "", model.String)
				h.keyFrom("e", "ID", model.String)
			})
		g := b.group("Mailer", model.Interface, false).handler("SendMail", func(h *handlerBuilder) {
			lease(h)
			h.key("ID", model.String)
		})
		for m := range typesInterface(g.group.Type).Methods() {
			if m.Name() != "SendMail" {
				g.group.Forwards = append(g.group.Forwards, m)
			}
		}
		return b.pkg
	},
	"maria": func(t testing.TB) *model.Package {
		b := newBuilder(t, "maria", model.SQL)
		b.pkg.Store.ImportPath, b.pkg.Store.Engine = "example.com/shop/my/idemdb", "mysql"
		b.group("Service", model.Methods, true).
			handler("Refund", func(h *handlerBuilder) { h.key("ID", model.String) }).
			handler("ChargeCard", func(h *handlerBuilder) {
				h.h.Lease, h.h.LeaseAs = 30*time.Second, "30s"
				h.key("ID", model.String)
			})
		return b.pkg
	},
	"keys": func(t testing.TB) *model.Package {
		b := newBuilder(t, "keys", model.PGX)
		b.group("Service", model.Methods, true).
			handler("All", everyPart).
			handler("Several", func(h *handlerBuilder) {
				h.keyFrom("at", "", model.Time)
				h.keyFrom("n", "", model.Uint, allowZero)
				h.keyFrom("e", "Token", model.Text, addrOf)
			})
		return b.pkg
	},
	"clash": func(t testing.TB) *model.Package {
		b := newBuilder(t, "clash", model.PGX)
		b.group("service", model.Methods, true).
			handler("place", func(h *handlerBuilder) { h.key("ID", model.String) }).
			handler("Ship", func(h *handlerBuilder) { h.keyFrom("slog", "ID", model.String) })
		b.group("", model.Functions, false).
			handler("work", func(h *handlerBuilder) { h.key("ID", model.String) })
		return b.pkg
	},
	"wide": func(t testing.TB) *model.Package {
		b := newBuilder(t, "wide", model.PGX)
		b.pkg.Constraint = "integration && linux"
		b.group("CustomerSubscriptionService", model.Methods, true).
			handler("RenewCustomerSubscription", func(h *handlerBuilder) {
				h.key("OrganisationIdentifier", model.String)
				h.key("SubscriptionIdentifier", model.String)
				h.fingerprint("ProratedAmountInCents", model.Int)
				h.fingerprint("CurrencyOfTheInvoice", model.String)
			}).
			handler("RecalculateCustomerSubscription", func(h *handlerBuilder) {
				h.keyFrom("request", "OrganisationIdentifier", model.String)
				h.keyFrom("request", "SubscriptionIdentifier", model.String)
			})
		return b.pkg
	},
}

func everyPart(h *handlerBuilder) {
	h.key("Text", model.String)
	h.key("Named", model.String, allowZero)
	h.key("N", model.Int)
	h.key("M", model.Int)
	h.key("U", model.Uint)
	h.key("V", model.Uint, allowZero)
	h.key("B", model.Bool, allowZero)
	h.key("C", model.Bool, allowZero)
	h.key("ID", model.UUID)
	h.key("PID", model.UUID, allowZero)
	h.key("Raw", model.Bytes)
	h.key("Sum", model.Bytes)
	h.key("Inner.Ref", model.String)
	h.key("Inner.Hash", model.Bytes)
	h.key("GetInner().Ref", model.String, allowZero)
	h.key("Null.String", model.String, valid, allowZero)
	h.key("PG.Bytes", model.UUID, valid)
	h.key("Addr", model.Text, byValue)
	h.key("PAddr", model.Text, byValue)
	h.key("Level", model.Text, byValue)
	h.key("Price", model.Text, byMethod)
	h.key("Token", model.Text, addrOf)
	h.key("PToken", model.Text, addrOf)
	h.key("GetToken()", model.Text, addrOf, byValue)
	h.key("GetRaw()", model.Bytes, allowZero)
	h.key("When", model.Time)
	h.key("At", model.Time)
	h.fingerprint("F", model.Float)
	h.fingerprint("G", model.Float)
	h.fingerprint("B", model.Bool)
	h.fingerprint("Level", model.Text)
	attempt := h.part("", "Attempt", model.Int)
	h.h.Attempt = &attempt
}
