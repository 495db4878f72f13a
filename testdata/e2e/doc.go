// Package e2e tests what idemgen generates, and the runtime under it, against real databases: PostgreSQL through pgx and
// through database/sql with pgx's stdlib and with lib/pq, MariaDB, and SQLite with modernc's driver and with mattn's. Packages
// pgxshop, stdshop, myshop and liteshop are the code under test, with everything in them made by the tool; the tests supply what
// their handlers do.
//
// PostgreSQL comes from package pgtest: the server that IDEMGEN_TEST_POSTGRES names, or a throwaway one. Likewise MariaDB from
// package mytest, by IDEMGEN_TEST_MYSQL, and PgBouncer from package bouncer. Each test has a database of its own there, so tests
// run in parallel. Where a server is missing its tests are left out, and the run says so at its end, as it does of mattn's driver
// in a build without cgo; IDEMGEN_REQUIRE=postgres,mariadb,pgbouncer,mattn makes that a failure.
package e2e
