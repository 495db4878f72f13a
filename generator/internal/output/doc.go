// Package output puts a set of generated files on disk, or tells how the disk differs from it.
//
// [Make] compares the set with what is there and refuses, as diagnostics, whatever stands in its way: a file that is not
// generated, a folder, a link to nowhere. A [Plan] is then either printed ([Plan.Changes]) or carried out
// ([Plan.Apply]). Only files that differ are written, each to a temporary file beside it that is synced and renamed, so
// that every file is at any moment either as it was or whole. Only files whose first line says that they are generated
// are ever replaced or removed. The package knows nothing of handlers or SQL.
package output
