// Package e2e tests what idemgen generates, and the runtime under it, against real databases: PostgreSQL through pgx and
// through database/sql, MariaDB, and SQLite. Packages pgxshop, stdshop, myshop and liteshop are the code under test, one for
// each driver, with everything in them made by the tool; the tests supply what their handlers do.
//
// PostgreSQL comes from package pgtest: the server that IDEMGEN_TEST_POSTGRES names, or a throwaway one. Likewise MariaDB from
// package mytest, by IDEMGEN_TEST_MYSQL. Each test has a database of its own there, so tests run in parallel. Where a server is
// missing its tests are left out, and the run says so at its end; IDEMGEN_REQUIRE=postgres,mariadb makes that a failure.
package e2e
