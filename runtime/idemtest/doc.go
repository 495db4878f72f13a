// Package idemtest tests handlers that idemgen guards, and what idemgen's runtime promises.
//
// For users there are two things. [Replay] takes a handler, a way to make events and a way to count what they did, and
// delivers as a bad queue would: again, at once, to a worker that dies, over a connection that breaks at COMMIT. It says what
// broke in the words of who wrote the handler. "idemgen generate -tests" writes such a test for each handler, to be filled in:
//
//	func TestServicePlaceOrderReplay(t *testing.T) {
//		db := openTestDatabase(t)
//		idemtest.Replay(t, idemtest.Case[OrderPlaced, Receipt]{
//			Handler: func(opts ...idem.Option) idemtest.Handler[OrderPlaced, Receipt] {
//				return NewIdempotentService(&Service{}, db, opts...).PlaceOrderHandler()
//			},
//			Event: func(i int) OrderPlaced { return OrderPlaced{OrderID: fmt.Sprintf("order-%d", i), Total: 100} },
//			Effects: func(ctx context.Context, e OrderPlaced) (n int, err error) {
//				err = db.QueryRow(ctx, `SELECT count(*) FROM orders WHERE order_id = $1`, e.OrderID).Scan(&n)
//				return n, err
//			},
//		})
//	}
//
// [InMemory] is an option that has handlers with a lease keep their keys in memory, so that they, and the consumers that call
// them, can be tested without a database.
//
// For the drivers there is [Conformance]: every promise of docs/guarantees.md as subtests, by number, that each driver's test
// runs against its database. A [Backend] gives the suite the database; a [Matrix] collects what held where. Drivers are a
// part of the guarantee and are not for outsiders to write, so that this half is of use to idemgen alone.
//
// The package is not for programs: it imports package testing, and its options make deliveries go wrong or be forgotten.
package idemtest
