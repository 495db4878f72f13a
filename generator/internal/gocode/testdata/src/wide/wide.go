//go:build integration && linux

// Package wide has names that do not fit on a line.
package wide

import (
	"context"
	"log/slog"

	"github.com/jackc/pgx/v5"
)

type CustomerSubscriptionRenewalRequested struct {
	OrganisationIdentifier string
	SubscriptionIdentifier string
	ProratedAmountInCents  int64
	CurrencyOfTheInvoice   string
}

type CustomerSubscriptionRenewalConfirmation struct{ Number string }

type CustomerSubscriptionService struct{}

func (s *CustomerSubscriptionService) RenewCustomerSubscription(ctx context.Context, tx pgx.Tx, request CustomerSubscriptionRenewalRequested) (*CustomerSubscriptionRenewalConfirmation, error) {
	return nil, nil
}

func (s *CustomerSubscriptionService) RecalculateCustomerSubscription(ctx context.Context, tx pgx.Tx, logger *slog.Logger, request CustomerSubscriptionRenewalRequested, previous CustomerSubscriptionRenewalConfirmation) (*CustomerSubscriptionRenewalConfirmation, error) {
	return nil, nil
}
