package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLeftOut(t *testing.T) {
	t.Parallel()
	list, err := newLeftOut()
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, list.print(&out))
	assert.Equal(t, "== left out: nothing\n", out.String())
	require.NoError(t, list.missing("postgres"))

	lines := "postgres: no server\nmysql: no server\npostgres: no server\n"
	require.NoError(t, os.WriteFile(list.file, []byte(lines), 0o600))
	out.Reset()
	require.NoError(t, list.print(&out))
	assert.Equal(t, "== left out:\n   mysql: no server\n   postgres: no server\n", out.String())

	require.NoError(t, list.missing(""))
	require.NoError(t, list.missing("post, kafka"))
	require.ErrorContains(t, list.missing("kafka, postgres"), "postgres was left out")
	require.NoError(t, list.remove())
	require.NoFileExists(t, list.file)
}
