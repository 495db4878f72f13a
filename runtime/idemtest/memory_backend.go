package idemtest

import (
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/memory"
	"github.com/idemgen/idemgen/runtime/store"
)

// noTransaction is what InMemoryBackend has in place of a driver's transaction.
type noTransaction = *sql.Tx

// InMemoryBackend is the backend of a guard with [InMemory], as generated code makes it without a database.
func InMemoryBackend(m *Matrix) Backend[noTransaction] {
	const noSQL = "the keys are in memory, and no SQL is spoken"
	return Backend[noTransaction]{
		Driver: "memory",
		Matrix: m,
		Cannot: Cannot{
			NeedTransactions: "a guard with idemtest.InMemory has no transaction that could hold a key; handlers with one are refused",
			NeedTable:        noSQL,
			NeedPermissions:  noSQL,
			NeedZones:        noSQL,
			NeedRoundTrips:   noSQL,
			NeedSteps:        "there are no rows besides the keys, and no transaction that could move one",
			NeedProcesses:    "what is kept in memory ends with its process",
		},
		Open: func(*testing.T, Setup) Place[noTransaction] {
			db := memory.New()
			p := placeInMemory[noTransaction](db)
			p.Guard = func(opts ...idem.Option) *idem.Guard[noTransaction] {
				return idem.NewGuard(func(driver.Config) (driver.Driver[noTransaction], error) {
					return nil, errors.New("there is no database")
				}, append(slices.Clone(opts), inMemory(db))...)
			}
			return p
		},
	}
}

// placeInMemory is a place without transactions.
func placeInMemory[Tx any](db *memory.DB) Place[Tx] {
	return Place[Tx]{
		InUse: db.InUse,
		Rows: func() (all []Row) {
			for _, r := range db.Rows() {
				all = append(all, Row{r.Handler, r.Key, string(r.State), r.Fence, r.ExpiresIn, r.LeaseLeft})
			}
			return all
		},
		Alter: func(c Change) { db.Alter(store.State(c.State), c.ExpiresIn, c.LeaseLeft, c.Result) },
		Put: func(handler, key, state string, expiresIn *time.Duration) {
			db.Put(handler, key, store.State(state), expiresIn)
		},
		Fill:       db.Fill,
		Clear:      db.Clear,
		Lock:       func() func() { return db.Lock() },
		LoseAnswer: db.LoseAnswer,
		Before:     db.Before,
	}
}
