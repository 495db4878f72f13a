//go:build cgo

package litehook

import (
	"errors"
	"net/url"

	"github.com/mattn/go-sqlite3"
)

// Mattn is github.com/mattn/go-sqlite3, in a build that can have it.
func Mattn() (Way, bool) {
	return Way{
		driver: &sqlite3.SQLiteDriver{},
		code: func(err error) int {
			var coded sqlite3.Error
			if !errors.As(err, &coded) {
				return 0
			}
			return int(coded.ExtendedCode)
		},
		foreign: func(code int) error {
			return foreignFields{sqlite3.Error{Code: sqlite3.ErrNo(code & 0xff), ExtendedCode: sqlite3.ErrNoExtended(code)}}
		},
		query: func(s Settings) url.Values {
			// Without a word from us its patience is five seconds.
			values := url.Values{"_synchronous": {"normal"}, "_busy_timeout": {millis(s.Patience)}}
			if s.Journal != "" {
				values.Set("_journal_mode", s.Journal)
			}
			return values
		},
	}, true
}

// foreignFields wraps mattn's error, whose text cannot be chosen, under another text.
type foreignFields struct{ inner sqlite3.Error }

func (foreignFields) Error() string { return foreignText }

// Unwrap returns mattn's error, which has the code.
func (e foreignFields) Unwrap() error { return e.inner }
