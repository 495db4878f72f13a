package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKills(t *testing.T) {
	t.Parallel()
	k, err := newKills()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(k.file, []byte("claimed  3 kills\n"), 0o600))
	var out strings.Builder
	require.NoError(t, k.print(&out))
	assert.Equal(t, "== what became of workers that were killed:\nclaimed  3 kills\n", out.String())
	assert.NoFileExists(t, k.file)

	k, err = newKills()
	require.NoError(t, err)
	require.ErrorIs(t, k.print(&out), errNoKills)
	assert.NoFileExists(t, k.file)
}
