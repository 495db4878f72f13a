//go:build unix

package e2e

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"
)

// Effects 22: a worker that is stopped for longer than its lease. Another one takes over and finishes; the first one's context
// ends when it goes on, and it can neither complete, nor release, nor record. Its key for the outside is the same.
func TestLease_Effects22_Paused(t *testing.T) {
	for _, end := range []string{endWell, endError, endBad} {
		t.Run(end, func(t *testing.T) {
			eachDriver(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{options: []idem.Option{long}})
				a := s.charging(t)
				e := order()
				worker, says := startWorker(t, d, job{Driver: d.name, Place: s.place, Stage: holding, Event: e, Outside: string(a), End: end})
				said, err := says.ReadString('\n')
				require.NoError(t, err)
				require.Equal(t, holding, strings.TrimSpace(said))
				require.NoError(t, worker.Process.Signal(syscall.SIGSTOP))

				got, err := s.Charge(t.Context(), e)
				require.NoError(t, err)
				assert.Equal(t, "run 1", got.PlacedBy)

				require.NoError(t, worker.Process.Signal(syscall.SIGCONT))
				lost, err := says.ReadString('\n')
				require.NoError(t, err)
				require.Error(t, worker.Wait())
				assert.Equal(t, "true", strings.TrimSpace(lost), "the first owner's error is ErrLeaseLost")

				states, fences := s.states(t)
				assert.Equal(t, []string{"done"}, states)
				assert.Equal(t, 2, fences)
				again, err := s.Charge(t.Context(), e)
				require.NoError(t, err)
				assert.Equal(t, got, again)
				assert.Equal(t, 1, a.count(t, "charge"))
				assert.Equal(t, 2, a.count(t, "call"))
			})
		})
	}
}
