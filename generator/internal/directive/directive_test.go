package directive

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/generator/internal/diag"
)

// read parses src and returns its directives and diagnostics, each as one line.
func read(t *testing.T, src string) (placed, faults []string) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "a.go", src, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	var diags diag.List
	for _, p := range File(fset, f, &diags) {
		placed = append(placed, show(p))
	}
	for _, d := range diags.Sorted() {
		faults = append(faults, fmt.Sprintf("%d:%d %s %s | %s", d.Pos.Line, d.Pos.Column, d.Code, d.Message, d.Hint))
	}
	return placed, faults
}

func show(p Placed) string {
	where := "package"
	switch {
	case p.Func != nil:
		where = p.Func.Name.Name
	case p.Method != nil:
		where = p.Iface.Name.Name + "." + p.Method.Names[0].Name
	}
	s := fmt.Sprintf("%d:%d %s on %s", p.Pos.Line, p.Pos.Column, p.Verb, where)
	for _, a := range p.Args {
		s += fmt.Sprintf(" %s@%d=%q@%d", a.Name, a.Pos.Column, a.Value, a.ValuePos.Column)
	}
	return s
}

func TestFilePlaces(t *testing.T) {
	t.Parallel()
	placed, faults := read(t, `//idem:package engine=sqlite out="a b"
package orders

import "context"

// PlaceOrder places.
//
//idem:handler window=24h key=A.B,GetC() inflight=fail
func PlaceOrder(ctx context.Context) error { return nil }

type Handlers interface {
	//idem:handler   window=7d	name=x/y
	Confirm(ctx context.Context) error
	// Cancel is not annotated.
	Cancel(ctx context.Context) error
}

type (
	Others interface {
		//idem:handler window=forever
		Ship(ctx context.Context) error
	}
	Parens (interface {
		//idem:handler window=1m
		Return(ctx context.Context) error
	})
)

//idem:handler window=1d12h
//go:noinline
func (Service) Pay(ctx context.Context) error { return nil }

type Service struct{}
`)
	assert.Empty(t, faults)
	assert.Equal(t, []string{
		`1:1 package on package engine@16="sqlite"@23 out@30="a b"@35`,
		`8:1 handler on PlaceOrder window@16="24h"@23 key@27="A.B,GetC()"@31 inflight@42="fail"@51`,
		`12:2 handler on Handlers.Confirm window@19="7d"@26 name@29="x/y"@34`,
		`20:3 handler on Others.Ship window@18="forever"@25`,
		`24:3 handler on Parens.Return window@18="1m"@25`,
		`29:1 handler on Pay window@16="1d12h"@23`,
	}, placed)
}

// The package's directive may stand at any top level: its own group, a doc comment, the end of the file.
func TestFilePackagePlaces(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"package's doc":     "// Package p.\n//\n//idem:package engine=sqlite\npackage p\n",
		"before the doc":    "//idem:package engine=sqlite\n\n// Package p.\npackage p\n",
		"own group":         "package p\n\n//idem:package engine=sqlite\n\nvar x int\n",
		"a function's doc":  "package p\n\n//idem:package engine=sqlite\nfunc F() {}\n",
		"a type's doc":      "package p\n\n//idem:package engine=sqlite\ntype T int\n",
		"an import's doc":   "package p\n\n//idem:package engine=sqlite\nimport \"fmt\"\n\nvar _ = fmt.Sprint\n",
		"end of the file":   "package p\n\nvar x int\n\n//idem:package engine=sqlite",
		"nothing else":      "package p\n\n//idem:package engine=sqlite\n",
		"below a decl":      "package p\n\nvar x int\n//idem:package engine=sqlite\n",
		"carriage returns":  "package p\r\n\r\n//idem:package engine=sqlite\r\n\r\nvar x int\r\n",
		"byte order mark":   "\ufeffpackage p\n\n//idem:package engine=sqlite\n",
		"without arguments": "package p\n\n//idem:package\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			placed, faults := read(t, src)
			assert.Empty(t, faults)
			require.Len(t, placed, 1)
			assert.Contains(t, placed[0], "package on package")
		})
	}
}

func TestFileMisplaced(t *testing.T) {
	t.Parallel()
	const h = "//idem:handler window=24h"
	const above = "put it directly above a function, a method, or a method of an interface"
	const ownLine = "put it on a line of its own, directly above a function, a method, or a method of an interface"
	for name, c := range map[string]struct{ src, want string }{
		"type":            {"package p\n\n" + h + "\ntype T struct{}\n", "3:1 IDEM003 //idem:handler cannot stand on type T | " + above},
		"interface":       {"package p\n\n" + h + "\ntype T interface{ M() }\n", "3:1 IDEM003 //idem:handler cannot stand on type T | put it above each method of T that is a handler"},
		"var":             {"package p\n\n" + h + "\nvar x = func() {}\n", "3:1 IDEM003 //idem:handler cannot stand on var x | " + above},
		"const":           {"package p\n\n" + h + "\nconst x = 1\n", "3:1 IDEM003 //idem:handler cannot stand on const x | " + above},
		"import":          {"package p\n\n" + h + "\nimport _ \"fmt\"\n", "3:1 IDEM003 //idem:handler cannot stand on an import | " + above},
		"imports":         {"package p\n\n" + h + "\nimport (\n_ \"fmt\"\n)\n", "3:1 IDEM003 //idem:handler cannot stand on an import | " + above},
		"import spec":     {"package p\n\nimport (\n\t" + h + "\n\t_ \"fmt\"\n)\n", "4:2 IDEM003 //idem:handler cannot stand on an import | " + above},
		"behind import":   {"package p\n\nimport _ \"fmt\" " + h + "\n", "3:16 IDEM003 //idem:handler cannot stand behind an import | " + ownLine},
		"spec in parens":  {"package p\n\nvar (\n\t" + h + "\n\tx = 1\n)\n", "4:2 IDEM003 //idem:handler cannot stand on var x | " + above},
		"type in parens":  {"package p\n\ntype (\n\t" + h + "\n\tT int\n)\n", "4:2 IDEM003 //idem:handler cannot stand on type T | " + above},
		"package clause":  {h + "\npackage p\n", "1:1 IDEM003 //idem:handler cannot stand above the package clause | " + above},
		"behind package":  {"package p " + h + "\n", "1:11 IDEM003 //idem:handler cannot stand behind the package clause | " + ownLine},
		"body":            {"package p\n\nfunc F() {\n\t" + h + "\n\tprintln()\n}\n", "4:2 IDEM003 //idem:handler cannot stand inside func F | put it directly above func F"},
		"literal in body": {"package p\n\nvar _ = func() {\n\t" + h + "\n}\n", "4:2 IDEM003 //idem:handler cannot stand inside var _ | " + above},
		"parameters":      {"package p\n\nfunc F(\n\t" + h + "\n\tx int) {}\n", "4:2 IDEM003 //idem:handler cannot stand inside func F | " + above},
		"behind func":     {"package p\n\nfunc F() {} " + h + "\n", "3:13 IDEM003 //idem:handler cannot stand behind func F | " + ownLine},
		"blank line":      {"package p\n\n" + h + "\n\n// F does.\nfunc F() {}\n", "3:1 IDEM003 //idem:handler cannot stand apart from func F | put it directly above func F, without a blank line between them"},
		"far from a type": {"package p\n\n" + h + "\n\ntype T int\n", "3:1 IDEM003 //idem:handler cannot stand apart from type T | " + above},
		"end of file":     {"package p\n\nfunc F() {}\n\n" + h, "5:1 IDEM003 //idem:handler cannot stand at the end of the file | " + above},
		"struct field":    {"package p\n\ntype T struct {\n\t" + h + "\n\tF func()\n}\n", "4:2 IDEM003 //idem:handler cannot stand inside type T | " + above},
		"embedded":        {"package p\n\ntype T interface {\n\t" + h + "\n\tfmt.Stringer\n}\n", "4:2 IDEM003 //idem:handler cannot stand on an embedded interface | put it above the methods where they are declared"},
		"behind method":   {"package p\n\ntype T interface {\n\tM() " + h + "\n}\n", "4:6 IDEM003 //idem:handler cannot stand behind method M | " + ownLine},
		"alias":           {"package p\n\ntype T = interface {\n\t" + h + "\n\tM()\n}\n", "4:2 IDEM003 //idem:handler cannot stand in the alias T | declare type T interface, without the ="},
		"inner interface": {"package p\n\ntype T struct {\n\tI interface {\n\t\t" + h + "\n\t\tM()\n\t}\n}\n", "5:3 IDEM003 //idem:handler cannot stand inside type T | " + above},
		"several consts":  {"package p\n\n" + h + "\nconst (\na=1\nb=2\n)\n", "3:1 IDEM003 //idem:handler cannot stand on a const declaration | " + above},
		"package in body": {"package p\n\nfunc F() {\n\t//idem:package engine=sqlite\n}\n", "4:2 IDEM003 //idem:package cannot stand inside func F | put it on a line of its own at the top level of the file, outside of every declaration"},
		"package behind":  {"package p //idem:package engine=sqlite\n", "1:11 IDEM003 //idem:package cannot stand behind the package clause | put it on a line of its own at the top level of the file, outside of every declaration"},
		"package on spec": {"package p\n\ntype (\n\t//idem:package engine=sqlite\n\tT int\n)\n", "4:2 IDEM003 //idem:package cannot stand on type T | put it on a line of its own at the top level of the file, outside of every declaration"},
		"repeated":        {"package p\n\n" + h + "\n//idem:handler window=7d\nfunc F() {}\n", "4:1 IDEM005 //idem:handler is repeated; first in line 3 | keep one of the two"},
		"two packages":    {"//idem:package engine=sqlite\npackage p\n\n//idem:package engine=sqlite\n", "4:1 IDEM005 //idem:package is repeated; first in line 1 | keep one of the two"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, faults := read(t, c.src)
			assert.Equal(t, []string{c.want}, faults)
		})
	}
}

// A loader empties bodies to save time; what stood inside is still inside.
func TestFileEmptiedBody(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "a.go", "package p\n\nfunc F() {\n\t//idem:handler window=24h\n\tprintln()\n}\n", parser.ParseComments)
	require.NoError(t, err)
	f.Decls[0].(*ast.FuncDecl).Body.List = nil
	var diags diag.List
	assert.Empty(t, File(fset, f, &diags))
	require.Equal(t, 1, diags.Len())
	assert.Equal(t, "//idem:handler cannot stand inside func F", diags.Sorted()[0].Message)
}

// Each source gives one fault, however its line ends.
const writeTransition = "write //idem:transition orders.status pending -> confirmed row=id:OrderID"

// transitionFault is that of a directive with nothing behind its verb, which lacks an argument too.
func transitionFault(first string) string { return first + " | " + writeTransition }

// A change may be written with and without spaces, with alternatives, and with quotes around what is no word.
func TestChange(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`orders.status pending -> confirmed row=id:ID`: `orders.status@19 [pending@33] [confirmed@44]`,
		`billing.orders.status a|b->c row=id:ID`:       `billing.orders.status@19 [a@41 b@43] [c@46]`,
		"a.b `x y` | \"->\" -> in-transit row=id:ID":   `a.b@19 [x y@23 ->@31] [in-transit@39]`,
		`a.b to -> from row=id:ID version=v set=c:D`:   `a.b@19 [to@23] [from@29]`,
	} {
		var diags diag.List
		src := "package p\n\n//idem:transition " + text + "\nfunc F() {}\n"
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "p.go", src, parser.ParseComments)
		require.NoError(t, err)
		placed := File(fset, f, &diags)
		require.Empty(t, diags.Sorted(), text)
		require.Len(t, placed, 1)
		c := placed[0].Change
		got := fmt.Sprintf("%s@%d", c.Column, c.Column.Pos.Column)
		for _, step := range c.Steps {
			var states []string
			for _, s := range step {
				states = append(states, fmt.Sprintf("%s@%d", s.Name, s.Pos.Column))
			}
			got += " [" + strings.Join(states, " ") + "]"
		}
		assert.Equal(t, want, got, text)
	}
}

func TestFileFaults(t *testing.T) {
	t.Parallel()
	const prose = "comments that begin with idem: are directives, as in //idem:handler window=24h; if this is prose, let the line begin with another word"
	const noName = "arguments are written name=value; a comment goes on a line of its own"
	const window = "say how long a repeat must be recognised, as in window=24h, window=7d or window=forever: only the business knows it"
	for _, c := range []struct{ comment, want string }{
		// spelling
		{"// idem:handler window=24h", "3:1 IDEM002 this directive has a space before idem: | write //idem:handler window=24h"},
		{"//\tidem:handler window=24h", "3:1 IDEM002 this directive has a space before idem: | write //idem:handler window=24h"},
		{"// idem: handler window=24h", "3:1 IDEM002 this directive has a space before idem: | write //idem:handler window=24h"},
		{"// idem: handler", "3:1 IDEM002 this directive has a space before idem: | write //idem:handler"},
		{"//idem: handler window=24h", "3:1 IDEM002 this directive has a space after the colon | write //idem:handler window=24h"},
		{"//idem : handler window=24h", "3:1 IDEM002 this directive has a space before the colon | write //idem:handler window=24h"},
		{"//idem :handler window=24h", "3:1 IDEM002 this directive has a space before the colon | write //idem:handler window=24h"},
		{"//Idem:handler window=24h", "3:1 IDEM002 this directive is not in lower case | write //idem:handler window=24h"},
		{"//IDEM:HANDLER window=24h", "3:1 IDEM002 this directive is not in lower case | write //idem:handler window=24h"},
		{"//idem:Handler window=24h", "3:1 IDEM002 this directive is not in lower case | write //idem:handler window=24h"},
		{"//+idem:handler window=24h", "3:1 IDEM002 this directive has + before idem: | write //idem:handler window=24h"},
		{"// @idem:handler window=24h", "3:1 IDEM002 this directive has @ before idem: | write //idem:handler window=24h"},
		{"/*idem:handler window=24h*/", "3:1 IDEM002 this directive is in a block comment | write //idem:handler window=24h"},
		{"/* idem:handler window=24h */", "3:1 IDEM002 this directive is in a block comment | write //idem:handler window=24h"},
		{"/*\n * idem:handler window=24h\n */", "4:4 IDEM002 this directive is in a block comment | write //idem:handler window=24h"},
		{"/* idem:whatever */", "3:1 IDEM002 this directive is in a block comment | " + prose},
		{"// idem:hadnler window=24h", "3:1 IDEM002 this directive has a space before idem: | write //idem:handler window=24h"},
		{"// idem:transition a.b x -> y", "3:1 IDEM002 this directive has a space before idem: | write //idem:transition a.b x -> y"},
		{"// idem:zzz is a word", "3:1 IDEM002 this directive has a space before idem: | " + prose},
		{"//idem:handler(window=24h)", `3:1 IDEM002 //idem:handler is followed by "(" instead of a space | write //idem:handler window=24h`},
		{"//idem:handler,window=24h", `3:1 IDEM002 //idem:handler is followed by "," instead of a space | write //idem:handler window=24h`},
		{"///idem:handler window=24h", "3:1 IDEM002 this directive begins with ///idem: and not with //idem: | write //idem:handler window=24h"},
		{"//idem handler window=24h", "3:1 IDEM002 this directive begins with //idem and not with //idem: | write //idem:handler window=24h"},
		{"//idem.handler window=24h", "3:1 IDEM002 this directive begins with //idem. and not with //idem: | write //idem:handler window=24h"},
		{"//IDEM-handler\twindow=24h", "3:1 IDEM002 this directive begins with //IDEM- and not with //idem: | write //idem:handler window=24h"},
		{"//idemgen:handler window=24h", "3:1 IDEM002 this directive begins with //idemgen: and not with //idem: | write //idem:handler window=24h"},
		{"// idemgen:handler window=24h", "3:1 IDEM002 this directive begins with //idemgen: and not with //idem: | write //idem:handler window=24h"},
		{"//idem-handler", "3:1 IDEM002 this directive begins with //idem- and not with //idem: | write //idem:handler"},
		{"//idemgen:handler", "3:1 IDEM002 this directive begins with //idemgen: and not with //idem: | write //idem:handler"},
		// verbs
		{"//idem:hadnler window=24h", "3:1 IDEM001 unknown directive //idem:hadnler | did you mean handler?"},
		{"//idem:handlers window=24h", "3:1 IDEM001 unknown directive //idem:handlers | did you mean handler?"},
		{"//idem:pkg engine=sqlite", "3:1 IDEM001 unknown directive //idem:pkg | there are: package, handler, transition, states"},
		{"//idem:", "3:1 IDEM001 //idem: names no directive | there are: package, handler, transition, states"},
		{"//idem:consume kafka", "3:1 IDEM015 //idem:consume is not supported yet | remove it; this release has //idem:package, //idem:handler, //idem:transition, //idem:states"},
		// changes of state
		{"//idem:transition", transitionFault("3:18 IDEM300 //idem:transition has no column")},
		{"//idem:transition row=id:ID", "3:18 IDEM300 //idem:transition has no column | " + writeTransition},
		{"//idem:transition orders.status row=id:ID", "3:32 IDEM300 //idem:transition ends without a state | " + writeTransition},
		{"//idem:transition orders.status pending row=id:ID", "3:33 IDEM300 //idem:transition has no -> | " + writeTransition},
		{"//idem:transition orders pending -> confirmed row=id:ID", `3:19 IDEM300 "orders" is not a column | write the table and the column that holds the state, as in orders.status, or with a schema billing.orders.status`},
		{"//idem:transition a.b.c.d x -> y row=id:ID", `3:19 IDEM300 "a.b.c.d" is not a column | write the table and the column that holds the state, as in orders.status, or with a schema billing.orders.status`},
		{"//idem:transition -> x row=id:ID", "3:19 IDEM300 //idem:transition begins with a column, as in orders.status | " + writeTransition},
		{"//idem:transition a.b -> y row=id:ID", "3:23 IDEM300 there is no state before the -> | " + writeTransition},
		{"//idem:transition a.b x -> row=id:ID", "3:27 IDEM300 //idem:transition ends without a state | " + writeTransition},
		{"//idem:transition a.b x| -> y row=id:ID", "3:26 IDEM300 there is no state before the -> | " + writeTransition},
		{"//idem:transition a.b x => y row=id:ID", `3:25 IDEM300 "=>" is not an arrow | write ->`},
		{"//idem:transition a.b x --> y row=id:ID", `3:25 IDEM300 "-->" is not an arrow | write ->`},
		{"//idem:transition a.b x → y row=id:ID", `3:25 IDEM300 "→" is not an arrow | write ->`},
		{"//idem:transition a.b x - > y row=id:ID", `3:25 IDEM300 "-" is not an arrow | write ->`},
		{"//idem:transition a.b x to y row=id:ID", `3:25 IDEM300 "to" is not an arrow | write ->`},
		{"//idem:transition a.b x <- y row=id:ID", `3:25 IDEM300 "<-" is not an arrow | write ->`},
		{"//idem:transition a.b x=>y row=id:ID", `3:24 IDEM300 "x=>y" has an arrow in it that is none | write ->; or quote the state, if it is called so`},
		{"//idem:transition a.b x,y -> z row=id:ID", `3:24 IDEM300 there is a comma in "x,y" | write | between the states that a transition may begin in`},
		{"//idem:transition a.b in transit -> z row=id:ID", `3:26 IDEM300 "transit" follows a state | write -> or | before it; a state with a space in it is quoted: "in transit"`},
		{"//idem:transition a.b x -> y|z row=id:ID", "3:30 IDEM300 a transition leads to one state | write one //idem:transition for each, each on a handler of its own"},
		{"//idem:transition a.b x -> y -> z row=id:ID", "3:33 IDEM300 a transition has one -> | write one //idem:transition for each step, each on a handler of its own"},
		{"//idem:transition a.b x|x -> y row=id:ID", "3:25 IDEM300 x is named twice | remove one"},
		{"//idem:transition a.b x|y -> y row=id:ID", "3:30 IDEM301 y -> y leads from a state to itself | remove it: what does not change the state is no transition"},
		{`//idem:transition a.b "x -> y row=id:ID`, `3:23 IDEM010 the quote of a state does not end | end it with "`},
		{`//idem:transition a.b "" -> y row=id:ID`, "3:23 IDEM300 a state is empty | name the state"},
		{"//idem:transition a.b x -> y", "3:1 IDEM008 //idem:transition has no row | say which row the event is about, as in row=id:OrderID, or row=tenant_id:TenantID,id:OrderID"},
		{"//idem:transition a.b x -> y row=OrderID", `3:34 IDEM014 "OrderID" is not column:Path | write the column, a colon, and the field that it is compared with, as in id:OrderID`},
		{"//idem:transition a.b x -> y row=a.id:OrderID", `3:35 IDEM014 "a.id" is not the name of a column | write the column's name alone, as in id:OrderID`},
		{"//idem:transition a.b x -> y row=id:Order-ID", `3:37 IDEM014 "Order-ID" is not the name of a field, parameter or getter | ` + pathHint},
		{"//idem:transition a.b x -> y row=id:ID version=a.version", `3:49 IDEM014 "a.version" is not the name of a column | write the column's name alone, as in version=version`},
		{"//idem:transition a.b x -> y row=id:ID windw=24h", `3:40 IDEM004 unknown argument "windw" of //idem:transition | there are: row, version, expect, set`},
		{"//idem:transition a.b x -> y row=id:ID window=24h", `3:40 IDEM004 unknown argument "window" of //idem:transition | window= belongs to //idem:handler`},
		{"//idem:states a.b x -> y", "3:1 IDEM003 //idem:states cannot stand on func F | put it directly above the type of the states, or apart from every declaration, at the top level of the file"},
		// arguments
		{"//idem:handler windw=24h", `3:16 IDEM004 unknown argument "windw" of //idem:handler | did you mean window?`},
		{"//idem:handler Window=24h", `3:16 IDEM004 unknown argument "Window" of //idem:handler | did you mean window?`},
		{"//idem:handler --window=24h", `3:16 IDEM004 unknown argument "--window" of //idem:handler | did you mean window?`},
		{"//idem:handler window=24h engine=sqlite", `3:27 IDEM004 unknown argument "engine" of //idem:handler | engine= belongs to //idem:package`},
		{"//idem:handler window=24h ttl=5m", `3:27 IDEM004 unknown argument "ttl" of //idem:handler | there are: window, name, key, inflight, lease, expired`},
		{"//idem:handler window=24h lease=500ms", `3:33 IDEM013 lease "500ms" is under a second | ` + leaseHint},
		{"//idem:handler window=24h lease=-3s", `3:33 IDEM013 lease "-3s" is under a second | ` + leaseHint},
		{"//idem:handler window=24h lease=forever", `3:33 IDEM013 lease "forever" is not a duration | ` + leaseHint},
		{"//idem:handler window=24h lease=30", `3:33 IDEM013 lease "30" has no unit | ` + leaseHint},
		{"//idem:handler window=24h lease=30s expired=never", `3:45 IDEM012 unknown expired "never" | there are: retry, park`},
		{"//idem:handler window=24h keyversion=2", `3:27 IDEM015 argument keyversion of //idem:handler is not supported yet | remove it`},
		{"//idem:handler window=24h compat=1", `3:27 IDEM015 argument compat of //idem:handler is not supported yet | remove it`},
		{"//idem:package driver=lib/pq", `3:23 IDEM012 unknown driver "lib/pq" | there are: pgx, sql`},
		{"//idem:handler window = 24h", "3:16 IDEM006 there are spaces around the = of window | write window=24h"},
		{"//idem:handler window= 24h", "3:16 IDEM006 there are spaces around the = of window | write window=24h"},
		{"//idem:handler window =24h", "3:16 IDEM006 there are spaces around the = of window | write window=24h"},
		{"//idem:handler window:24h", `3:16 IDEM006 "window:24h" is not an argument | write window=24h`},
		{`//idem:handler window:"24h"`, `3:16 IDEM006 "window:\"24h\"" is not an argument | write window=24h`},
		{"//idem:handler window: 24h", `3:16 IDEM006 "window: 24h" is not an argument | write window=24h`},
		{"//idem:handler window: 24 hours name=x", `3:16 IDEM006 "window: 24" is not an argument | write window=24h`},
		{"//idem:handler key: ID window=24h", `3:16 IDEM006 "key: ID" is not an argument | write key=ID`},
		{"//idem:handler window:", `3:16 IDEM006 "window:" is not an argument | write window=DURATION|forever`},
		{"//idem:handler 24h", `3:16 IDEM006 "24h" is not an argument | write window=24h`},
		{"//idem:handler forever name=x", `3:16 IDEM006 "forever" is not an argument | write window=forever`},
		{"//idem:handler 24 hours", `3:16 IDEM006 "24" is not an argument | write window=24h`},
		{"//idem:handler 24h window=7d", `3:16 IDEM006 "24h" is not an argument | ` + noName},
		{"//idem:handler ttl=24h", `3:16 IDEM004 unknown argument "ttl" of //idem:handler | write window=24h`},
		{"//idem:handler retention=2weeks", `3:16 IDEM004 unknown argument "retention" of //idem:handler | write window=14d`},
		{"//idem:handler window=24 hours", `3:23 IDEM013 window "24 hours" is not a duration | write window=24h`},
		{"//idem:handler window=24hours", `3:23 IDEM013 window "24hours" is not a duration | write window=24h`},
		{"//idem:handler window=1week", `3:23 IDEM013 window "1week" is not a duration | write window=7d`},
		{"//idem:handler window=24h key=ID, Name", `3:27 IDEM006 there are spaces in key's list | write key=ID,Name`},
		{"//idem:handler key=A, B ,C name=x window=24h", `3:16 IDEM006 there are spaces in key's list | write key=A,B,C`},
		{"//idem:handler window=24h and so on", `3:27 IDEM006 "and" is not an argument | ` + noName},
		{"//idem:handler window=24h =x", "3:27 IDEM006 there is no name before the = | arguments are written name=value"},
		{"//idem:handler window=24h, name=x", `3:26 IDEM006 window's value ends with "," | arguments are separated by spaces: write window=24h`},
		{"//idem:handler window=24h key=A,", `3:32 IDEM006 key's value ends with "," | write key=A`},
		{"//idem:handler window=24h window=7d", "3:27 IDEM007 window is given twice; first at column 16 | remove one of the two"},
		{"//idem:handler", "3:1 IDEM008 //idem:handler has no window | " + window},
		{"//idem:handler name=x", "3:1 IDEM008 //idem:handler has no window | " + window},
		{"//idem:handler window=", "3:16 IDEM009 window has no value | write window=DURATION|forever, or leave it out"},
		{"//idem:handler window= name=x", "3:16 IDEM009 window has no value | write window=DURATION|forever, or leave it out"},
		{`//idem:handler window=""`, "3:16 IDEM009 window has no value | write window=DURATION|forever, or leave it out"},
		{`//idem:handler window=24h name=" "`, "3:27 IDEM009 name has no value | write name=NAME, or leave it out"},
		{`//idem:package schema="a b.sql`, `3:23 IDEM010 the quote of schema's value does not end | end it with "`},
		{"//idem:package schema=`a b.sql", "3:23 IDEM010 the quote of schema's value does not end | end it with `"},
		{`//idem:package schema="a\q.sql"`, `3:23 IDEM010 schema's value is not a Go string | in quotes, \ begins an escape: write \\ for a backslash`},
		{`//idem:package schema="a"b.sql`, `3:26 IDEM010 "b" follows schema's closing quote | quote the whole value, and separate arguments by spaces`},
		{`//idem:package schema=a" b.sql"`, `3:24 IDEM010 there is a quote in the middle of schema's value | quote the whole value, as in schema="a b"`},
		{`//idem:package schema='a b.sql'`, `3:23 IDEM010 ' does not quote a value | quote with "`},
		{`//idem:package schema=“a b.sql”`, `3:23 IDEM010 “ does not quote a value | quote with "`},
		{"//idem:handler window=24h // why", "3:27 IDEM011 //idem:handler cannot be followed by a comment on its line | put the comment on a line of its own"},
		{"//idem:handler window=24h # why", "3:27 IDEM011 //idem:handler cannot be followed by a comment on its line | put the comment on a line of its own"},
		{"//idem:handler window=24h /* why */", "3:27 IDEM011 //idem:handler cannot be followed by a comment on its line | put the comment on a line of its own"},
		// values
		{"//idem:handler window=24h inflight=wiat", `3:36 IDEM012 unknown inflight "wiat" | did you mean wait?`},
		{"//idem:package engine=postgres", `3:23 IDEM012 unknown engine "postgres" | did you mean postgresql?`},
		{"//idem:package engine=SQLite", `3:23 IDEM012 unknown engine "SQLite" | did you mean sqlite?`},
		{"//idem:package engine=oracle", `3:23 IDEM012 unknown engine "oracle" | there are: postgresql, mysql, sqlite`},
		{"//idem:package engine=MariaDB", `3:23 IDEM012 unknown engine "MariaDB" | write engine=mysql`},
		{"//idem:package engine=MySQL", `3:23 IDEM012 unknown engine "MySQL" | did you mean mysql?`},
		{"//idem:handler window=24", `3:23 IDEM013 window "24" has no unit | did you mean 24h, or 24d?`},
		{"//idem:handler window=30s", `3:23 IDEM013 window "30s" is under a minute | a redelivery can come hours later: write at least 1m, commonly 24h or more`},
		{"//idem:handler window=-1h", `3:23 IDEM013 window "-1h" is negative | write a duration such as 30m, 24h, 7d or 1d12h, or forever`},
		{`//idem:handler window="24 h"`, `3:24 IDEM013 window "24 h" is not a duration | write window=24h`},
		{"//idem:handler window=24h key=A,,B", "3:33 IDEM014 the list has an empty element | remove the comma that is too many"},
		{`//idem:handler window=24h key="A, B"`, `3:34 IDEM014 there are spaces around "B" | a list has no spaces between its elements`},
		{"//idem:handler window=24h key=A..B", `3:33 IDEM014 there is no name in "A..B" at a dot | ` + pathHint},
		{"//idem:handler window=24h key=B,GetA(1)", `3:33 IDEM014 "GetA(1)" is not a getter without arguments | ` + pathHint},
		{"//idem:handler window=24h key=A.b-c", `3:33 IDEM014 "b-c" is not the name of a field, parameter or getter | ` + pathHint},
		{"//idem:handler window=24h key=A[0]", `3:31 IDEM014 "A[0]" is not the name of a field, parameter or getter | ` + pathHint},
		{"//idem:handler window=24h name=a@2", `3:33 IDEM014 name "a@2" contains '@' | a name consists of ASCII letters, digits and . _ - /`},
		{"//idem:handler window=24h name=é", `3:32 IDEM014 name "é" contains 'é' | a name consists of ASCII letters, digits and . _ - /`},
		{"//idem:handler window=24h name=" + strings.Repeat("x", 201), "3:232 IDEM014 name has 201 bytes | a name has at most 200"},
		{"//idem:package schema=a.sql,,b.sql", "3:29 IDEM014 the list has an empty element | remove the comma that is too many"},
	} {
		for _, eol := range []string{"\n", "\r\n"} {
			t.Run(c.comment+fmt.Sprintf("%q", eol), func(t *testing.T) {
				t.Parallel()
				src := strings.ReplaceAll("package p\n\n"+c.comment+"\nfunc F() {}\n", "\n", eol)
				placed, faults := read(t, src)
				assert.Equal(t, []string{c.want}, faults)
				assert.Empty(t, placed)
				assert.NotZero(t, Scan("a.go", []byte(src)).Directive.Line, "Scan applies the same rule")
			})
		}
	}
}

// A list torn apart by spaces is one fault, not a cascade.
func TestFileTornList(t *testing.T) {
	t.Parallel()
	_, faults := read(t, "package p\n\n//idem:handler window=24h key=A, B\nfunc F() {}\n")
	assert.Equal(t, []string{
		`3:27 IDEM006 there are spaces in key's list | write key=A,B`,
	}, faults)
}

func TestFileReportsEverything(t *testing.T) {
	t.Parallel()
	placed, faults := read(t, `package p

//idem:handler window=1 name=a@b inflight=never frobnicate=1
type T int

//idem:handler window=24h
func F() {}
`)
	assert.Len(t, faults, 5)
	assert.Equal(t, []string{`6:1 handler on F window@16="24h"@23`}, placed)
}

// What is not ours: prose, strings, directives that are commented out, and other tools' directives.
func TestProseAndStrings(t *testing.T) {
	t.Parallel()
	for _, comment := range []string{
		"// idem: is our prefix, and handlers are marked with it",
		"// idem: handler of orders, as above",
		"//Idem: voir plus haut",
		"// Idem.",
		"// see //idem:handler",
		"//	//idem:handler window=24h",
		"// //idem:handler window=24h",
		"////idem:handler window=24h",
		"// `idem:\"key\"` marks the key",
		"// idem:\"key\" marks the key",
		"//go:generate idemgen",
		"//go:build idem",
		"// tandem:handler",
		"//idempotent:handler",
		"//idempotent handler window=24h",
		"//idem handler of orders",
		"// idem handler",
		"// idemgen handler of orders",
		"//idemgen:sqlc 0123=",
		"//idem-potent x=y",
		"/* see idem:handler */",
		"/*\n//idem:handler window=24h\n*/",
		"// idem:",
		"//",
		"/**/",
		"//nolint:idem",
	} {
		t.Run(comment, func(t *testing.T) {
			t.Parallel()
			src := "package p\n\n" + comment + "\nfunc F() {}\n"
			placed, faults := read(t, src)
			assert.Empty(t, faults)
			assert.Empty(t, placed)
			assert.Zero(t, Scan("a.go", []byte(src)).Directive.Line)
		})
	}
	src := "package p\n\nvar x = `\n//idem:handler window=24h\n`\n\nvar y = \"//idem:handler\"\n"
	placed, faults := read(t, src)
	assert.Empty(t, faults)
	assert.Empty(t, placed)
	assert.Equal(t, Found{}, Scan("a.go", []byte(src)))
}

func TestScan(t *testing.T) {
	t.Parallel()
	found := Scan("a.go", []byte("package p\n\ntype E struct {\n\tID string `json:\"id\" idem:\"key\"`\n}\n\n/* x\n  idem:handler\n*/\nfunc ) broken {\n// Idem:Handler\n"))
	assert.True(t, found.Tags)
	assert.Equal(t, token.Position{Filename: "a.go", Line: 8, Column: 3}, found.Directive)
	assert.Equal(t, Found{}, Scan("a.go", nil))
	assert.Equal(t, Found{}, Scan("a.go", []byte("\x00\xff`")))
	assert.Equal(t, 1, Scan("a.go", []byte("<<<<<<< ours\n//idem:handler\n")).Directive.Line-1)
}

func TestQuotedValues(t *testing.T) {
	t.Parallel()
	placed, faults := read(t, "package p\n\n//idem:package schema=\"a b.sql,c.sql\" out=`x y` table=\"a\\x62\"\n//idem:handler window=\"24h\" key=\"A,B.C\"\nfunc F() {}\n")
	assert.Empty(t, faults)
	assert.Equal(t, []string{
		`3:1 package on package schema@16="a b.sql,c.sql"@24 out@39="x y"@44 table@49="ab"@56`,
		`4:1 handler on F window@16="24h"@24 key@29="A,B.C"@34`,
	}, placed)
}

func TestArg(t *testing.T) {
	t.Parallel()
	d := Directive{Args: []Arg{{Name: "a", Value: "1"}}}
	a, ok := d.Arg("a")
	assert.True(t, ok)
	assert.Equal(t, "1", a.Value)
	_, ok = d.Arg("b")
	assert.False(t, ok)
}

// Whatever a comment holds, parsing ends without a panic, and a comment that is ours is either right or diagnosed.
func FuzzFile(f *testing.F) {
	for _, s := range []string{"idem:handler window=24h", "idem:handler window = \"", "idem:package schema=\"a\\\" b", " Idem :x=", "idem:handler key=A.(),=\u00a0", "idem:handler window=“x", "idem:handler window=\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, comment string) {
		if strings.ContainsAny(comment, "\n\r") {
			return
		}
		src := "package p\n\n//" + comment + "\nfunc F() {}\n"
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "a.go", src, parser.ParseComments)
		if err != nil {
			return
		}
		var diags diag.List
		placed := File(fset, file, &diags)
		_, ours := recognise("//" + comment)
		if got := len(placed) > 0 || diags.Len() > 0; got != ours {
			t.Errorf("ours: %v, placed: %v, diagnosed: %v", ours, placed, diags.Sorted())
		}
		if len(placed) > 0 && diags.Len() > 0 {
			t.Errorf("placed and diagnosed: %v", diags.Sorted())
		}
		for _, d := range diags.Sorted() {
			if d.Pos.Line != 3 || d.Pos.Column < 1 || d.Pos.Column > len(comment)+3 || d.Message == "" || d.Hint == "" {
				t.Errorf("bad diagnostic: %+v", d)
			}
		}
	})
}

func mustRecognise(t *testing.T, comment string) spelling {
	t.Helper()
	s, ok := recognise(comment)
	require.True(t, ok)
	return s
}

func tokenPos() token.Position { return token.Position{Filename: "a.go", Line: 1, Column: 1} }

func nopList() *diag.List { return &diag.List{} }
