package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReports(t *testing.T) {
	t.Parallel()
	all, err := newReports()
	require.NoError(t, err)
	require.Len(t, all, 2)
	for _, r := range all {
		var out strings.Builder
		require.ErrorContains(t, r.print(&out), r.env)
		assert.Empty(t, out.String())

		require.NoError(t, os.WriteFile(r.file, []byte("promise  pgx\n1 one    ok\n"), 0o600))
		require.NoError(t, r.print(&out))
		assert.Equal(t, "== "+r.title+":\npromise  pgx\n1 one    ok\n", out.String())
		require.NoError(t, r.remove())
		require.NoFileExists(t, r.file)
	}
}
