// Package e2e tests what idemgen generates, and the runtime under it, against real databases: PostgreSQL through pgx and
// through database/sql with pgx's stdlib and with lib/pq, and SQLite with modernc's driver and with mattn's. Packages pgxshop,
// stdshop and liteshop are the code under test, with everything in them made by the tool; the tests supply what their
// handlers do.
//
// PostgreSQL comes from package pgtest: the server that IDEMGEN_TEST_POSTGRES names, or a throwaway one. Each test has
// a database of its own there, so tests run in parallel. Where there is no PostgreSQL its tests are left out, and the
// run says so at its end; IDEMGEN_REQUIRE=postgres makes that a failure. So it is with pgbouncer (package bouncer), and with
// mattn's driver in a build without cgo.
package e2e
