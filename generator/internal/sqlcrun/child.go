package sqlcrun

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/sqlc-dev/sqlc/pkg/cli"
)

// childEnv names the configuration that a copy of this program is to compile, as nothing but sqlc.
const childEnv = "IDEMGEN_INTERNAL_SQLC"

// A copy of this program that was started by inChild becomes sqlc here, before any of the program's own code runs.
func init() {
	if config := os.Getenv(childEnv); config != "" {
		os.Exit(cli.Run(arguments(config)))
	}
}

// arguments are sqlc's for compiling a configuration. Nothing remote is ever asked.
func arguments(config string) []string {
	return []string{"generate", "--no-remote", "--file", config}
}

// inChild runs sqlc in a process of its own, where it may exit as it likes, and returns what it complains of: nothing
// where it has succeeded after all.
func inChild(ctx context.Context, config string) (complaints string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("sqlc refused the SQL, and its reasons cannot be had: %w", err)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(withoutSQLC(os.Environ()), childEnv+"="+config)
	cmd.Stderr = &stderr
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return "", nil
	case stderr.Len() == 0:
		return "", fmt.Errorf("sqlc refused the SQL, and its reasons cannot be had: %w", err)
	}
	return stderr.String(), nil
}

// withoutSQLC drops the variables that change what sqlc does or prints.
func withoutSQLC(env []string) []string {
	var out []string
	for _, v := range env {
		if !strings.HasPrefix(v, "SQLC") {
			out = append(out, v)
		}
	}
	return out
}
