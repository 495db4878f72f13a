package idemtest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
	"github.com/idemgen/idemgen/runtime/internal/memory"
	"github.com/idemgen/idemgen/runtime/store"
)

// brokenVariable has this test's own process run the suite on a broken driver.
const brokenVariable = "IDEMTEST_BROKEN"

// breakage is a driver that does one thing wrong, and the promises that the suite has to miss there, at least.
type breakage struct {
	wrap   func(driver.Driver[*memory.Tx]) driver.Driver[*memory.Tx]
	misses []string
}

var breakages = map[string]breakage{
	"a claim that always wins": {
		wrap:   onClaim(func(s driver.Session[*memory.Tx]) driver.Session[*memory.Tx] { return alwaysWins{s} }),
		misses: []string{"1", "2", "3", "12"},
	},
	"a look-up in the snapshot of the claim": {
		wrap:   onClaim(func(s driver.Session[*memory.Tx]) driver.Session[*memory.Tx] { return &oldSnapshot{Session: s} }),
		misses: []string{"3"},
	},
	"a row in place of a wait": {
		wrap:   onClaim(func(s driver.Session[*memory.Tx]) driver.Session[*memory.Tx] { return doesNotWait{s} }),
		misses: []string{"3"},
	},
	"a commit whose fate is taken for an abort": {
		wrap:   onClaim(func(s driver.Session[*memory.Tx]) driver.Session[*memory.Tx] { return forgetful{s} }),
		misses: []string{"8"},
	},
	"an abort that looks committed": {
		wrap:   onClaim(func(s driver.Session[*memory.Tx]) driver.Session[*memory.Tx] { return swallows{s} }),
		misses: []string{"7"},
	},
	"a connection that is not given back": {
		wrap:   onClaim(func(s driver.Session[*memory.Tx]) driver.Session[*memory.Tx] { return leaks{s} }),
		misses: []string{"5"},
	},
	"an end without a look at owner and fence": {
		wrap:   onKeys(func(k driver.Keys) driver.Keys { return anybody{k} }),
		misses: []string{"L4"},
	},
	"a renewal that does nothing": {
		wrap:   onKeys(func(k driver.Keys) driver.Keys { return lazy{k} }),
		misses: []string{"L2"},
	},
	"a renewal that never says that the lease is lost": {
		wrap:   onKeys(func(k driver.Keys) driver.Keys { return yesMan{k} }),
		misses: []string{"L5"},
	},
	"a release that does nothing": {
		wrap:   onKeys(func(k driver.Keys) driver.Keys { return keeps{k} }),
		misses: []string{"L6"},
	},
	"a window from the claim on": {
		wrap:   onKeys(func(k driver.Keys) driver.Keys { return early{k} }),
		misses: []string{"L9"},
	},
	"a janitor that takes what is not its": {
		wrap:   func(d driver.Driver[*memory.Tx]) driver.Driver[*memory.Tx] { return greedy{d} },
		misses: []string{"21"},
	},
}

// allBreakages are those of keys and those of transitions.
func allBreakages() map[string]breakage {
	all := maps.Clone(breakages)
	maps.Copy(all, stepBreakages)
	return all
}

// The suite finds a broken driver out: it runs on each in a process of its own, which has to fail, and in the rows that
// are meant. A suite that cannot fail would prove nothing.
func TestConformance_FindsBrokenDrivers(t *testing.T) {
	t.Parallel()
	if name := os.Getenv(brokenVariable); name != "" {
		runBroken(t, name)
		return
	}
	for name, b := range allBreakages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			var rows []string
			for _, p := range promises {
				if slices.Contains(b.misses, p.number) {
					rows = append(rows, strings.Fields(p.name())[0])
				}
			}
			cmd := exec.CommandContext(t.Context(), self, "-test.v",
				"-test.run=^TestConformance_FindsBrokenDrivers$/^("+strings.Join(rows, "|")+")_")
			cmd.Env = append(os.Environ(), brokenVariable+"="+name)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Error("the suite holds")
			}
			for _, number := range b.misses {
				if line := fmt.Sprintf("cell %s %s\n", number, Fails); !strings.Contains(string(out), line) {
					t.Errorf("promise %s does not fail", number)
				}
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
		})
	}
}

// runBroken runs the suite on a broken driver, and prints what came of it.
func runBroken(t *testing.T, name string) {
	var m Matrix
	b := transactional(&m, 2*time.Second, allBreakages()[name].wrap)
	t.Cleanup(func() {
		m.Cells(func(_, promise, state string) { fmt.Printf("cell %s %s\n", promise, state) })
	})
	Conformance(t, b)
}

// acquiring is a driver whose sessions are changed.
type acquiring struct {
	driver.Driver[*memory.Tx]
	change func(driver.Session[*memory.Tx]) driver.Session[*memory.Tx]
}

func onClaim(change func(driver.Session[*memory.Tx]) driver.Session[*memory.Tx]) func(driver.Driver[*memory.Tx]) driver.Driver[*memory.Tx] {
	return func(d driver.Driver[*memory.Tx]) driver.Driver[*memory.Tx] { return acquiring{d, change} }
}

func (a acquiring) Acquire(ctx context.Context) (driver.Session[*memory.Tx], error) {
	s, err := a.Driver.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return a.change(s), nil
}

// keeping is a driver whose statements of leases are changed.
type keeping struct {
	driver.Driver[*memory.Tx]
	change func(driver.Keys) driver.Keys
}

func onKeys(change func(driver.Keys) driver.Keys) func(driver.Driver[*memory.Tx]) driver.Driver[*memory.Tx] {
	return func(d driver.Driver[*memory.Tx]) driver.Driver[*memory.Tx] { return keeping{d, change} }
}

func (k keeping) Keys() driver.Keys { return k.change(k.Driver.Keys()) }

type alwaysWins struct{ driver.Session[*memory.Tx] }

func (s alwaysWins) Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error) {
	won, err := s.Session.Claim(ctx, c, wait)
	if err != nil || won {
		return won, err
	}
	return true, s.Session.Begin(ctx)
}

func (s alwaysWins) Commit(ctx context.Context, _ *store.Completion) error {
	return s.Session.Commit(ctx, nil)
}

// oldSnapshot does not see what was committed after its first statement began, and so never sees the winner's row.
type oldSnapshot struct {
	driver.Session[*memory.Tx]
	waited bool
}

func (s *oldSnapshot) Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error) {
	began := time.Now()
	won, err := s.Session.Claim(ctx, c, wait)
	s.waited = err == nil && !won && time.Since(began) > time.Millisecond
	return won, err
}

func (s *oldSnapshot) Lookup(ctx context.Context, handler, key string) (store.Row, error) {
	if s.waited {
		return store.Row{}, fmt.Errorf("could not serialize access: the row of %s is not in the snapshot", key)
	}
	return s.Session.Lookup(ctx, handler, key)
}

// doesNotWait tells a rival "duplicate" of a run that has not committed.
type doesNotWait struct{ driver.Session[*memory.Tx] }

func (s doesNotWait) Claim(ctx context.Context, c store.Claim, _ time.Duration) (bool, error) {
	won, err := s.Session.Claim(ctx, c, 0)
	if err != nil {
		return false, nil
	}
	return won, nil
}

func (s doesNotWait) Lookup(ctx context.Context, handler, key string) (store.Row, error) {
	row, err := s.Session.Lookup(ctx, handler, key)
	if err != nil {
		return store.Row{State: store.Done, Result: []byte("{}")}, nil
	}
	return row, nil
}

type forgetful struct{ driver.Session[*memory.Tx] }

func (s forgetful) Commit(ctx context.Context, c *store.Completion) error {
	if err := s.Session.Commit(ctx, c); err != nil {
		return fmt.Errorf("the connection broke: %s", err)
	}
	return nil
}

type swallows struct{ driver.Session[*memory.Tx] }

func (s swallows) Commit(ctx context.Context, c *store.Completion) error {
	_ = s.Session.Commit(ctx, c)
	return nil
}

type leaks struct{ driver.Session[*memory.Tx] }

func (leaks) Close(context.Context) {}

// now is the row's holder, whoever asks.
func now(ctx context.Context, k driver.Keys, h store.Holder) store.Holder {
	row, err := k.Lookup(ctx, h.Handler, h.Key)
	if err == nil {
		h.Owner, h.Fence = row.Owner, row.Fence
	}
	return h
}

type anybody struct{ driver.Keys }

func (k anybody) Finish(ctx context.Context, e store.End) (bool, error) {
	e.Holder = now(ctx, k.Keys, e.Holder)
	return k.Keys.Finish(ctx, e)
}

type lazy struct{ driver.Keys }

func (lazy) Renew(context.Context, store.Holder, time.Duration) (bool, error) { return true, nil }

type yesMan struct{ driver.Keys }

func (k yesMan) Renew(ctx context.Context, h store.Holder, lease time.Duration) (bool, error) {
	_, err := k.Keys.Renew(ctx, h, lease)
	return true, err
}

type keeps struct{ driver.Keys }

func (keeps) Release(context.Context, store.Holder) (bool, error) { return true, nil }

type early struct{ driver.Keys }

func (k early) Claim(ctx context.Context, c store.Claim, wait time.Duration) (bool, error) {
	c.Window = c.Lease
	return k.Keys.Claim(ctx, c, wait)
}

type greedy struct{ driver.Driver[*memory.Tx] }

func (d greedy) Sweep(ctx context.Context, batch int) (int64, error) {
	for _, r := range d.Driver.(*memory.DB).Rows() {
		if r.ExpiresIn == nil || *r.ExpiresIn > 0 {
			d.Driver.(*memory.DB).Put(r.Handler, r.Key, store.Done, span(-time.Second))
		}
	}
	return d.Driver.Sweep(ctx, batch)
}
