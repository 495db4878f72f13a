// Package fit brings together what a payload has and what a column takes: it reads the types of the parameters that sqlc has
// made for the statements of transitions, and decides how a value of the payload becomes one. What could lose something on the
// way is refused, at the position of the field's path in the directive.
//
// It comes after package sqlcrun and before package gocode, and knows Go's types only: what the column's own type is, sqlc has
// answered.
package fit
