package litehook

import (
	"database/sql/driver"
	"errors"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"modernc.org/sqlite"
)

// Way is a driver of SQLite.
type Way struct {
	driver  driver.Driver
	code    func(error) int      // the result code in an error of the driver's, or 0
	foreign func(code int) error // an error of the driver's kind with no word in it that one could go by
	query   func(Settings) url.Values
}

// Settings are what a DSN asks for, beyond the file.
type Settings struct {
	Journal  string        // the journal's mode; SQLite's own choice if empty
	Begin    string        // how transactions begin: deferred, immediate, exclusive; SQLite's own choice if empty
	Patience time.Duration // how long a statement waits for other connections
	Shared   bool          // the database is in memory, in a cache that the process's connections share
}

// DSN is the data source name of a file, or of ":memory:".
func (w Way) DSN(file string, s Settings) string {
	query := w.query(s)
	if s.Begin != "" {
		query.Set("_txlock", s.Begin)
	}
	if s.Shared {
		query.Set("mode", "memory")
		query.Set("cache", "shared")
	}
	if file == ":memory:" {
		return "file::memory:?" + query.Encode()
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(file), RawQuery: query.Encode()}).String()
}

// Modernc is modernc.org/sqlite.
func Modernc() Way {
	return Way{
		driver: &sqlite.Driver{},
		code: func(err error) int {
			var coded *sqlite.Error
			if !errors.As(err, &coded) {
				return 0
			}
			return coded.Code()
		},
		foreign: func(code int) error { return foreignCode(code) },
		query: func(s Settings) url.Values {
			pragmas := []string{"synchronous(normal)", "busy_timeout(" + millis(s.Patience) + ")"}
			if s.Journal != "" {
				pragmas = append(pragmas, "journal_mode("+s.Journal+")")
			}
			return url.Values{"_pragma": pragmas}
		},
	}
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// foreignText is the text of all errors in another language.
const foreignText = "нечто пошло не так"

// foreignCode has modernc's code.
type foreignCode int

func (foreignCode) Error() string { return foreignText }

// Code is SQLite's result code.
func (e foreignCode) Code() int { return int(e) }
