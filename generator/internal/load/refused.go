package load

import (
	"bytes"
	"context"
	"errors"
	"go/token"
	"os/exec"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/diag"
)

// askGo reports folders whose packages the go command has not listed. Why it has not, packages.Load keeps to itself where
// it has asked for compiled packages, so the go command is asked again.
func askGo(ctx context.Context, cfg Config, flags []string, unknown []*folder, diags *diag.List) error {
	args := append([]string{"list", "-find"}, flags...)
	args = append(args, "--")
	for _, f := range unknown {
		args = append(args, f.dir)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = cfg.Dir
	cmd.Env = append(cfg.Env[:len(cfg.Env):len(cfg.Env)], "PWD="+cfg.Dir)
	_, err := cmd.Output()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(bytes.TrimSpace(exit.Stderr)) > 0 {
		goSaid(string(exit.Stderr), diags)
		return nil
	}
	for _, f := range unknown {
		diags.Add(f.hits[0].first, codeGo, "see what go list says of it", "the go command does not know the package of this file")
	}
	return nil
}

// goFailed reports that the go command has refused to list anything.
func goFailed(err error, diags *diag.List) {
	message := err.Error()
	if _, after, ok := strings.Cut(message, "stderr: "); ok {
		message = after
	}
	goSaid(message, diags)
}

// goSaid reports what the go command has said instead of listing packages.
func goSaid(message string, diags *diag.List) {
	message = strings.TrimSpace(message)
	for strings.HasPrefix(message, "go: downloading ") {
		_, message, _ = strings.Cut(message, "\n")
	}
	if strings.Contains(message, "requires go >= ") {
		diags.Add(token.Position{}, codeSkew, "install that release of Go, or set GOTOOLCHAIN=auto", "the go command is too old: %s", message)
		return
	}
	if strings.Contains(message, "\n") {
		message = "the go command cannot list the packages:\n" + message // what it says stays in one piece, below the code
	}
	diags.Add(token.Position{}, codeGo, "let go list ./... succeed first", "%s", message)
}
