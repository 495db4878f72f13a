package idem

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Forever is the window of keys that are never forgotten.
const Forever time.Duration = math.MaxInt64

// MinWindow is the shortest window that a handler may have. A window has to outlast the queue's redeliveries, and
// nothing that redelivers is done within a minute.
const MinWindow = time.Minute

// InFlight is what a delivery does that finds its key claimed by a transaction that still runs.
type InFlight int

const (
	// Wait waits for the other delivery's end, within the guard's in-flight timeout: then it returns the stored
	// result, or runs, if the other one rolled back.
	Wait InFlight = iota
	// Fail returns an [*InProgressError] at once.
	Fail
)

func (i InFlight) String() string {
	switch i {
	case Wait:
		return "wait"
	case Fail:
		return "fail"
	default:
		return fmt.Sprintf("InFlight(%d)", int(i))
	}
}

// MinLease is the shortest lease. It is renewed at its third, and a shorter one would be lost to every pause of the network.
const MinLease = time.Second

// Expired is what a delivery does that finds a key whose lease has passed: its owner has died, or hangs, and may or may not
// have had its effect.
type Expired int

const (
	// Retry takes the key over and runs.
	Retry Expired = iota
	// Park keeps the key for a person to look at: this delivery and all others return [ErrParked].
	Park
)

func (x Expired) String() string {
	switch x {
	case Retry:
		return "retry"
	case Park:
		return "park"
	default:
		return fmt.Sprintf("Expired(%d)", int(x))
	}
}

// Spec is what generated code says about a handler of events E.
type Spec[E any] struct {
	// Name is one half of the row's key. It outlives renames of the function only if it is pinned by name=.
	Name string
	// Window is how long a repeat is recognised after the first run, by the database's clock: at least [MinWindow], or
	// [Forever].
	Window time.Duration
	// InFlight is what happens while another delivery of the key runs.
	InFlight InFlight
	// Lease is, of a [Lease], how long a key is one delivery's without a renewal: at least [MinLease]. It may be as long as you
	// like, and longer than the window, which only begins when a run ends: it is how long a key rests whose worker has
	// died. It is 0 of a [Handler].
	Lease time.Duration
	// Expired is, of a [Lease], what a delivery does with a key whose lease has passed.
	Expired Expired
	// Key builds the business key, the other half of the row's key, with a [KeyBuilder].
	Key func(E) (string, error)
	// Fingerprint builds the value that must not differ between two deliveries of one key, with a
	// [FingerprintBuilder]. Nil for none.
	Fingerprint func(E) string
	// Attempt is the queue's delivery count, for the [Observer] alone. Nil for none.
	Attempt func(E) int
}

func (s *Spec[E]) check() error {
	switch {
	case s.Name == "":
		return errors.New("the handler has no name")
	case s.Key == nil:
		return errors.New("the handler has no key function")
	case s.Window < MinWindow:
		return fmt.Errorf("the window is %s and must be at least %s", s.Window, MinWindow)
	case s.InFlight != Wait && s.InFlight != Fail:
		return fmt.Errorf("unknown in-flight rule %s", s.InFlight)
	}
	return nil
}

// checkLease checks what a lease has besides.
func (s *Spec[E]) checkLease() error {
	switch {
	case s.Lease < MinLease:
		return fmt.Errorf("the lease is %s and must be at least %s", s.Lease, MinLease)
	case s.Expired != Retry && s.Expired != Park:
		return fmt.Errorf("unknown rule for an expired lease %s", s.Expired)
	}
	return s.check()
}

// window is the window as the store takes it: nil for ever.
func (s *Spec[E]) window() *time.Duration {
	if s.Window == Forever {
		return nil
	}
	w := s.Window
	return &w
}
