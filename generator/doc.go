// Package generator turns annotated Go handlers into idempotent wrappers: it is everything that the idemgen command
// does apart from reading arguments and printing.
//
// [Run] is the whole of it. It only puts the stages in order: load finds and loads the packages with directives,
// analyze resolves them to the model, sqlcode, sqlcrun and gocode render it, and output writes what changed. The stages
// live in internal packages, each with a page of its own. What is wrong in the user's source comes back, all at once,
// as a [DiagnosticsError]; every other error is trouble of the machine or a bug in idemgen. Nothing is written until
// everything has rendered.
//
// Run never prints, and opens no network connection of its own. It executes the go command, through go/packages, and,
// only to hear what sqlc has to complain of, the program that it is part of (see package sqlcrun).
package generator
