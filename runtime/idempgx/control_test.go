package idempgx

import "testing"

func TestMayEnd(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]bool{
		"COMMIT":                               true,
		"commit and chain":                     true,
		" \n\tRollback;":                       true,
		"END":                                  true,
		"abort work":                           true,
		"PREPARE TRANSACTION 'x'":              true,
		"INSERT INTO t VALUES (1); COMMIT":     true,
		"ROLLBACK;BEGIN":                       true,
		";;commit":                             true,
		"-- name: Done :exec\nCOMMIT":          true,
		"/* a /* nested */ one */ ROLLBACK":    true,
		"SELECT 1 /* ; */; -- so\r\n /**/ END": true,
		"ROLLBACK TO SAVEPOINT a":              true, // for simplicity's sake
		"SELECT '; /*'; COMMIT; BEGIN":         true,
		"SELECT 1 -- ; /*\n; COMMIT":           true,
		"SELECT $$; -- $$; ROLLBACK":           true,
		"SELECT '; /* ;'; END; SELECT '*/'":    true,

		"":             false,
		"-- commit":    false,
		"/* commit":    false,
		"/* commit */": false,
		"SELECT 1":     false,
		"SELECT 1;":    false,
		"-- name: Add :exec\nINSERT INTO t VALUES ($1)":      false,
		"UPDATE t SET state = CASE WHEN a THEN 'commit' END": false,
		"committed":                           false,
		"SAVEPOINT a":                         false,
		"RELEASE a":                           false,
		"BEGIN":                               false, // does nothing in a transaction
		"SET LOCAL lock_timeout = '1s'":       false,
		"end_of_day":                          false,
		"INSERT INTO log VALUES ('rollback')": false,
	} {
		if got := mayEnd(sql); got != want {
			t.Errorf("%q: got %t", sql, got)
		}
	}
}
