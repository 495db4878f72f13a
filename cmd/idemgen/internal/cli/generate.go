package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/idemgen/idemgen/generator"
)

func (a *app) generateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "generate [-C dir] [-tags list] [-tests] [packages]",
		Short: "Write what is missing or out of date (the default command)",
		Long: `Generate writes idem_gen.go and idemdb/ for the packages, by default the one in
the current folder. It prints one line per file written or removed, and nothing
where all is as it should be. Either everything is written, or, where anything is
wrong with the input, nothing.

With -tests each handler that has none yet gets a test, in idem_test.go, that
delivers its events as a bad queue does. What it cannot know is left to be filled
in, and until then it fails. A transition without a key gets none. A test file
that is there is yours: it is never changed, and never counts in check.`,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.generate(cmd.Context(), args) },
		ValidArgsFunction: completePackages,
	}
	a.packageFlags(cmd)
	a.testsFlag(cmd)
	return cmd
}

func (a *app) generate(ctx context.Context, patterns []string) error {
	result, err := a.run(ctx, generator.Generate, patterns)
	// Files that were written before a failure are told too.
	if result != nil {
		if err := a.printLines("wrote ", result.Written); err != nil {
			return err
		}
		if err := a.printLines("removed ", result.Removed); err != nil {
			return err
		}
		if err := a.printLines("kept ", result.Kept); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	for _, note := range result.Notes {
		if _, err := fmt.Fprintf(a.stderr, "idemgen: note: %s\n", note); err != nil {
			return err
		}
	}
	return a.printRuntimeGet(result)
}

// run calls the generator, with progress where somebody watches.
func (a *app) run(ctx context.Context, mode generator.Mode, patterns []string) (*generator.Result, error) {
	p := newProgress(a.stderr)
	defer p.end()
	return generator.Run(ctx, generator.Config{
		Dir: a.dir, Patterns: patterns, Tags: a.tags, Mode: mode, Replays: a.tests, Progress: p.report,
	})
}

func (a *app) printLines(prefix string, paths []string) error {
	for _, path := range paths {
		if _, err := fmt.Fprintf(a.stdout, "%s%s\n", prefix, a.relative(path)); err != nil {
			return err
		}
	}
	return nil
}

// printRuntimeGet says how to get the runtime where the user's module does not require it: the generated code does not
// compile without it, and go.mod is the user's to change.
func (a *app) printRuntimeGet(result *generator.Result) error {
	if result.RuntimeGet == "" {
		return nil
	}
	_, err := fmt.Fprintf(a.stderr, "idemgen: the generated code needs the runtime, which go.mod does not require yet; run\n\t%s\n",
		strings.ReplaceAll(strings.TrimRight(result.RuntimeGet, "\n"), "\n", "\n\t"))
	return err
}
