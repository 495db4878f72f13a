package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

const rootLong = `idemgen makes Go handlers that a queue may call twice safe to call twice.

It reads the //idem: directives and idem tags of the packages and writes beside
them idem_gen.go (the guarded handlers) and idemdb/ (their SQL, compiled by sqlc).
Commit both. Files that are already right are not touched, and only files that
idemgen wrote are ever replaced or removed. go.mod is left alone.`

// rootCommand builds the whole command. Without a subcommand it is generate.
func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:               "idemgen [generate] [-C dir] [-tags list] [-tests] [packages]",
		Short:             "Generate idempotent wrappers for annotated handlers",
		Long:              rootLong,
		Args:              a.bareArgs,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.generate(cmd.Context(), args) },
		ValidArgsFunction: completePackages,
		SilenceErrors:     true,
		SilenceUsage:      true,
		TraverseChildren:  true, // idemgen -C dir check, as people know it from the go command
	}
	a.packageFlags(root)
	a.testsFlag(root)
	root.AddCommand(a.generateCommand(), a.checkCommand(), a.listCommand(), a.graphCommand(), a.versionCommand())
	root.SetHelpCommand(a.helpCommand())
	root.SetHelpFunc(a.printHelp)
	root.SetFlagErrorFunc(flagError)
	return root
}

// packageFlags adds the flags of everything that looks at packages. Each command has its own rather than inherits them,
// so that version and completion do not pretend to heed them.
func (a *app) packageFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&a.dir, "C", "C", "", "work in `dir`: packages and printed paths are relative to it")
	cmd.Flags().StringVar(&a.tags, "tags", "", "comma-separated `list` of build tags to load the packages with")
}

// testsFlag adds the flag of what writes.
func (a *app) testsFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.tests, "tests", false, "also write a test for each handler that has none, to be filled in")
}

// bareArgs refuses a misspelt command where bare idemgen would take it for a package. A package is written ./dir or by
// an import path, so a single word is either a command or a mistake.
func (a *app) bareArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || strings.ContainsAny(args[0], "./\\") {
		return nil
	}
	if near := nearest(args[0], commandNames(cmd)); near != "" {
		return usageError(cmd, "unknown command %q, did you mean %q?", args[0], near)
	}
	return usageError(cmd, "unknown command %q (packages are written ./dir or ./...)", args[0])
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Root().Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

// completePackages offers folders.
func completePackages(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
