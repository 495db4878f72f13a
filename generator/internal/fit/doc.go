// Package fit brings together what a payload has and what a column takes: it reads the types of the parameters that sqlc has
// made for the statements of transitions, and decides how a value of the payload becomes one. What could lose something on the
// way is refused, at the position of the field's path in the directive.
//
// It comes after package sqlcrun and before package gocode. What a column holds, package schema has read from its DDL and put
// into the model; what its parameter is, sqlc has answered. A value has to fit both.
package fit
