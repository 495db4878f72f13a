// Package point names the places in the engine where a worker that is killed leaves something different behind: a claim that
// was sent, an effect that is not committed, an end that is not acknowledged. points.go is the list of them.
//
// A build with the tag idem_points stops where the environment variable IDEMGEN_POINT says: the process prints the point's
// name and stays there until it is killed. The kill matrix (TestKillMatrix in testdata/e2e) does that to a worker process at
// every point of the list. Other builds have no trace of a point: [At] is empty, and inlined.
//
// A point is no place to do something at: it takes no arguments, and nothing depends on it. It is for tests that kill; one that
// needs a delivery to wait somewhere has its handler, a proxy or a hooked driver for that.
package point
