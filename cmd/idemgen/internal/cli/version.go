package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/idemgen/idemgen/generator"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of idemgen, its runtime protocol, sqlc and Go",
		Long:  "Version prints which idemgen this is, which runtime its code needs, and which sqlc and Go it was built with.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError(cmd, "version takes no arguments")
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "idemgen %s (runtime protocol %d, sqlc %s, %s)\n",
				toolVersion(), generator.Protocol, generator.SQLCVersion(), runtime.Version())
			return err
		},
	}
}

// toolVersion is the version that the go command recorded, "(devel)" in a working tree.
func toolVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
