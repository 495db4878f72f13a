CREATE TABLE order_status (
	order_id TEXT PRIMARY KEY,
	status   TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'confirmed', 'shipped', 'cancelled')),
	version  INTEGER NOT NULL DEFAULT 1
) STRICT;

-- What the transitions did, in the order in which they did it.
CREATE TABLE order_log (entry INTEGER PRIMARY KEY, order_id TEXT NOT NULL, did TEXT NOT NULL) STRICT;
