package cli

import (
	"bytes"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProgressIsForTerminals(t *testing.T) {
	t.Parallel()
	file, err := os.Create(t.TempDir() + "/stderr")
	require.NoError(t, err)
	for _, w := range []io.Writer{&bytes.Buffer{}, file} {
		p := newProgress(w)
		assert.Nil(t, p)
		p.report("loading") // and a nil one is of no harm
		p.end()
	}
	require.NoError(t, file.Close())
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := startProgress(&out, time.Hour)
	p.report("loading")
	assert.Empty(t, out.String(), "a quick run is silent")
	p.appear()
	assert.Equal(t, "\r\x1b[Kidemgen: loading…", out.String())
	out.Reset()
	p.report("writing")
	assert.Equal(t, "\r\x1b[Kidemgen: writing…", out.String())
	out.Reset()
	p.end()
	assert.Equal(t, "\r\x1b[K", out.String(), "the line is gone")
	out.Reset()
	p.appear()
	assert.Empty(t, out.String(), "nothing after the end")
}
