CREATE TABLE orders (
	id       text PRIMARY KEY,
	customer text NOT NULL,
	status   text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'confirmed', 'shipped', 'cancelled')),
	version  bigint NOT NULL DEFAULT 1,
	note     text
);

CREATE TABLE moves (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, order_id text NOT NULL, what text NOT NULL, event text NOT NULL);
