package idemtest

import (
	"context"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/memory"
)

// transactional is a driver in memory, with everything that a database has and the suite could ask for in one process. wrap
// puts something between the engine and it.
func transactional(m *Matrix, patience time.Duration, wrap func(driver.Driver[*memory.Tx]) driver.Driver[*memory.Tx]) Backend[*memory.Tx] {
	if wrap == nil {
		wrap = func(d driver.Driver[*memory.Tx]) driver.Driver[*memory.Tx] { return d }
	}
	const noSQL = "no SQL is spoken"
	return Backend[*memory.Tx]{
		Driver:   "transactional",
		Matrix:   m,
		Patience: patience,
		Cannot: Cannot{
			NeedTable: noSQL, NeedPermissions: noSQL, NeedZones: noSQL, NeedRoundTrips: noSQL, NeedLanguages: noSQL,
			NeedSurvives:  "a failed statement aborts the transaction",
			NeedProcesses: "what is kept in memory ends with its process",
		},
		Open: func(t *testing.T, _ Setup) Place[*memory.Tx] {
			db := memory.New()
			p := placeInMemory[*memory.Tx](db)
			p.Guard = func(opts ...idem.Option) *idem.Guard[*memory.Tx] {
				return idem.NewGuard(func(driver.Config) (driver.Driver[*memory.Tx], error) { return wrap(db), nil }, opts...)
			}
			withTransactions(t, &p, db, patience)
			p.Steps = stepsInMemory(db)
			return p
		},
	}
}

func withTransactions(t *testing.T, p *Place[*memory.Tx], db *memory.DB, patience time.Duration) {
	p.Effect = func(_ context.Context, tx *memory.Tx, what string) error { return tx.Effect(what) }
	p.Effects = db.Effects
	p.Begin = func() Caller[*memory.Tx] {
		tx := db.Begin()
		t.Cleanup(tx.Rollback)
		return Caller[*memory.Tx]{tx, tx.Commit, func() error { tx.Rollback(); return nil }}
	}
	p.AwaitRivals = func(n int) {
		f := fixture[*memory.Tx]{T: t, patience: patience}
		f.eventually("rivals wait", func() bool { return db.Waiting() >= n })
	}
	p.Refused = func(_ context.Context, tx *memory.Tx) error { return tx.Refused() }
	p.RefusedInSavepoint = func(_ context.Context, tx *memory.Tx) error { return tx.RefusedInSavepoint() }
	p.Conflict = func(_ context.Context, tx *memory.Tx) error { return tx.Conflict() }
	p.Update = func(_ context.Context, tx *memory.Tx, name string) error { return tx.Update(name) }
	p.Counter = db.Counter
	p.LoseCommit = db.LoseCommit
	p.BreakCommit = func() <-chan struct{} {
		broken := make(chan struct{})
		db.FailCommit(func(tx *memory.Tx) {
			tx.Rollback()
			close(broken)
		})
		return broken
	}
	p.HoldCommit = func() func() {
		held := make(chan *memory.Tx, 1)
		db.FailCommit(func(tx *memory.Tx) { held <- tx })
		return func() {
			if err := (<-held).Commit(); err != nil {
				t.Error(err)
			}
		}
	}
}

// The suite holds of a driver that does all that it asks for: so that what fails of a real one is the driver's fault.
func TestConformance(t *testing.T) {
	var m Matrix
	t.Run("transactional", func(t *testing.T) { Conformance(t, transactional(&m, time.Minute, nil)) })
	t.Run("memory", func(t *testing.T) { Conformance(t, InMemoryBackend(&m)) })
	if err := m.Write(testWriter{t}); err != nil {
		t.Error(err)
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log("\n" + string(p))
	return len(p), nil
}
