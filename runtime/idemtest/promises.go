package idemtest

// promises are the rows of docs/guarantees.md, by their numbers there.
var promises = []promise{
	{"1", "one committed run for each key"},
	{"2", "a repeat gets the first result"},
	{"3", "a rival is waited for"},
	{"4", "the wait is bounded"},
	{"5", "a failed run leaves nothing"},
	{"6", "a killed worker leaves all or nothing"},
	{"7", "a swallowed error is no success"},
	{"8", "a COMMIT without an answer is asked about"},
	{"9", "a conflict is run again"},
	{"10", "a zero key is an error"},
	{"11", "two keys never meet"},
	{"12", "another payload is a mismatch"},
	{"13", "a result that cannot be returned is no second run"},
	{"14", "the window is by the database's clock"},
	{"15", "errors are told by code"},
	{"16", "round trips"},
	{"17", "a permanent failure is recorded"},
	{"18", "AfterCommit is at most once"},
	{"19", "a table that is wrong is named"},
	{"20", "Mark records without a run"},
	{"21", "a janitor deletes what is past its window"},
	{"22", "InTx is in the caller's transaction"},
	{"L1", "of many deliveries one runs"},
	{"L2", "a lease is renewed"},
	{"L3", "the lease of the dead passes"},
	{"L4", "a late owner changes nothing"},
	{"L5", "the context ends with the lease"},
	{"L6", "a failed run gives the key back"},
	{"L7", "the end is recorded"},
	{"L8", "a lease that is met is in progress"},
	{"L9", "only final rows expire"},
	{"L10", "round trips of a lease"},
	{"L11", "a claim without an answer is known by its owner"},
	{"L12", "a delivery that ends holds nothing"},
	{"L14", "Mark of a lease is one statement"},
	{"L15", "in shadow mode no key is parked"},
	{"T1", "of many deliveries one moves the row"},
	{"T2", "row and effects are one commit"},
	{"T3", "a row that is there makes a repeat"},
	{"T4", "another state is a conflict"},
	{"T5", "another version is stale"},
	{"T6", "many rows are rolled back"},
	{"T7", "every row takes a way that there is"},
	{"T8", "with a key two events are told apart"},
	{"T9", "a COMMIT of a transition is asked about"},
	{"T10", "a row that is held is waited for"},
	{"T11", "triggers do not lie"},
	{"T12", "InTx of a transition"},
	{"T13", "round trips of a transition"},
}

// elsewhere are the promises that other tests hold, and why not the suite.
var elsewhere = []promise{
	{"23", "it is about a proxy in front of one engine"},
	{"24", "it is about servers that end or are away, of which each test has its own"},
	{"T14", "it is about what the tool refuses, before there is a driver"},
	{"L13", "it is about the clock of another process, which each driver's own test changes"},
}

// Elsewhere are the numbers of the promises in docs/guarantees.md that are not the suite's to prove, each with the reason.
func Elsewhere() map[string]string {
	all := map[string]string{}
	for _, p := range elsewhere {
		all[p.number] = p.words
	}
	return all
}
