package driver

import (
	"context"
	"errors"
)

// LeaseStore keeps the keys of leases without a database.
type LeaseStore interface {
	Keys() Keys
	Classify(err error) Class
	Sweep(ctx context.Context, batch int) (int64, error)
}

// ErrNoTransactions is what a driver of a LeaseStore says to whoever wants a transaction.
var ErrNoTransactions = errors.New("the guard keeps its keys in memory (idemtest.InMemory), where no transaction can hold them: " +
	"test a handler with a transaction against its database, or, if that is SQLite, one in memory")

// LeasesOnly is a driver without transactions.
func LeasesOnly[Tx any](s LeaseStore) Driver[Tx] { return leasesOnly[Tx]{s} }

type leasesOnly[Tx any] struct{ LeaseStore }

func (leasesOnly[Tx]) ClaimCompletes() bool { return false }

func (leasesOnly[Tx]) Acquire(context.Context) (Session[Tx], error) { return nil, ErrNoTransactions }

func (leasesOnly[Tx]) Join(Tx) (Session[Tx], error) { return nil, ErrNoTransactions }

func (leasesOnly[Tx]) Table() string { return "in memory" }

func (leasesOnly[Tx]) Columns(context.Context) ([]string, error) { return nil, nil }
