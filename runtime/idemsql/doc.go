// Package idemsql guards handlers whose transaction is a *sql.Tx, on PostgreSQL and SQLite through database/sql.
//
// [New] makes the guard; generated code calls it with idemdb.Store. The package only talks to the database: the decisions
// are in package idem. It imports no driver. What an error is it tells by its code, as drivers put it into their errors: by the
// method SQLState() string (pgx, lib/pq), by the method Code() int (modernc.org/sqlite), or in the fields ExtendedCode and Code
// of a struct that is named sqlite3.Error (mattn/go-sqlite3).
//
// A *sql.Tx cannot be kept from being committed by the handler, and database/sql does not tell when the database ended a
// transaction by itself. So a claim is written open, and the end is always an update of the claim's own row to done: where
// that finds no row, or no transaction, the delivery is idem.ErrTransactionLost, and an open row that a repeat can see is
// the same. On SQLite the claim is also the transaction's first write, so a rival is met before the handler has read
// anything.
package idemsql
