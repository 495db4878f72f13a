package main

import (
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// installed returns the folder of an installed PostgreSQL, or leaves the test out for all to see.
func installed(t *testing.T) string {
	t.Helper()
	bin, err := findPostgres()
	if err == nil {
		return bin
	}
	list := leftOut{os.Getenv(leftOutEnv)}
	if list.file != "" {
		require.NoError(t, list.add("postgres", err.Error()))
	}
	t.Skipf("left out: %v", err)
	return ""
}

func TestServerAnswersAndIsGoneAfterStop(t *testing.T) {
	t.Parallel()
	s, err := startPostgres(t.Context(), installed(t))
	require.NoError(t, err)
	u, err := url.Parse(s.dsn)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", u.Host)
	require.NoError(t, err)
	require.NoError(t, conn.Close())

	require.NoError(t, s.stop())
	assert.NoDirExists(t, s.dir)
	assert.NotNil(t, s.cmd.ProcessState, "still running")
	_, err = net.Dial("tcp", u.Host)
	assert.Error(t, err)
}

func TestFailedStartTellsWhyAndLeavesNothing(t *testing.T) {
	t.Parallel()
	bin := installed(t)
	broken := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(broken), 0o755))
	require.NoError(t, os.Chmod(broken, 0o755))
	require.NoError(t, os.Symlink(filepath.Join(bin, "initdb"), filepath.Join(broken, "initdb")))
	_, err := startPostgres(t.Context(), broken)
	require.Error(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = startPostgres(ctx, bin)
	require.ErrorIs(t, err, context.Canceled)
}
