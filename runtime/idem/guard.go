package idem

import (
	"fmt"

	"github.com/idemgen/idemgen/runtime/internal/driver"
)

// Guard is a database with its idempotency keys, and the options that hold for all handlers on it. idempgx.New,
// idemsql.New and idemmysql.New make guards; a Guard is safe for concurrent use and lives as long as its database.
type Guard[Tx any] struct {
	driver   driver.Driver[Tx]
	settings settings
	err      error // returned by every delivery
}

// NewGuard makes a guard of a driver. It is for the drivers' New: nobody else can name its argument's type.
// What is wrong with the options or the driver is returned by every delivery, since there is no use in a service that
// starts without its guard and no error to return here.
func NewGuard[Tx any](open func(driver.Config) (driver.Driver[Tx], error), opts ...Option) *Guard[Tx] {
	s, err := newSettings(opts)
	if err != nil {
		return &Guard[Tx]{settings: s, err: fmt.Errorf("options: %w", err)}
	}
	if s.driver.Leases != nil {
		open = func(c driver.Config) (driver.Driver[Tx], error) { return driver.LeasesOnly[Tx](c.Leases), nil }
	}
	d, err := open(s.driver)
	if err != nil {
		return &Guard[Tx]{settings: s, err: err}
	}
	return &Guard[Tx]{driver: faulty(d, &s), settings: s}
}
