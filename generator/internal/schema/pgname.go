package schema

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// maxPgName is how many bytes of a name PostgreSQL keeps.
const maxPgName = 63

// pgFree is the name that PostgreSQL gives to what has none, with a number where it is taken: that of its table or domain, the
// columns, and what it is, the longer one of the first two cut until all fit. PostgreSQL, indexcmds.c, makeObjectName.
func pgFree(of, columns, label string, taken func(string) bool) string {
	for i := 0; ; i++ {
		suffix := "_" + label
		if i > 0 {
			suffix += strconv.Itoa(i)
		}
		first, second := of, ""
		if columns != "" {
			second = "_" + columns
		}
		for len(first)+len(second)+len(suffix) > maxPgName {
			if len(first) > len(second)-1 {
				first = first[:len(first)-1]
			} else {
				second = second[:len(second)-1]
			}
		}
		// Half of a letter is cut off too.
		if name := strings.ToValidUTF8(first, "") + strings.ToValidUTF8(second, "") + suffix; !taken(name) {
			return name
		}
	}
}

// free is a constraint's default name.
func (t *pgTable) free(columns, label string) string {
	return pgFree(t.Name, columns, label, func(n string) bool {
		return slices.ContainsFunc(t.constraints, func(c *pgConstraint) bool { return c.name == n })
	})
}

// compares says that an index takes the same values for equal as its column does. One with a collation that the column does
// not name may tell apart what the column does not, and so may one with an operator class of other people's.
func (t *pgTable) compares(c *Column, e *pg.IndexElem) bool {
	if name := listName(e.GetCollation()).name; name != "" && name != t.collations[c] {
		return false
	}
	class := listName(e.GetOpclass()).name
	return class == "" || slices.Contains(sameEquality, class)
}

// collation notes a collation that is not deterministic.
func (r *pgReader) collation(s *pg.DefineStmt) {
	for _, n := range s.GetDefinition() {
		if e := n.GetDefElem(); e.GetDefname() == "deterministic" && (e.GetArg().GetString_().GetSval() == "false" || listName(e.GetArg().GetTypeName().GetNames()).name == "false") {
			r.loose[listName(s.GetDefnames()).name] = true
		}
	}
}

// sameEquality are operator classes that people write whose equality is the type's own. PostgreSQL, "Operator Classes and
// Operator Families".
var sameEquality = []string{
	"text_pattern_ops", "varchar_pattern_ops", "bpchar_pattern_ops", "text_ops", "varchar_ops", "bpchar_ops", "uuid_ops", "int4_ops", "int8_ops",
}
