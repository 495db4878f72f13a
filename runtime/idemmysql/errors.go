package idemmysql

import (
	"errors"

	"github.com/go-sql-driver/mysql"

	"github.com/idemgen/idemgen/runtime/internal/driver"
)

// Numbers of errors, as the "Server Error Message Reference" of MySQL and the "MariaDB Error Code Reference" have them. Where
// only one of the two has a number it says so.
const (
	duplicate        = 1062
	noPoint          = 1305 // of RELEASE and ROLLBACK TO: there is no such savepoint
	lockWait         = 1205 // the wait for a lock was over: the statement is rolled back, and no more than that
	deadlock         = 1213 // the transaction is rolled back
	changed          = 1020 // MariaDB, with innodb_snapshot_isolation: a row is newer than the snapshot
	refusedByGroup   = 3101 // MySQL, group replication: the transaction is rolled back
	statementTimeout = 1969 // MariaDB: max_statement_time
	executionTimeout = 3024 // MySQL: max_execution_time
)

// number is the number that err or an error that it wraps carries, or 0.
func number(err error) uint16 {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return 0
	}
	return e.Number
}

// unfit is a table that takes the statements and does not do with them what a delivery needs.
type unfit struct{ what string }

func (e *unfit) Error() string { return e.what }

func classify(err error) driver.Class {
	var busy *driver.BusyError
	var table *unfit
	switch {
	case errors.As(err, &busy):
		return driver.Busy
	case errors.As(err, &table):
		return driver.Misfit
	case errors.Is(err, mysql.ErrPktTooLarge):
		return driver.NoRoom
	}
	switch number(err) {
	case deadlock, lockWait, changed, refusedByGroup:
		return driver.Conflict
	case
		1044, // no access to the database
		1142, // no access to the table
		1143, // no access to the column
		1227, // a privilege is needed
		1290, // the server runs with an option that forbids it, --read-only
		1792, // the transaction is read-only
		1836: // the server is read-only
		return driver.Denied
	case
		1046, // no database selected
		1048, // a column cannot be null
		1049, // unknown database
		1054, // unknown column
		1064, // not understood: an engine older than the statements
		1109, // unknown table
		1136, // another number of columns
		1146, // no such table
		1264, // out of the column's range
		1265, // truncated for the column
		1364, // a column without a default
		1366, // not a value of the column's type
		1406, // too long for the column
		1932, // the table's file is gone; MariaDB
		3819, // a CHECK; MySQL
		4025: // a CHECK; MariaDB
		return driver.Misfit
	case
		1153, // over max_allowed_packet
		1301: // a function's value over it
		return driver.NoRoom
	default:
		return driver.Other
	}
}

// definite reports whether an error in answer to COMMIT tells that it did not take place. One that comes with the server's or
// the connection's end may have been said by somebody who did not know, a proxy also, and one that interrupts a COMMIT which
// waits for a replica comes after the commit.
func definite(err error) bool {
	switch number(err) {
	case
		0,    // no answer
		1047, // a node that is not in its cluster; Galera
		1053, // the server is shutting down
		1077, 1078, 1079,
		1105,                   // an error that has no other number
		1152,                   // connection aborted
		1158, 1159, 1160, 1161, // the network
		1180,                                                       // an error during COMMIT
		1184,                                                       // connection aborted
		1317,                                                       // interrupted
		1927,                                                       // the connection was killed; MariaDB
		2000, 2001, 2002, 2003, 2006, 2012, 2013, 2014, 2027, 2055, // a client's errors, which a proxy passes on
		statementTimeout, executionTimeout,
		3169,       // the session was killed; MySQL
		4031, 4032: // the client was idle for too long; MySQL
		return false
	default:
		return true
	}
}
