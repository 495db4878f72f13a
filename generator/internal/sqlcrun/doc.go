// Package sqlcrun compiles the SQL of all stores of a run by sqlc, inside this process and at once.
//
// A [Runner] is used for one run. Compile stages the stores in a temporary folder under one configuration, calls
// sqlc's command as a function, and returns the Go files that it made; what sqlc refuses becomes a diagnostic at the
// place that asked for the store. [Stands] tells beforehand that nothing has changed, so that sqlc need not run at all.
//
// sqlc's command ends the process where it refuses something, and it talks to the process's own standard error. Both
// are dealt with in inprocess.go. Since its words are lost with that, they are got by running it once more in a copy
// of this program, which is the only thing that is ever executed here. The package writes nothing but its temporary
// folder and knows nothing of handlers.
package sqlcrun
