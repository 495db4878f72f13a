package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = Run(t.Context(), args, strings.NewReader(""), &out, &errOut)
	return code, out.String(), errOut.String()
}

func TestVersion(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := run(t, "version")
	assert.Equal(t, exitOK, code)
	assert.Regexp(t, `^idemgen \S+ \(runtime protocol \d+, sqlc v\d+\.\d+\.\d+, go\S+\)\n$`, stdout)
	assert.Empty(t, stderr)
}

func TestHelpDirectives(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := run(t, "help", "directives")
	assert.Equal(t, exitOK, code)
	for _, want := range []string{"//idem:package", "//idem:handler", "window=", `idem:"key`} {
		assert.Contains(t, stdout, want)
	}
	assert.Empty(t, stderr)
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, stdout, stderr := run(t, "completion", shell)
		assert.Equal(t, exitOK, code, shell)
		assert.Contains(t, stdout, "idemgen", shell)
		assert.Empty(t, stderr, shell)
	}
	_, stdout, _ := run(t, "__complete", "help", "")
	assert.Contains(t, stdout, "directives\n")
}

// A stream that cannot be written to is trouble, not success.
func TestBrokenStdout(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version"}, {"help", "directives"}} {
		var stderr bytes.Buffer
		code := Run(t.Context(), args, strings.NewReader(""), brokenWriter{}, &stderr)
		assert.Equal(t, exitTrouble, code, args)
		assert.Contains(t, stderr.String(), "broken pipe", args)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errOut bytes.Buffer
	code := Run(ctx, []string{"-C", "../../../../generator", "./..."}, strings.NewReader(""), &out, &errOut)
	require.Equal(t, exitTrouble, code)
	assert.Contains(t, errOut.String(), "interrupted")
}
