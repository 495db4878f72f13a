package cli

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/idemgen/idemgen/generator"
)

func (a *app) graphCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "graph [-C dir] [-tags list] [-dot] [packages]",
		Short: "Draw the states of the columns that transitions are about",
		Long: `Graph prints the states of each column that transitions are about, and the changes
of state with the handlers that make them, as a Mermaid diagram, which code hosts
and editors draw. With -dot it is a graph for Graphviz; a change that no transition
makes is dashed there. It writes no file.`,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.graph(cmd.Context(), args) },
		ValidArgsFunction: completePackages,
	}
	a.packageFlags(cmd)
	cmd.Flags().BoolVar(&a.dot, "dot", false, "print a graph in the language of Graphviz")
	return cmd
}

func (a *app) graph(ctx context.Context, patterns []string) error {
	result, err := a.run(ctx, generator.List, patterns)
	if err != nil {
		return err
	}
	draw := mermaid
	if a.dot {
		draw = dot
	}
	if len(result.Graphs) == 0 {
		_, err := fmt.Fprintln(a.stderr, "idemgen: note: nothing to draw: there is no //idem:states and no //idem:transition")
		return err
	}
	var drawn []string
	for _, g := range result.Graphs {
		drawn = append(drawn, draw(g))
	}
	_, err = fmt.Fprint(a.stdout, strings.Join(drawn, "\n"))
	return err
}

// mermaid is a graph as a state diagram of Mermaid.
func mermaid(g generator.Graph) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntitle: %s\n---\nstateDiagram-v2\n", g.Column)
	ids := map[string]string{}
	for i, s := range g.States {
		ids[s] = s
		if !plainID.MatchString(s) || slices.Contains(mermaidWords, strings.ToLower(s)) {
			ids[s] = fmt.Sprintf("state%d", i+1)
			fmt.Fprintf(&b, "    state %q as %s\n", strings.ReplaceAll(s, `"`, "'"), ids[s])
		}
	}
	for _, s := range g.Initial {
		fmt.Fprintf(&b, "    [*] --> %s\n", ids[s])
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "    %s --> %s", ids[e.From], ids[e.To])
		if len(e.Handlers) > 0 {
			fmt.Fprintf(&b, ": %s", strings.Join(e.Handlers, ", "))
		}
		b.WriteString("\n")
	}
	for _, s := range g.Final {
		fmt.Fprintf(&b, "    %s --> [*]\n", ids[s])
	}
	return b.String()
}

// plainID matches a state that Mermaid reads as an identifier.
var plainID = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// mermaidWords are words of its language.
var mermaidWords = []string{"state", "note", "end", "direction", "class", "classdef", "style", "default", "hide", "scale", "as"}

// dot is a graph in the language of Graphviz.
func dot(g generator.Graph) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", strconv.Quote(g.Column))
	for _, s := range g.States {
		shape := "box"
		if slices.Contains(g.Final, s) {
			shape = "box, peripheries=2"
		}
		fmt.Fprintf(&b, "\t%s [shape=%s];\n", strconv.Quote(s), shape)
	}
	for i, s := range g.Initial {
		fmt.Fprintf(&b, "\tbegin%d [shape=point];\n\tbegin%d -> %s;\n", i+1, i+1, strconv.Quote(s))
	}
	for _, e := range g.Edges {
		how := "style=dashed"
		if len(e.Handlers) > 0 {
			how = "label=" + strconv.Quote(strings.Join(e.Handlers, `\n`))
		}
		fmt.Fprintf(&b, "\t%s -> %s [%s];\n", strconv.Quote(e.From), strconv.Quote(e.To), strings.ReplaceAll(how, `\\n`, `\n`))
	}
	b.WriteString("}\n")
	return b.String()
}
