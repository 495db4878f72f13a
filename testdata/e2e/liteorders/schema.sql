CREATE TABLE orders (
	id       TEXT PRIMARY KEY,
	customer TEXT NOT NULL,
	status   TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'confirmed', 'shipped', 'cancelled')),
	version  INTEGER NOT NULL DEFAULT 1,
	note     TEXT
) STRICT;

CREATE TABLE moves (id INTEGER PRIMARY KEY, order_id TEXT NOT NULL, what TEXT NOT NULL, event TEXT NOT NULL) STRICT;
