package idem

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
)

// The defaults of the options.
const (
	DefaultRetries         = 3
	DefaultInFlightTimeout = 5 * time.Second
	DefaultResultLimit     = 64 << 10
)

// Option tunes a [Guard]. The generated constructors and the drivers' New take options. One that is not valid
// makes every delivery return an error that says so.
type Option interface {
	apply(*settings) error
}

type option func(*settings) error

func (o option) apply(s *settings) error { return o(s) }

type settings struct {
	driver          driver.Config
	retries         int
	inFlightTimeout time.Duration
	resultLimit     int
	codec           Codec
	observer        Observer
	shadow          bool
}

func newSettings(opts []Option) (settings, error) {
	s := settings{
		retries:         DefaultRetries,
		inFlightTimeout: DefaultInFlightTimeout,
		resultLimit:     DefaultResultLimit,
		codec:           jsonCodec{},
	}
	var errs []error
	for _, o := range opts {
		if o == nil {
			errs = append(errs, errors.New("an option is nil"))
			continue
		}
		if err := o.apply(&s); err != nil {
			errs = append(errs, err)
		}
	}
	return s, errors.Join(errs...)
}

// WithDriverConfig is for package idemtest, whose options reach below the guard: nobody else can name its argument's type.
func WithDriverConfig(change func(*driver.Config)) Option {
	return option(func(s *settings) error {
		if change == nil {
			return errors.New("WithDriverConfig is for package idemtest")
		}
		change(&s.driver)
		return nil
	})
}

// WithIsolation sets the isolation level of the handlers' transactions. The default is READ COMMITTED on PostgreSQL and
// MySQL, and the only level there is on SQLite. At higher levels a delivery that meets a rival runs into serialization failures and
// is run again; see [WithRetries].
func WithIsolation(level sql.IsolationLevel) Option {
	return option(func(s *settings) error {
		s.driver.Isolation = level
		return nil
	})
}

// WithRetries sets how many times a handler is run again, in a new transaction, after a deadlock, a serialization failure
// or a busy database. The default is 3; with 0 the first such error is returned.
func WithRetries(n int) Option {
	return option(func(s *settings) error {
		if n < 0 {
			return fmt.Errorf("WithRetries(%d): cannot be negative", n)
		}
		s.retries = n
		return nil
	})
}

// WithInFlightTimeout sets how long a delivery waits, in all, for another one of the same key, before it returns an
// [*InProgressError]. The default is 5 s. What its own runs take does not count. It waits with a connection in its hand: a
// pool whose connections all wait serves nobody.
//
// It also bounds how long the database is asked what became of a COMMIT without an answer, before that is
// [ErrCommitUnknown].
func WithInFlightTimeout(d time.Duration) Option {
	return option(func(s *settings) error {
		if d <= 0 {
			return fmt.Errorf("WithInFlightTimeout(%s): must be positive; for no wait at all write inflight=fail in the directive", d)
		}
		s.inFlightTimeout = d
		return nil
	})
}

// WithCodec sets how results are stored. The default is JSON.
func WithCodec(c Codec) Option {
	return option(func(s *settings) error {
		if c == nil {
			return errors.New("WithCodec(nil): a codec is needed")
		}
		s.codec = c
		return nil
	})
}

// WithObserver sets who is told of every delivery.
func WithObserver(o Observer) Option {
	return option(func(s *settings) error {
		if o == nil {
			return errors.New("WithObserver(nil): an observer is needed")
		}
		s.observer = o
		return nil
	})
}

// WithResultLimit sets the size, in bytes, above which a result is not stored. The default is 64 KiB. The run counts all
// the same, and a repeat gets [ErrResultOmitted] in its place.
func WithResultLimit(bytes int) Option {
	return option(func(s *settings) error {
		if bytes < 0 {
			return fmt.Errorf("WithResultLimit(%d): cannot be negative", bytes)
		}
		s.resultLimit = bytes
		return nil
	})
}
