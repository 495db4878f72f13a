//go:build !cgo

package litehook

// Mattn is github.com/mattn/go-sqlite3, in a build that can have it. This one cannot: it is a binding to C.
func Mattn() (Way, bool) { return Way{}, false }
