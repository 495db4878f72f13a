package idemmysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// looks asks what the table is made of. What another make does is not an error to the server: without the primary key every claim
// succeeds, with a collation that ignores case two keys are one, and an engine without transactions keeps what is rolled back.
const looks = `SELECT t.ENGINE,
	COALESCE((SELECT GROUP_CONCAT(LOWER(s.COLUMN_NAME) ORDER BY s.SEQ_IN_INDEX) FROM information_schema.STATISTICS AS s
		WHERE s.TABLE_SCHEMA = t.TABLE_SCHEMA AND s.TABLE_NAME = t.TABLE_NAME AND s.INDEX_NAME = 'PRIMARY'
		AND s.SUB_PART IS NULL), ''),
	(SELECT COUNT(*) FROM information_schema.COLUMNS AS c
		WHERE c.TABLE_SCHEMA = t.TABLE_SCHEMA AND c.TABLE_NAME = t.TABLE_NAME AND c.COLUMN_NAME IN ('handler', 'key')
		AND RIGHT(c.COLLATION_NAME, 4) <> '_bin')
FROM information_schema.TABLES AS t WHERE t.TABLE_SCHEMA = COALESCE(?, DATABASE()) AND t.TABLE_NAME = ?`

// fit looks at the table, until it has once found it as the statements need it. A table that is not there, the statement itself
// will meet.
func (d *database) fit(ctx context.Context, on DBTX) error {
	if d.fits.Load() {
		return nil
	}
	var engine sql.NullString
	var primary string
	var vague int
	schema, table := tableName(d.Table())
	err := on.QueryRowContext(ctx, looks, schema, table).Scan(&engine, &primary, &vague)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	case !strings.EqualFold(engine.String, "InnoDB"):
		return &unfit{fmt.Sprintf("its engine is %q and not InnoDB", engine.String)}
	case primary != "handler,key":
		return &unfit{fmt.Sprintf("its primary key is (%s) and not (handler,key)", primary)}
	case vague > 0:
		return &unfit{"handler and key are not compared bytewise"}
	}
	d.fits.Store(true)
	return nil
}

// tableName takes a table's name apart, as the statements spell it: `name` or `schema`.`name`.
func tableName(spelled string) (schema sql.NullString, table string) {
	first, rest := unquoted(spelled)
	if rest == "" {
		return schema, first
	}
	table, _ = unquoted(strings.TrimPrefix(rest, "."))
	return sql.NullString{String: first, Valid: true}, table
}

// unquoted is the name that s begins with, in backticks or without, and what follows it.
func unquoted(s string) (name, rest string) {
	if !strings.HasPrefix(s, "`") {
		name, rest, _ = strings.Cut(s, ".")
		return name, rest
	}
	var b strings.Builder
	for s = s[1:]; ; {
		part, after, _ := strings.Cut(s, "`")
		b.WriteString(part)
		if !strings.HasPrefix(after, "`") {
			return b.String(), after
		}
		b.WriteByte('`')
		s = after[1:]
	}
}
