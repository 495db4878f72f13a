package diag

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestListSorts(t *testing.T) {
	t.Parallel()
	var l List
	at := func(file string, line, column int) token.Position {
		return token.Position{Filename: file, Line: line, Column: column}
	}
	l.Add(at("b.go", 1, 1), "IDEM001", "", "b")
	l.Add(at("a.go", 2, 1), "IDEM001", "", "a2")
	l.Add(at("a.go", 1, 9), "IDEM002", "", "a19")
	l.Add(at("a.go", 1, 2), "IDEM002", "", "second %s", "code")
	l.Add(at("a.go", 1, 2), "IDEM001", "", "first code")
	l.Add(token.Position{}, "IDEM104", "", "of the whole run")
	l.Add(at("b.go", 1, 1), "IDEM001", "", "b")
	assert.Equal(t, 6, l.Len(), "the same diagnostic twice is one")
	var messages []string
	for _, d := range l.Sorted() {
		messages = append(messages, d.Message)
	}
	assert.Equal(t, []string{"of the whole run", "first code", "second code", "a19", "a2", "b"}, messages)
}

func TestPrint(t *testing.T) {
	t.Parallel()
	dir := filepath.FromSlash("/src/shop")
	var b strings.Builder
	require.NoError(t, Print(&b, dir, []Diagnostic{
		{Pos: token.Position{Filename: filepath.FromSlash("/src/shop/svc/order.go"), Line: 12, Column: 16}, Code: "IDEM004", Message: `unknown argument "tll"`, Hint: `did you mean "ttl"?`},
		{Pos: token.Position{Filename: filepath.FromSlash("/top/other/a.go")}, Code: "IDEM104", Message: "outside"},
		{Code: "IDEM100", Message: "no module", Hint: "one line\nand another"},
	}))
	assert.Equal(t, "svc/order.go:12:16: unknown argument \"tll\" [IDEM004]\n\thint: did you mean \"ttl\"?\n"+
		filepath.FromSlash("/top/other/a.go")+": outside [IDEM104]\n"+
		"no module [IDEM100]\n\thint: one line\n\t      and another\n", b.String())
	assert.Error(t, Print(failing{}, dir, []Diagnostic{{Message: "x"}}))
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, fs.ErrClosed }

var form = regexp.MustCompile(`^IDEM\d{3}$`)

func TestMeanings(t *testing.T) {
	t.Parallel()
	last := 0
	for _, s := range stages {
		for _, m := range s.Meanings {
			require.Regexp(t, form, string(m.Code))
			n, err := strconv.Atoi(string(m.Code[len("IDEM"):]))
			require.NoError(t, err)
			assert.Greater(t, n, last, "%s is out of order or there twice", m.Code)
			assert.True(t, s.First <= n && n <= s.Last, "%s is not of the stage %q", m.Code, s.Title)
			assert.NotEmpty(t, m.Text)
			assert.False(t, strings.HasSuffix(m.Text, ".") || strings.Contains(m.Text, "\n"), m.Text)
			last = n
		}
	}
	text, ok := Explain("IDEM004")
	assert.True(t, ok)
	assert.Equal(t, "the directive has no such argument", text)
	_, ok = Explain("IDEM999")
	assert.False(t, ok)
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, Markdown(&b))
	for _, m := range Meanings() {
		assert.Contains(t, b.String(), fmt.Sprintf("| %s | %s |\n", m.Code, strings.ReplaceAll(m.Text, "|", `\|`)))
	}
	assert.Error(t, Markdown(failing{}))
}

// Every code that some stage uses is in the table, and every code in the table is used.
func TestCodesAreUsed(t *testing.T) {
	t.Parallel()
	used := map[Code]string{}
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || filepath.Base(filepath.Dir(name)) == "diag" {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if value, err := strconv.Unquote(lit.Value); err == nil && form.MatchString(value) {
					used[Code(value)] = name
				}
			}
			return true
		})
		return nil
	}))
	for code, name := range used {
		_, ok := Explain(code)
		assert.True(t, ok, "%s of %s is not in the table", code, name)
	}
	for _, m := range Meanings() {
		assert.Contains(t, used, m.Code, "no stage uses %s", m.Code)
	}
}

func TestPrintMakesMentionedPathsRelative(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{
		"/src/shop":     "see svc/order.go:3:1, out=a and ../shopping/a.go, not /mnt/src/shop/b.go [IDEM282]\n\thint: look at svc/order.go\n",
		"/src/shop/svc": "see order.go:3:1, out=../a and /src/shopping/a.go, not /mnt/src/shop/b.go [IDEM282]\n\thint: look at order.go\n",
		"/": "see /src/shop/svc/order.go:3:1, out=/src/shop/a and /src/shopping/a.go, not /mnt/src/shop/b.go [IDEM282]\n" +
			"\thint: look at /src/shop/svc/order.go\n",
	} {
		var b strings.Builder
		require.NoError(t, Print(&b, filepath.FromSlash(dir), []Diagnostic{{
			Code:    "IDEM282",
			Message: "see /src/shop/svc/order.go:3:1, out=/src/shop/a and /src/shopping/a.go, not /mnt/src/shop/b.go",
			Hint:    "look at /src/shop/svc/order.go",
		}}))
		assert.Equal(t, want, b.String())
	}
}

func TestRelative(t *testing.T) {
	t.Parallel()
	dir := filepath.FromSlash("/top/src/shop/orders")
	for text, want := range map[string]string{
		"/top/src/shop/orders/a.go:1:2":                 "a.go:1:2",
		"/top/src/shop/orders/a/b.go":                   "a/b.go",
		"in /top/src/shop/sqlc.yaml, which":             "in ../sqlc.yaml, which",
		"(/top/src/shop/orders2/a.go)":                  "(../orders2/a.go)",
		"/top/src/go.work":                              "../../go.work",
		"/top/tmp/a.go":                                 "/top/tmp/a.go", // no shorter
		"/etc/top/src/shop/orders/a.go":                 "/etc/top/src/shop/orders/a.go",
		"no go.mod in /top/src/shop/orders or above":    "no go.mod in /top/src/shop/orders or above",
		"vendoring in /top/src/shop:":                   "vendoring in /top/src/shop:",
		"/top/src/shop":                                 "/top/src/shop",
		"/top/src/shop/orders/a and /top/src/shop/b.go": "a and ../b.go",
		"nothing": "nothing",
	} {
		assert.Equal(t, want, Relative(text, dir), text)
	}
}

// The code stands on the first line of a message, where a reader looks for it.
func TestPrintLongMessage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, Print(&b, "/src", []Diagnostic{{
		Code: "IDEM109", Message: "go: updates to go.mod needed; to update it:\n\tgo mod tidy", Hint: "do that",
	}}))
	assert.Equal(t, "go: updates to go.mod needed; to update it: [IDEM109]\n\tgo mod tidy\n\thint: do that\n", b.String())
}
