// Package schema reads the definition of the user's tables: what columns a table has, of what types, which of them hold
// which states, and by which a row is known. Package analyze holds transitions against it.
//
// It is not a catalog of a database: it knows what DDL tells, and says where that ends. What it cannot tell is left open
// rather than guessed, and guarded at run time.
//
// Each engine is asked in its own way: PostgreSQL's and MySQL's DDL is parsed by the parsers that sqlc uses too; SQLite's is
// executed by SQLite itself, in memory, and the outcome is asked for.
package schema
