package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMatrix(t *testing.T) {
	t.Parallel()
	m, err := newMatrix()
	require.NoError(t, err)
	var out strings.Builder
	require.ErrorIs(t, m.print(&out), errNoMatrix)
	assert.Empty(t, out.String())

	require.NoError(t, os.WriteFile(m.file, []byte("promise  pgx\n1 one    ok\n"), 0o600))
	require.NoError(t, m.print(&out))
	assert.Equal(t, "== what each driver holds, by docs/guarantees.md:\npromise  pgx\n1 one    ok\n", out.String())
	require.NoError(t, m.remove())
	require.NoFileExists(t, m.file)
}
