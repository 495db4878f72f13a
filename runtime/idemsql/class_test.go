package idemsql

import (
	"errors"
	"testing"

	"github.com/idemgen/idemgen/runtime/internal/driver"
)

// What SQLite does not understand and what it does not allow, by the low byte of the code.
func TestClassesOfSQLite(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]driver.Class{
		1: driver.Misfit, 257: driver.Misfit, 3: driver.Denied, 8: driver.Denied, 776: driver.Denied, 23: driver.Denied,
		5: driver.Locked, 517: driver.Locked, 6: driver.Locked, 10: driver.Other, 19: driver.Other, 0: driver.Other,
	} {
		if got := (sqlite{}).classify(errors.Join(codedError(code))); got != want {
			t.Errorf("%d: got %d", code, got)
		}
	}
}
