package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/idemgen/idemgen/generator"
)

// The help topics that are no commands. The code of a diagnostic is one too.
const (
	directivesTopic  = "directives"
	diagnosticsTopic = "diagnostics"
)

func (a *app) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command | directives | diagnostics | CODE]",
		Short: "Explain a command, the directives and tags, or a diagnostic",
		Long: "Help explains a command; help directives lists every directive, its arguments and the tags;\n" +
			"help diagnostics lists what each code of a diagnostic means, and help IDEM004 tells one of them.",
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return topics(cmd), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.help(cmd.Root(), args) },
	}
}

func (a *app) help(root *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return root.Help()
	case len(args) > 1:
		return usageError(root, "help takes one topic")
	}
	switch args[0] {
	case directivesTopic:
		return generator.DirectivesHelp(a.stdout)
	case diagnosticsTopic:
		return generator.DiagnosticsHelp(a.stdout)
	}
	code := strings.ToUpper(args[0])
	if meaning, ok := generator.ExplainDiagnostic(code); ok {
		_, err := fmt.Fprintf(a.stdout, "%s: %s\n", code, meaning)
		return err
	}
	for _, cmd := range root.Commands() {
		if cmd.Name() == args[0] {
			return cmd.Help()
		}
	}
	if near := nearest(args[0], topics(root)); near != "" {
		return usageError(root, "no help on %q, did you mean %q?", args[0], near)
	}
	return usageError(root, "no help on %q", args[0])
}

// topics are the words that help explains, codes left out.
func topics(cmd *cobra.Command) []string {
	return append(commandNames(cmd), directivesTopic, diagnosticsTopic)
}

// printHelp is cobra's help in the dress of the go command: one dash before every flag.
func (a *app) printHelp(cmd *cobra.Command, _ []string) {
	var b strings.Builder
	b.WriteString(strings.TrimRight(cmd.Long, "\n") + "\n\nUsage:\n")
	fmt.Fprintf(&b, "  %s\n", usageLine(cmd))
	writeCommands(&b, cmd)
	writeFlags(&b, cmd)
	if !cmd.HasParent() {
		b.WriteString("\nExit codes: 0 all is well, 1 check found differences, 2 anything else.\n" +
			"\n\"idemgen help COMMAND\" explains a command, \"idemgen help directives\" the directives and tags,\n" +
			"\"idemgen help diagnostics\" the codes of what is reported.\n")
	}
	// Help has nowhere to report that its own output is gone.
	_, _ = io.WriteString(a.stdout, b.String())
}

func usageLine(cmd *cobra.Command) string {
	if cmd.HasParent() {
		return cmd.Parent().CommandPath() + " " + cmd.Use
	}
	return cmd.Use
}

func writeCommands(w io.Writer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	_, _ = io.WriteString(w, "\nCommands:\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			_, _ = fmt.Fprintf(t, "  %s\t%s\n", c.Name(), c.Short)
		}
	}
	_ = t.Flush()
}

func writeFlags(w io.Writer, cmd *cobra.Command) {
	title := "\nFlags:\n"
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		_, _ = fmt.Fprintf(t, "%s  -%s\t%s\n", title, strings.TrimSpace(f.Name+" "+value), usage)
		title = ""
	})
	_ = t.Flush()
}
