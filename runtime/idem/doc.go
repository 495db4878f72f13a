// Package idem makes a repeat of a handler harmless: a queue delivers an event twice, and its effect happens once.
//
// A [Handler] wraps a function that writes through a database transaction. Before the function runs, the handler claims
// the event's business key in a table of the same database, in the same transaction; the claim, the function's writes
// and its result commit together or not at all. A second delivery of the key finds the row and gets the stored result,
// without running the function. What is promised, and what is not, is in docs/guarantees.md.
//
// Generated code makes handlers, from a directive above the function (//idem:handler window=24h) and tags on its payload
// (idem:"key"). An application calls the generated wrapper and meets this package in these places:
//
//   - options of the generated constructor: [WithIsolation], [WithRetries], [WithInFlightTimeout], [WithCodec],
//     [WithObserver], [WithResultLimit], [WithShadow];
//   - errors that are not the function's own: each is an [*Error] with handler and key, and errors.Is or errors.As finds
//     [ErrZeroKey], [ErrPayloadMismatch], [*InProgressError] and the others in it;
//   - in a handler, [Permanent] for an error that no other run would mend, and [AfterCommit];
//   - in a handler without a transaction, [FromContext], whose [Run.ExternalKey] is for the outside system that it calls: see
//     [Lease];
//   - [Transition], for a change of a row's state, which a conditional update decides and not a key;
//   - the [Observer], which sees the [Outcome] of every delivery;
//   - [Handler], which the generated accessors return: [Handler.Mark] records events that were handled before,
//     and [Handler.InTx] delivers within a transaction that the caller has;
//   - [Guard.Check], at start-up, and a [Janitor], that deletes what is past its window.
//
// A [Guard] is made by idempgx.New, idemsql.New or idemmysql.New, which know how to talk to the database. This package does not: it
// decides, and a driver does.
package idem
