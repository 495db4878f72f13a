// Package idemtest tests what idemgen's runtime promises.
//
// For users there is [InMemory]: an option that has handlers with a lease keep their keys in memory, so that they, and the
// consumers that call them, can be tested without a database.
//
// For the drivers there is [Conformance]: every promise of docs/guarantees.md as subtests, by number, that each driver's test
// runs against its database. A [Backend] gives the suite the database; a [Matrix] collects what held where. Drivers are a
// part of the guarantee and are not for outsiders to write, so that this half is of use to idemgen alone.
package idemtest
