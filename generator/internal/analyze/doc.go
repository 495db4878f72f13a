// Package analyze resolves directives, tags and types into the model: which handlers there are, what their signatures
// say, where their keys come from, what everything generated is called, and where it is stored.
//
// It is the only stage with semantic diagnostics. Each is reported at the deepest position known, with its cause and
// its mend, and the analysis goes on, so that a user sees all of them in one run. What it lets through, the emitters
// can render; what they could not render, it refuses. It reads types and syntax that package load has loaded, and of
// the file system only what decides about stores: sqlc's configuration, and whether a folder is ours. It writes
// nothing.
//
//	program := analyze.Analyze(loaded, &diags) // nil where diags is not empty
package analyze
