// Package sqltx is what the drivers on database/sql (idemsql, idemmysql) have in common: a session in a transaction of the
// caller's, which is a savepoint in it. How a database bounds the wait for a rival, and what its errors mean, each driver says
// by an Engine. Sessions that have a connection of their own are not here, but for how their transaction is opened: what is done
// with it is what differs.
package sqltx
