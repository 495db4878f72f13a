// Package protoshop has handlers of protobuf messages that return protobuf messages. What they do is a test's to say.
package protoshop

import (
	"context"
	"database/sql"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

//go:generate go run github.com/idemgen/idemgen/cmd/idemgen

//idem:package engine=sqlite out=../liteshop/idemdb

// Service has a handler with a transaction, and one with a lease. Each calls the field of its name.
type Service struct {
	OnPlace  func(context.Context, *sql.Tx, *timestamppb.Timestamp) (*structpb.Struct, error)
	OnCharge func(context.Context, *timestamppb.Timestamp) (*structpb.Struct, error)
}

// Place is keyed by getters.
//
//idem:handler window=24h key=GetSeconds()
func (s *Service) Place(ctx context.Context, tx *sql.Tx, e *timestamppb.Timestamp) (*structpb.Struct, error) {
	return s.OnPlace(ctx, tx, e)
}

// Charge has a lease.
//
//idem:handler window=24h lease=1s key=GetSeconds()
func (s *Service) Charge(ctx context.Context, e *timestamppb.Timestamp) (*structpb.Struct, error) {
	return s.OnCharge(ctx, e)
}
