package idemsql

import (
	"errors"
	"fmt"
	"testing"

	"github.com/idemgen/idemgen/runtime/internal/driver"
)

// What SQLite does not understand and what it does not allow, by the low byte of the code.
func TestClassesOfSQLite(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]driver.Class{
		1: driver.Misfit, 257: driver.Misfit, 3: driver.Denied, 8: driver.Denied, 776: driver.Denied, 23: driver.Denied, 18: driver.NoRoom,
		5: driver.Locked, 517: driver.Locked, 6: driver.Locked, 10: driver.Other, 19: driver.Other, 0: driver.Other,
	} {
		if got := (sqlite{}).classify(errors.Join(codedError(code))); got != want {
			t.Errorf("%d: got %d", code, got)
		}
	}
}

// Error has the shape of mattn's error, in a package of another name.
type Error struct{ Code, ExtendedCode int }

func (e Error) Error() string { return "not a database's" }

// A result code is taken only from where one is known to be. That the fields of mattn's error are is shown by testdata/e2e.
func TestResultCode(t *testing.T) {
	t.Parallel()
	var none *Error
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("database is locked (5) (SQLITE_BUSY)"), 0},
		{Error{Code: 5, ExtendedCode: 517}, 0},
		{&Error{Code: 5}, 0},
		{none, 0},
		{errors.Join(errors.New("first"), fmt.Errorf("wrapped: %w", codedError(517))), 517},
	} {
		if got := resultCode(tt.err); got != tt.want {
			t.Errorf("%v: got %d", tt.err, got)
		}
	}
}
