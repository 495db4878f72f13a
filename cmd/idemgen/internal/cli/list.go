package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/idemgen/idemgen/generator"
)

func (a *app) listCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list [-C dir] [-tags list] [-json] [packages]",
		Short: "List the handlers: name, key, window, mode and position",
		Long: `List shows every annotated handler of the packages: the name under which its rows
are stored, the fields of its key, how long a repeat is recognised, whether it runs
in a transaction or under a lease, and where it is declared. A transition without a
key is shown with the columns of its row. Below that it shows the states of each
column that transitions are about: where rows begin and end, which states they can
come back to or no way leads to, and which changes no transition makes. It writes
nothing.`,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.list(cmd.Context(), args) },
		ValidArgsFunction: completePackages,
	}
	a.packageFlags(cmd)
	cmd.Flags().BoolVar(&a.json, "json", false, "print a JSON array instead of a table")
	return cmd
}

// listed is a handler in the output of list -json: a contract with the scripts that read it.
type listed struct {
	Handler     string   `json:"handler"` // the name under which its rows are stored
	Package     string   `json:"package"` // import path
	Func        string   `json:"func"`    // "Service.PlaceOrder"
	Key         string   `json:"key"`     // "TenantID:string/OrderID:uuid"
	Fingerprint []string `json:"fingerprint,omitempty"`
	Window      string   `json:"window"`
	Mode        string   `json:"mode"`
	Transition  string   `json:"transition,omitempty"` // "orders.status pending -> confirmed"
	Row         string   `json:"row,omitempty"`        // "id:OrderID"
	OneRow      bool     `json:"one_row,omitempty"`    // that row= covers a primary or unique key
	Engine      string   `json:"engine"`
	Driver      string   `json:"driver"`
	File        string   `json:"file"`
	Line        int      `json:"line"`
	Column      int      `json:"column"`
}

func (a *app) list(ctx context.Context, patterns []string) error {
	result, err := a.run(ctx, generator.List, patterns)
	if err != nil {
		return err
	}
	handlers := make([]listed, 0, len(result.Handlers))
	for _, h := range result.Handlers {
		handlers = append(handlers, listed{
			Handler: h.Name, Package: h.Package, Func: h.Func, Key: h.Key, Fingerprint: h.Fingerprint,
			Window: h.Window, Mode: h.Mode, Transition: h.Transition, Row: h.Row, OneRow: h.OneRow,
			Engine: h.Engine, Driver: h.Driver,
			File: a.relative(h.Pos.Filename), Line: h.Pos.Line, Column: h.Pos.Column,
		})
	}
	if a.json {
		enc := json.NewEncoder(a.stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "\t")
		return enc.Encode(handlers)
	}
	if err := a.printTable(handlers); err != nil {
		return err
	}
	return a.printStates(result.Graphs)
}

func (a *app) printTable(handlers []listed) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	if _, err := fmt.Fprintln(w, "HANDLER\tKEY\tWINDOW\tMODE\tPOSITION"); err != nil {
		return err
	}
	for _, h := range handlers {
		if h.Key == "" {
			h.Key, h.Window = h.Row, "-"
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s:%d:%d\n",
			h.Handler, h.Key, h.Window, h.Mode, h.File, h.Line, h.Column); err != nil {
			return err
		}
	}
	return w.Flush()
}

// printStates shows what there is to know of the machines: where they begin and end, and what leads nowhere.
func (a *app) printStates(graphs []generator.Graph) error {
	for _, g := range graphs {
		var unmade []string
		for _, e := range g.Edges {
			if len(e.Handlers) == 0 {
				unmade = append(unmade, e.From+" -> "+e.To)
			}
		}
		if _, err := fmt.Fprintf(a.stdout, "\nSTATES of %s  %s:%d:%d\n", g.Column, a.relative(g.Pos.Filename), g.Pos.Line, g.Pos.Column); err != nil {
			return err
		}
		for _, line := range []struct {
			what  string
			which []string
		}{
			{"begin in", g.Initial},
			{"end in", g.Final},
			{"come back to", g.Again},
			{"unreachable", g.Unreachable},
			{"no transition", unmade},
		} {
			if len(line.which) == 0 {
				continue
			}
			if _, err := fmt.Fprintf(a.stdout, "  %-14s %s\n", line.what, strings.Join(line.which, ", ")); err != nil {
				return err
			}
		}
	}
	return nil
}
