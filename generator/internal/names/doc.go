// Package names chooses identifiers for generated code that cannot meet the user's.
//
// It has three things: [Imports], which gives every imported package a name in the generated file; [Scope], which hands
// out identifiers that are free where they are to stand; and the functions that say how generated declarations are
// called ([Wrapper], [Spec], [ArgsStruct] and their siblings). All are pure: the same questions give the same answers
// on every machine. The package knows go/types scopes but no directive, and it reports nothing: whether a collision can
// be avoided or has to be shown to the user is the caller's decision.
package names
