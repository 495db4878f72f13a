// Package driver is the border between the engine (package idem) and the databases (idempgx, idemsql,
// idemmysql).
//
// A Driver hands out Sessions; a Session is one connection for the length of one attempt, and knows only how to begin,
// claim, look up, take over, commit and roll back, in as few round trips as its protocol allows, and what class an
// error is of. For leases, which hold no transaction, it hands out Keys instead: the store's statements, each committed by
// itself. For changes of state it hands out TransitionSessions, which begin with the user's UPDATE in place of a claim, and a
// Session is a Mover, for the UPDATE behind one. Everything that is decided (to wait, to run, to run again, to
// answer from the row) is decided once, in the engine. The package is internal: a driver is part of the guarantee and is not for outsiders to write.
package driver
