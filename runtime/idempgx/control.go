package idempgx

import "strings"

// mayEnd reports whether a text holds a statement that ends a transaction. It looks at the beginnings of statements, and
// takes every semicolon for an end of one, also in quotes and comments: it may say yes for a text that only quotes such a
// statement, which costs a check before COMMIT. What a semicolon in quotes seems to begin, a comment say, hides no other.
func mayEnd(sql string) bool {
	for {
		switch word := leadingWord(skipBlank(sql)); {
		case strings.EqualFold(word, "commit"), strings.EqualFold(word, "end"), strings.EqualFold(word, "rollback"),
			strings.EqualFold(word, "abort"), strings.EqualFold(word, "prepare"):
			return true
		}
		i := strings.IndexByte(sql, ';')
		if i < 0 {
			return false
		}
		sql = sql[i+1:]
	}
}

// skipBlank returns what follows the spaces and comments that sql begins with.
func skipBlank(sql string) string {
	for {
		sql = strings.TrimLeft(sql, " \t\n\r\f\v")
		switch {
		case strings.HasPrefix(sql, "--"):
			i := strings.IndexAny(sql, "\r\n")
			if i < 0 {
				return ""
			}
			sql = sql[i:]
		case strings.HasPrefix(sql, "/*"):
			sql = skipComment(sql)
		default:
			return sql
		}
	}
}

// skipComment returns what follows the comment that sql begins with. Comments nest.
func skipComment(sql string) string {
	depth := 0
	for i := 0; i+1 < len(sql); i++ {
		switch sql[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return sql[i+1:]
			}
		}
	}
	return ""
}

// leadingWord returns the letters that sql begins with.
func leadingWord(sql string) string {
	n := 0
	for n < len(sql) && (sql[n]|0x20 >= 'a' && sql[n]|0x20 <= 'z' || sql[n] == '_') {
		n++
	}
	return sql[:n]
}
