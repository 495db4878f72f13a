package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
	"github.com/pingcap/tidb/pkg/parser/opcode"
)

// check adds a condition, if it is about one column.
func (t *myTable) check(name string, expr ast.ExprNode, inline bool) {
	names := []string{name}
	if name == "" {
		names = t.unnamed(inline)
	}
	about := myColumns(expr)
	if len(about) != 1 {
		return
	}
	c := t.Column(about[0], true)
	if c == nil {
		return
	}
	if c.Class != Enum {
		c.Labels = append(c.Labels, myTexts(expr)...)
	}
	t.constraints = append(t.constraints, &myConstraint{
		name: names[0], others: names[1:], columns: []*Column{c}, inline: inline,
		check: &check{restored(expr), func(value string) (bool, bool) { return myEval(expr, value) }},
	})
}

// unnamed are the names that the engines give to a condition without one: MySQL counts all of a table, MariaDB those that do not
// stand in a column's definition.
func (t *myTable) unnamed(inline bool) []string {
	t.checks++
	names := []string{fmt.Sprintf("%s_chk_%d", t.Name, t.checks)}
	if !inline {
		t.tableChecks++
		names = append(names, fmt.Sprintf("CONSTRAINT_%d", t.tableChecks))
	}
	return names
}

// named says that a constraint may be the one of a name.
func (t *myTable) named(k *myConstraint, name string) bool {
	return strings.EqualFold(k.name, name) || slices.ContainsFunc(k.others, func(o string) bool { return strings.EqualFold(o, name) })
}

// restored is an expression as text.
func restored(expr ast.ExprNode) string {
	var b strings.Builder
	if err := expr.Restore(format.NewRestoreCtx(format.RestoreStringSingleQuotes|format.RestoreKeyWordUppercase|format.RestoreStringWithoutCharset, &b)); err != nil {
		return "…"
	}
	return b.String()
}

// myEval evaluates a condition on one column for a text value of it, as pgEval does. The common collations compare without
// regard to case, and so does this: it refuses what no collation takes.
func myEval(n ast.ExprNode, value string) (ok, known bool) {
	switch n := n.(type) {
	case *ast.ParenthesesExpr:
		return myEval(n.Expr, value)
	case *ast.UnaryOperationExpr:
		if n.Op == opcode.Not || n.Op == opcode.Not2 {
			ok, known = myEval(n.V, value)
			return !ok, known
		}
	case *ast.IsNullExpr:
		if _, isColumn := n.Expr.(*ast.ColumnNameExpr); isColumn {
			return n.Not, true
		}
	case *ast.PatternInExpr:
		return myEvalIn(n, value)
	case *ast.BinaryOperationExpr:
		return myEvalOp(n, value)
	}
	return false, false
}

func myEvalIn(n *ast.PatternInExpr, value string) (ok, known bool) {
	if _, isColumn := n.Expr.(*ast.ColumnNameExpr); !isColumn || n.Sel != nil {
		return false, false
	}
	var list []string
	for _, e := range n.List {
		text, isText := myText(e)
		if !isText {
			return false, false
		}
		list = append(list, text)
	}
	has := slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, value) })
	return has != n.Not, true
}

func myEvalOp(n *ast.BinaryOperationExpr, value string) (ok, known bool) {
	switch n.Op {
	case opcode.LogicAnd, opcode.LogicOr:
		left, sureLeft := myEval(n.L, value)
		right, sureRight := myEval(n.R, value)
		decides := n.Op == opcode.LogicOr // the value that decides whatever the other side is
		switch {
		case sureLeft && left == decides, sureRight && right == decides:
			return decides, true
		default:
			return !decides, sureLeft && sureRight
		}
	case opcode.EQ, opcode.NE:
		column, other := n.L, n.R
		if _, isColumn := column.(*ast.ColumnNameExpr); !isColumn {
			column, other = other, column
		}
		_, isColumn := column.(*ast.ColumnNameExpr)
		text, isText := myText(other)
		if !isColumn || !isText {
			return false, false
		}
		return strings.EqualFold(text, value) == (n.Op == opcode.EQ), true
	}
	return false, false
}

// myText is a constant text.
func myText(n ast.ExprNode) (string, bool) {
	v, ok := n.(ast.ValueExpr)
	if !ok {
		return "", false
	}
	text, ok := v.GetValue().(string)
	return text, ok
}

// collector gathers what an expression mentions.
type collector struct {
	columns, texts []string
}

func (c *collector) Enter(n ast.Node) (ast.Node, bool) {
	switch n := n.(type) {
	case *ast.ColumnNameExpr:
		if !slices.ContainsFunc(c.columns, func(o string) bool { return strings.EqualFold(o, n.Name.Name.O) }) {
			c.columns = append(c.columns, n.Name.Name.O)
		}
	case ast.ValueExpr:
		if text, ok := myText(n); ok {
			c.texts = append(c.texts, text)
		}
	}
	return n, false
}

func (c *collector) Leave(n ast.Node) (ast.Node, bool) { return n, true }

func myColumns(n ast.ExprNode) []string {
	var c collector
	n.Accept(&c)
	return c.columns
}

func myTexts(n ast.ExprNode) []string {
	var c collector
	n.Accept(&c)
	return c.texts
}
