// Package idempgx guards handlers whose transaction is a pgx.Tx, on PostgreSQL through a pgxpool.Pool.
//
// [New] makes the guard; generated code calls it with idemdb.Store. The package only talks to the database: the decisions
// are in package idem.
//
// Round trips are what a guard costs, so nothing is sent alone that can travel with something else: BEGIN with the claim,
// the result with COMMIT, the ROLLBACK of a claim that was lost with the look-up of the row. A delivery whose handler sends
// one statement makes three round trips, as the bare transaction would; a repeat makes two. (The first use of a statement
// on a connection costs one more, which is pgx's.) Every pgx.QueryExecMode works, and so does a proxy that pools
// transactions, in the modes that it allows.
//
// The handler gets a pgx.Tx that can do all that pgx's own can, nested transactions and large objects included, except to
// commit or roll back: that returns an error. After the handler has returned, the Tx and what was made of it stay closed.
// Out of reach are the connection itself, from Tx.Conn, and transaction control sent as SQL text. A transaction that was
// ended by them is found out before COMMIT, even where another one was begun in its place: idem.ErrTransactionLost. But
// what was committed by them stays, and with it the claim, which is complete from the start where there is no result: such
// a handler counts as done, whatever it returned then.
package idempgx
