package idemtest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/idemgen/idemgen/runtime/idem"
	"github.com/idemgen/idemgen/runtime/idemtest"
)

// heard is a test whose failures are listened to.
type heard struct {
	testing.TB
	mu   sync.Mutex
	said []string
}

func (h *heard) Helper() {}

func (h *heard) say(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, text)
}

func (h *heard) Errorf(format string, args ...any) { h.say(fmt.Sprintf(format, args...)) }

func (h *heard) Fatalf(format string, args ...any) {
	h.say(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func (h *heard) Fatal(args ...any) {
	h.say(fmt.Sprint(args...))
	runtime.Goexit()
}

// complaints are what a replay says.
func complaints[E, R any](t *testing.T, c idemtest.Case[E, R]) []string {
	t.Helper()
	h := &heard{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		idemtest.Replay(h, c)
	}()
	<-done
	return h.said
}

// outside is an outside system that counts charges, and knows one by the key that it is given.
type outside struct {
	mu      sync.Mutex
	calls   int
	charges map[string][]string // keys by card
}

func (o *outside) charge(ctx context.Context, c charge, key string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls++
	if key == "" {
		key = fmt.Sprint(o.calls)
	}
	if !slices.Contains(o.charges[c.ID], key) {
		o.charges[c.ID] = append(o.charges[c.ID], key)
	}
	return "charged " + c.ID, nil
}

func (o *outside) count(_ context.Context, c charge) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.charges[c.ID]), nil
}

// inMemory is a case without a database: the workers share the keys as they would share one.
func inMemory(o *outside, run func(context.Context, charge) (string, error)) idemtest.Case[charge, string] {
	keys := idemtest.InMemory()
	return idemtest.Case[charge, string]{
		Handler: func(opts ...idem.Option) idemtest.Handler[charge, string] { return cards(run, append(opts, keys)...) },
		Event:   func(i int) charge { return charge{fmt.Sprintf("c-%d", i), 4200} },
		Effects: o.count,
	}
}

// Workers that do not share their keys, and one that guards nothing, are found out, though the outside recognises each call.
func TestReplay_InMemoryApart(t *testing.T) {
	t.Parallel()
	for name, worker := range map[string]func(shared idem.Option) []idem.Option{
		"keys of its own": func(idem.Option) []idem.Option { return []idem.Option{idemtest.InMemory()} },
		"shadow mode":     func(shared idem.Option) []idem.Option { return []idem.Option{shared, idem.WithShadow()} },
	} {
		o, shared := &outside{charges: map[string][]string{}}, idemtest.InMemory()
		run := func(ctx context.Context, c charge) (string, error) { return o.charge(ctx, c, c.ID) }
		c := inMemory(o, run)
		c.Handler = func(opts ...idem.Option) idemtest.Handler[charge, string] {
			return cards(run, append(opts, worker(shared)...)...)
		}
		said := complaints(t, c)
		if len(said) != 1 || !strings.Contains(said[0], "ran the handler again: let all handlers that Case.Handler makes share one database or, with idemtest.InMemory, one Option") {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// Without a database too, a lease's workers die, its records are not answered, and it is lost: an outside that does not
// recognise its calls is found out by each play that calls it again.
func TestReplay_InMemory(t *testing.T) {
	t.Parallel()
	careless := &outside{charges: map[string][]string{}}
	said := complaints(t, inMemory(careless, func(ctx context.Context, c charge) (string, error) {
		return careless.charge(ctx, c, "")
	}))
	for _, play := range []string{"a worker that dies after the effect: ", "a lease that is lost: ", "a panic: ", "a context that ends: "} {
		found := slices.ContainsFunc(said, func(line string) bool { return strings.HasPrefix(line, play) })
		if want := play != "a context that ends: "; found != want {
			t.Errorf("%q is said: %t, of %q", play, found, said)
		}
	}

	careful := &outside{charges: map[string][]string{}}
	said = complaints(t, inMemory(careful, func(ctx context.Context, c charge) (string, error) {
		run, ok := idem.FromContext(ctx)
		if !ok {
			return "", errors.New("there is no run")
		}
		return careful.charge(ctx, c, run.ExternalKey())
	}))
	if len(said) > 0 {
		t.Errorf("the harness says of an honest handler: %q", said)
	}
	if careful.calls <= len(careful.charges) {
		t.Errorf("%d calls for %d events: nothing has gone wrong", careful.calls, len(careful.charges))
	}
}
