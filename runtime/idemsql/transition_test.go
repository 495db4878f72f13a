package idemsql

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/driver"
)

// SQLite's drivers may tell of the end of the context in place of an answer that came at the same time: that leaves open whether the
// UPDATE took place. What they say while the context goes on, and what SQLite says, is definite.
func TestSQLiteAlone_ContextOver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		err     error
		over    bool
		unknown bool
	}{
		{"its end", context.Canceled, true, true},
		{"its end, by SQLite's code", codedError(codeInterrupt), true, true},
		{"interrupted by somebody else", codedError(codeInterrupt), false, false},
		{"a constraint, at its end", codedError(19), true, false},
		{"busy, at its end", codedError(codeBusy), true, false},
		{"an answer, at its end", nil, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			conn := &scriptedConn{answer: func(query string) error {
				if !strings.HasPrefix(query, "UPDATE") {
					return nil
				}
				if c.over {
					cancel()
				}
				return c.err
			}}
			db := sql.OpenDB(conn)
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			d := &database{db: db, engine: sqlite{}}
			_, err := d.Update(ctx, time.Second, func(ctx context.Context, db DBTX) (int64, error) {
				_, err := db.ExecContext(ctx, "UPDATE orders")
				return 1, err
			})
			var end *driver.CommitError
			if unknown := errors.As(err, &end) && end.Fate == driver.Unknown; unknown != c.unknown || !errors.Is(err, c.err) {
				t.Errorf("got %v", err)
			}
			if n := db.Stats().InUse; n != 0 {
				t.Errorf("%d connections left", n)
			}
		})
	}
}
