package idemtest

import (
	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/memory"
)

// InMemory has a guard keep its keys in memory and use no database: for unit tests of handlers with a lease, and of what
// calls them. The database that the generated constructor takes may be nil:
//
//	cards := shop.NewIdempotentCards(service, nil, idemtest.InMemory())
//
// All that is promised of leases holds within the process (docs/guarantees.md, L1 to L9): claims, fences, renewals, expiry,
// parking, fingerprints, stored results. Time is time.Now, so that a test in a bubble of testing/synctest can let a lease or a
// window pass at once.
//
// Each call makes an empty table of keys. Constructors that are given the same Option share one, as they would share a
// database: so a test lets a second process meet the first one's lease.
//
// A handler with a transaction has nothing to commit here: each of its deliveries is an error that says so. Test it against
// its database.
func InMemory() idem.Option { return inMemory(memory.New()) }

func inMemory(db *memory.DB) idem.Option {
	return idem.WithDriverConfig(func(c *driver.Config) { c.Leases = db })
}
