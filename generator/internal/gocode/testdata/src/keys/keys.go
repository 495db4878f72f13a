// Package keys has a part of every kind.
package keys

import (
	"context"
	"database/sql"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"example.com/shop/internal/ids"
)

type Code int16

type Level string

func (l Level) MarshalText() ([]byte, error) { return []byte(l), nil }

type Price struct{ cents int }

func (p Price) MarshalText() ([]byte, error) { return nil, nil }

func (p Price) IsZero() bool { return p.cents == 0 }

type At time.Time

type Flag bool

type Inner struct {
	Ref  *string
	Hash *[32]byte
}

type Event struct {
	Text    string
	Named   ids.OrderID
	N       int64
	M       Code
	U       uint64
	V       uint8
	B       bool
	C       Flag
	F       float64
	G       float32
	ID      [16]byte
	PID     *[16]byte
	Raw     []byte
	Sum     [4]byte
	Inner   *Inner
	Null    sql.NullString
	PG      pgtype.UUID
	Addr    netip.Addr
	PAddr   *netip.Addr
	Level   Level
	Price   *Price
	Token   ids.Token
	PToken  *ids.Token
	When    time.Time
	At      At
	Attempt *int32
}

func (e *Event) GetRaw() [4]byte     { return e.Sum }
func (e *Event) GetToken() ids.Token { return e.Token }
func (e *Event) GetInner() *Inner    { return e.Inner }

type Service struct{}

func (s *Service) All(ctx context.Context, tx pgx.Tx, e *Event) error { return nil }

func (s *Service) Several(ctx context.Context, tx pgx.Tx, e *Event, at time.Time, n uint32) error {
	return nil
}
