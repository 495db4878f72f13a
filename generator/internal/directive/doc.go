// Package directive turns comments and struct tags into checked directives with exact positions.
//
// The table in registry.go defines every directive, argument and tag once; parsing, "did you mean", the command's help
// and docs/directives.md all come from it. The package knows syntax trees and positions, never types: whether a
// handler's signature or a key's type will do is for package analyze.
//
// [File] reads one parsed file. Every comment that begins with "idem:" is ours: what is not a directive in exactly the
// right form at exactly the right place becomes a diagnostic, because a handler that is silently left unguarded is the
// one fault that must not happen. A comment is ours when its text begins with
//
//   - //idem: followed by anything but a space, as Go's own directives are written
//   - idem: in any case, after any white space, + or @, or in a block comment, if a letter follows at once
//   - the same with a space after the colon, if one of our verbs follows, so that a slip does not pass for prose
//
// Everything else is prose ("// idem: as above" is an ordinary ditto), and a directive that is itself commented out
// ("// //idem:handler") is gone. [Scan] applies the same rule to a file's tokens without parsing it. [ParseTag] reads
// the idem part of a struct tag and leaves all other tags alone.
package directive
