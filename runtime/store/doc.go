// Package store is the contract between the runtime and the generated idemdb package: what a claim is, what a row
// holds, and the queries that idemdb.Store implements with sqlc's output.
//
// It is a leaf: it imports nothing but the standard library. The drivers (idempgx, idemsql, idemmysql) decide on which connection
// and in which pipeline a query runs; this package only names the queries. Handlers and their authors have no use for
// it. A change here is a change of protocol: see idem.Protocol1_else_go_generate_or_go_get_the_runtime.
package store
