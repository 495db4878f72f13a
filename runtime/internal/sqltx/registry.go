package sqltx

import (
	"database/sql"
	"runtime"
	"sync"
	"weak"

	"github.com/idemgen/idemgen/runtime/store"
)

// joinedClaims are those of all guards, since several can have one table of keys.
var joinedClaims registry

// registry keeps the owners of the claims that were made in the callers' transactions. When such a transaction ends nobody
// tells, so its entry goes with it to the garbage collector; until then it does no harm, since nobody else has these owners.
type registry struct {
	mu  sync.Mutex
	txs map[weak.Pointer[sql.Tx]]map[store.Owner]bool
}

func (r *registry) note(tx *sql.Tx, owner store.Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := weak.Make(tx)
	owners := r.txs[key]
	if owners == nil {
		if r.txs == nil {
			r.txs = map[weak.Pointer[sql.Tx]]map[store.Owner]bool{}
		}
		owners = map[store.Owner]bool{}
		r.txs[key] = owners
		runtime.AddCleanup(tx, r.forget, key)
	}
	owners[owner] = true
}

func (r *registry) noted(tx *sql.Tx, owner store.Owner) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.txs[weak.Make(tx)][owner]
}

func (r *registry) forget(key weak.Pointer[sql.Tx]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.txs, key)
}
