// Package idemmysql guards handlers whose transaction is a *sql.Tx on MySQL or MariaDB, through github.com/go-sql-driver/mysql.
//
// [New] makes the guard; generated code calls it with idemdb.Store. The package only talks to the database: the decisions
// are in package idem. What an error is it tells by its number, never by its text or SQLSTATE.
//
// These databases end a transaction under the handler in more ways than others: a deadlock rolls all of it back, and DDL, BEGIN
// and LOCK TABLES commit it. With autocommit on, what the handler does after that is committed statement by statement. So for the
// length of a delivery its connection has autocommit off, where all of it can still be undone, and the transaction is marked by a
// savepoint, which is gone when the transaction is: then the delivery is idem.ErrTransactionLost. Every setting of the session
// that is changed (autocommit, completion_type, the lock waits, the SQL mode and sql_safe_updates) is put back before the pool
// gets the connection again, and those that matter to the handler before it runs; a connection for which that fails is closed.
package idemmysql
