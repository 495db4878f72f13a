// Package load finds the packages with directives and loads exactly those.
//
// [Load] walks the folders that the patterns cover by the go command's rules, looks at the bytes of each Go file for
// "idem:", and asks golang.org/x/tools/go/packages, in one call, for the packages where a comment is a directive. A
// tree without directives costs a walk and no go list. Of the loaded packages' files it keeps the declarations: bodies
// are emptied, and our own generated files are cut down to their package clause, so that output which is stale,
// missing or full of conflict markers never stands in the way of its own renewal.
//
// What is wrong with the user's input becomes a diagnostic; an error means that no answer was possible: no go command,
// or a cancelled context. Type errors are nobody's fault here: what a handler needs and cannot have is found by
// package analyze, which also reads the directives themselves.
package load
