package schema

import (
	"fmt"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// pgEval evaluates a condition on one column for a text value of it. It knows comparisons with texts, lists, and what joins
// them; of everything else it says that it does not know.
func pgEval(n *pg.Node, column, value string) (ok, known bool) {
	switch {
	case n.GetTypeCast() != nil:
		return pgEval(n.GetTypeCast().GetArg(), column, value)
	case n.GetBoolExpr() != nil:
		return pgEvalBool(n.GetBoolExpr(), column, value)
	case n.GetNullTest() != nil:
		if !isColumn(n.GetNullTest().GetArg(), column) {
			return false, false
		}
		return n.GetNullTest().GetNulltesttype() == pg.NullTestType_IS_NOT_NULL, true
	case n.GetAExpr() != nil:
		return pgEvalOp(n.GetAExpr(), column, value)
	}
	return false, false
}

func pgEvalBool(b *pg.BoolExpr, column, value string) (ok, known bool) {
	switch b.GetBoolop() {
	case pg.BoolExprType_NOT_EXPR:
		ok, known = pgEval(b.GetArgs()[0], column, value)
		return !ok, known
	case pg.BoolExprType_AND_EXPR:
		known = true
		for _, a := range b.GetArgs() {
			holds, sure := pgEval(a, column, value)
			if sure && !holds {
				return false, true
			}
			known = known && sure
		}
		return true, known
	case pg.BoolExprType_OR_EXPR:
		known = true
		for _, a := range b.GetArgs() {
			holds, sure := pgEval(a, column, value)
			if sure && holds {
				return true, true
			}
			known = known && sure
		}
		return false, known
	}
	return false, false
}

// pgEvalOp evaluates column = 'a', column IN ('a', 'b'), column = ANY (ARRAY['a', 'b']), and their opposites.
func pgEvalOp(e *pg.A_Expr, column, value string) (ok, known bool) {
	names := stringsOf(e.GetName())
	if len(names) == 0 {
		return false, false
	}
	left, right := e.GetLexpr(), e.GetRexpr()
	if !isColumn(left, column) {
		left, right = right, left
	}
	var list []string
	switch e.GetKind() {
	case pg.A_Expr_Kind_AEXPR_OP:
		text, isText := textOf(right)
		list, known = []string{text}, isText
	case pg.A_Expr_Kind_AEXPR_IN:
		list, known = textsOf(right.GetList().GetItems())
	case pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL:
		list, known = arrayOf(right)
	}
	if !isColumn(left, column) || !known {
		return false, false
	}
	has := slices.Contains(list, value)
	all := e.GetKind() == pg.A_Expr_Kind_AEXPR_OP_ALL
	switch op := names[len(names)-1]; {
	case op == "=" && (!all || len(list) == 1):
		return has, true
	case op == "<>" && (e.GetKind() != pg.A_Expr_Kind_AEXPR_OP_ANY || len(list) == 1):
		return !has, true
	}
	return false, false
}

// isColumn says that an expression is a column, with or without casts that leave it as it is.
func isColumn(n *pg.Node, column string) bool {
	for n.GetTypeCast() != nil {
		if to := n.GetTypeCast().GetTypeName(); typeSize(to) > 0 || listName(to.GetNames()).name == "name" {
			return false // it may be cut off
		}
		n = n.GetTypeCast().GetArg()
	}
	fields := stringsOf(n.GetColumnRef().GetFields())
	return len(fields) > 0 && fields[len(fields)-1] == column
}

// textOf is a constant text, with or without casts.
func textOf(n *pg.Node) (string, bool) {
	for n.GetTypeCast() != nil {
		n = n.GetTypeCast().GetArg()
	}
	c := n.GetAConst()
	if c == nil || c.GetSval() == nil {
		return "", false
	}
	return c.GetSval().GetSval(), true
}

func textsOf(items []*pg.Node) ([]string, bool) {
	var out []string
	for _, i := range items {
		text, ok := textOf(i)
		if !ok {
			return nil, false
		}
		out = append(out, text)
	}
	return out, len(out) > 0
}

// arrayOf is ARRAY['a', 'b'], or '{a,b}' where that is plain, with or without casts.
func arrayOf(n *pg.Node) ([]string, bool) {
	for n.GetTypeCast() != nil {
		n = n.GetTypeCast().GetArg()
	}
	if a := n.GetAArrayExpr(); a != nil {
		return textsOf(a.GetElements())
	}
	text, ok := textOf(n)
	inner, braced := strings.CutPrefix(text, "{")
	inner, closed := strings.CutSuffix(inner, "}")
	if !ok || !braced || !closed || strings.ContainsAny(inner, `"\{}`) {
		return nil, false
	}
	return strings.Split(inner, ","), true
}

// columnsOf are the columns that an expression mentions, each once.
func columnsOf(n *pg.Node) []string {
	var out []string
	walk(n, func(m *pg.Node) {
		if fields := stringsOf(m.GetColumnRef().GetFields()); len(fields) > 0 && !slices.Contains(out, fields[len(fields)-1]) {
			out = append(out, fields[len(fields)-1])
		}
	})
	return out
}

// stringsIn are the constant texts in an expression.
func stringsIn(n *pg.Node) []string {
	var out []string
	walk(n, func(m *pg.Node) {
		if s := m.GetAConst().GetSval(); s != nil {
			out = append(out, s.GetSval())
		}
	})
	return out
}

// walk visits the expressions that conditions are made of.
func walk(n *pg.Node, visit func(*pg.Node)) {
	if n == nil {
		return
	}
	visit(n)
	all := func(nodes []*pg.Node) {
		for _, m := range nodes {
			walk(m, visit)
		}
	}
	walk(n.GetTypeCast().GetArg(), visit)
	all(n.GetBoolExpr().GetArgs())
	walk(n.GetNullTest().GetArg(), visit)
	walk(n.GetBooleanTest().GetArg(), visit)
	walk(n.GetAExpr().GetLexpr(), visit)
	walk(n.GetAExpr().GetRexpr(), visit)
	all(n.GetList().GetItems())
	all(n.GetAArrayExpr().GetElements())
	all(n.GetFuncCall().GetArgs())
	all(n.GetCoalesceExpr().GetArgs())
	all(n.GetMinMaxExpr().GetArgs())
	all(n.GetRowExpr().GetArgs())
	walk(n.GetCollateClause().GetArg(), visit)
	walk(n.GetAIndirection().GetArg(), visit)
	if c := n.GetCaseExpr(); c != nil {
		walk(c.GetArg(), visit)
		for _, w := range c.GetArgs() {
			walk(w.GetCaseWhen().GetExpr(), visit)
			walk(w.GetCaseWhen().GetResult(), visit)
		}
		walk(c.GetDefresult(), visit)
	}
}

// deparsed is a condition for a message: its texts as a list, which is what there is to say about one on states.
func deparsed(n *pg.Node) string {
	var quoted []string
	for _, s := range stringsIn(n) {
		quoted = append(quoted, "'"+strings.ReplaceAll(s, "'", "''")+"'")
	}
	about := columnsOf(n)
	if len(about) == 1 && len(quoted) > 0 {
		return about[0] + " … " + strings.Join(quoted, ", ")
	}
	return "…"
}

func stringsOf(nodes []*pg.Node) []string {
	var out []string
	for _, n := range nodes {
		if s := n.GetString_(); s != nil {
			out = append(out, s.GetSval())
		}
	}
	return out
}

func rangeName(v *pg.RangeVar) pgName {
	if v.GetSchemaname() == "" {
		return pgName{homePostgreSQL, v.GetRelname()}
	}
	return pgName{v.GetSchemaname(), v.GetRelname()}
}

// listName is a qualified name as a list of texts. A type of the system is of pg_catalog by the parser's doing, or bare.
func listName(nodes []*pg.Node) pgName {
	parts := stringsOf(nodes)
	switch len(parts) {
	case 0:
		return pgName{}
	case 1:
		return pgName{homePostgreSQL, parts[0]}
	default:
		return pgName{parts[len(parts)-2], parts[len(parts)-1]}
	}
}

// nodeName is the name of an object that is dropped or renamed.
func nodeName(n *pg.Node) pgName {
	if t := n.GetTypeName(); t != nil {
		return listName(t.GetNames())
	}
	return listName(n.GetList().GetItems())
}

// typeText is a type as people write it.
func typeText(t *pg.TypeName) string {
	full := listName(t.GetNames())
	text := full.name
	if full.schema != homePostgreSQL && full.schema != "pg_catalog" {
		text = full.schema + "." + text
	}
	if size := typeSize(t); size > 0 {
		text = fmt.Sprintf("%s(%d)", text, size)
	}
	return text
}

// typeSize is the first number behind a type's name, or 0.
func typeSize(t *pg.TypeName) int {
	for _, m := range t.GetTypmods() {
		if i := m.GetAConst().GetIval(); i != nil {
			return int(i.GetIval())
		}
	}
	return 0
}
