package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/idemgen/idemgen/generator"
)

func (a *app) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [-C dir] [-tags list] [packages]",
		Short: "Say what generate would change, for CI; writes nothing",
		Long: `Check compares what is on disk with what generate would write. It names each file
that is missing, changed or orphaned (its directives are gone), then shows what
has changed as a unified diff, and exits with 1 if there is anything. It writes
nothing.`,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.check(cmd.Context(), args) },
		ValidArgsFunction: completePackages,
	}
	a.packageFlags(cmd)
	return cmd
}

func (a *app) check(ctx context.Context, patterns []string) error {
	result, err := a.run(ctx, generator.Check, patterns)
	if err != nil {
		return err
	}
	if err := a.printRuntimeGet(result); err != nil {
		return err
	}
	if len(result.Changes) == 0 {
		return nil
	}
	if err := a.printChanges(result.Changes); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.stderr, "idemgen: %s not as generated; run idemgen and commit the result\n",
		files(len(result.Changes))); err != nil {
		return err
	}
	return errDiffers
}

// printChanges names all files before it shows the first difference, which may be long.
func (a *app) printChanges(changes []generator.Change) error {
	for _, c := range changes {
		if _, err := fmt.Fprintf(a.stdout, "%s %s\n", c.Kind, a.relative(c.Path)); err != nil {
			return err
		}
	}
	for _, c := range changes {
		if _, err := io.WriteString(a.stdout, c.Diff); err != nil {
			return err
		}
	}
	return nil
}

func files(n int) string {
	if n == 1 {
		return "1 file is"
	}
	return fmt.Sprintf("%d files are", n)
}
