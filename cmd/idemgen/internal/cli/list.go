package cli

import (
	"context"
	"encoding/json"
	"fmt"
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
in a transaction or under a lease, and where it is declared. It writes nothing.`,
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
			Window: h.Window, Mode: h.Mode, Engine: h.Engine, Driver: h.Driver,
			File: a.relative(h.Pos.Filename), Line: h.Pos.Line, Column: h.Pos.Column,
		})
	}
	if a.json {
		enc := json.NewEncoder(a.stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "\t")
		return enc.Encode(handlers)
	}
	return a.printTable(handlers)
}

func (a *app) printTable(handlers []listed) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	if _, err := fmt.Fprintln(w, "HANDLER\tKEY\tWINDOW\tMODE\tPOSITION"); err != nil {
		return err
	}
	for _, h := range handlers {
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s:%d:%d\n",
			h.Handler, h.Key, h.Window, h.Mode, h.File, h.Line, h.Column); err != nil {
			return err
		}
	}
	return w.Flush()
}
