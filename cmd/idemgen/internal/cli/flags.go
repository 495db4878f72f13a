package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// longFlags rewrites Go-style flags (-tags, -json=true) to the double dash that pflag wants. One letter is as it was:
// -C is -C.
func longFlags(args []string) []string {
	out := make([]string, 0, len(args))
	for i, arg := range args {
		if arg == "--" {
			return append(out, args[i:]...)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && len(name) > 1 && name[0] != '-' {
			arg = "-" + arg
		}
		out = append(out, arg)
	}
	return out
}

// flagError tells of a bad flag in the dress in which the help shows flags, with the nearest one that exists.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usageError(cmd, "%s", strings.ReplaceAll(err.Error(), "--", "-"))
	}
	given := unknown.GetSpecifiedName()
	if given == "version" || given == "v" {
		return usageError(cmd, "unknown flag -%s, did you mean idemgen version?", given)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := nearest(given, names); near != "" {
		return usageError(cmd, "unknown flag -%s, did you mean -%s?", given, near)
	}
	return usageError(cmd, "unknown flag -%s", given)
}

// usageError is an error about the command line: it ends by saying where to read on.
func usageError(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%s\n\thint: see %q", fmt.Sprintf(format, args...), cmd.Root().Name()+" help"+helpArg(cmd))
}

func helpArg(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return ""
	}
	return " " + cmd.Name()
}

// nearest is the name that given was probably meant to be; empty where none is near.
func nearest(given string, names []string) string {
	best, limit := "", (len(given)+1)/3
	for _, name := range names {
		if d := distance(strings.ToLower(given), strings.ToLower(name)); d <= limit {
			best, limit = name, d-1
		}
	}
	return best
}

// distance counts the insertions, deletions, changes and swaps of neighbours that lead from a to b.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
