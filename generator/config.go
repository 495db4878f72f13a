package generator

import (
	"fmt"
	"go/token"
	"io"

	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/directive"
	"github.com/idemgen/idemgen/generator/internal/gocode"
	"github.com/idemgen/idemgen/generator/internal/sqlcrun"
)

// Mode says what Run does with what it has rendered.
type Mode int

// The modes.
const (
	Generate Mode = iota // write what changed, remove what has lost its reason
	Check                // write nothing; Result.Changes tells what Generate would do
	List                 // render nothing; Result.Handlers tells what was found
)

// Config says what a run looks at and what it does.
type Config struct {
	// Dir is the directory that patterns are relative to; empty means the current one.
	Dir string
	// Patterns are package patterns as the go command takes them; none means ".".
	Patterns []string
	// Tags are build tags as for go build -tags.
	Tags string
	Mode Mode
	// Replays has Generate write a test for each handler that has none yet: one that the user fills in, and that is the user's.
	Replays bool
	// Env is the environment of the go command; nil means the process's own.
	Env []string
	// Progress, if set, is told the name of each stage as it begins. It is called from Run's goroutine.
	Progress func(stage string)
}

// Result is what a run without a fault found and did.
type Result struct {
	Handlers []HandlerInfo // by package path, then position
	Graphs   []Graph       // of the columns that transitions are about, by package path, then position
	Written  []string      // absolute paths of the files written, in order
	Removed  []string      // absolute paths of the files and folders removed, in order
	Kept     []string      // absolute paths of the files with tests that were there already, by package
	Changes  []Change      // of a Check: empty where everything is up to date
	// RuntimeGet is the command that adds the runtime to the user's module, ready to print; empty where it is there.
	// With several modules it is one line for each.
	RuntimeGet string
	// Notes are what a user may not have meant, in one line each: that this run has made a store where another one might
	// do, or that a handler's key or stored name is another one than before. Their paths are relative to Config.Dir. A run that writes nothing has none.
	Notes []string
	// Loads and SQLCRuns count the expensive steps: at most one of each in a run, whatever the number of packages.
	Loads, SQLCRuns int
}

// HandlerInfo is a handler as a list shows it.
type HandlerInfo struct {
	Name        string         `json:"name"`                  // the stored half of a row's identity
	Package     string         `json:"package"`               // import path
	Func        string         `json:"func"`                  // "Service.PlaceOrder"
	Key         string         `json:"key"`                   // "TenantID:string/OrderID:uuid"
	Fingerprint []string       `json:"fingerprint,omitempty"` // the labels of its parts
	Window      string         `json:"window"`                // as the user wrote it
	Mode        string         `json:"mode"`                  // "transaction", "lease", or "transition" for one that stores no key
	Transition  string         `json:"transition,omitempty"`  // "orders.status pending -> confirmed"
	Row         string         `json:"row,omitempty"`         // of a transition: "id:OrderID"
	OneRow      bool           `json:"one_row,omitempty"`     // that row= covers a primary or unique key
	Engine      string         `json:"engine"`                // "postgresql", "mysql" or "sqlite"
	Driver      string         `json:"driver"`                // "pgx" or "sql"
	Pos         token.Position `json:"-"`                     // of the name in its declaration; its Filename is absolute
}

// ChangeKind says what is wrong with a file.
type ChangeKind string

// The kinds of change.
const (
	Missing ChangeKind = "missing" // it would be created
	Changed ChangeKind = "changed" // it would be rewritten
	Orphan  ChangeKind = "orphan"  // it would be removed
)

// Change is one file that Generate would touch.
type Change struct {
	Path string // absolute
	Kind ChangeKind
	// Diff is unified, from what is there to what would be, with file names relative to Config.Dir. It is empty but for
	// Changed.
	Diff string
}

// Diagnostic is one fault in the user's source: position, stable code, cause and mend.
type Diagnostic = diag.Diagnostic

// DiagnosticsError is the error of a run that found faults in the user's source. Nothing was written.
type DiagnosticsError struct {
	Diagnostics []Diagnostic // in source order; never empty
}

// Error names the first fault and how many there are. PrintDiagnostics prints them all.
func (e *DiagnosticsError) Error() string {
	if len(e.Diagnostics) == 1 {
		return fmt.Sprintf("%s: %s", e.Diagnostics[0].Code, e.Diagnostics[0].Message)
	}
	return fmt.Sprintf("%s: %s (and %d more)", e.Diagnostics[0].Code, e.Diagnostics[0].Message, len(e.Diagnostics)-1)
}

// PrintDiagnostics writes diagnostics to w as "path:line:column: message [CODE]" and a hint, with paths relative to dir.
func PrintDiagnostics(w io.Writer, dir string, ds []Diagnostic) error { return diag.Print(w, dir, ds) }

// DirectivesHelp writes the help on directives and tags to w.
func DirectivesHelp(w io.Writer) error { return directive.Help(w) }

// DirectivesMarkdown writes the same as a page of documentation to w.
func DirectivesMarkdown(w io.Writer) error { return directive.Markdown(w) }

// DiagnosticsHelp writes what each code of a diagnostic means to w, one line each.
func DiagnosticsHelp(w io.Writer) error { return diag.Help(w) }

// ExplainDiagnostic is the meaning of a diagnostic's code, and false where there is no such code.
func ExplainDiagnostic(code string) (string, bool) { return diag.Explain(diag.Code(code)) }

// DiagnosticsMarkdown writes the page of documentation on the codes of diagnostics to w.
func DiagnosticsMarkdown(w io.Writer) error { return diag.Markdown(w) }

// Protocol is the number of the protocol that generated code expects of the runtime.
const Protocol = gocode.Protocol

// SQLCVersion is the version of sqlc that this build holds, such as "v1.31.1".
func SQLCVersion() string { return sqlcrun.Version() }
