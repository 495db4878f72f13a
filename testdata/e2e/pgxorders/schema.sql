CREATE TYPE order_status AS ENUM ('pending', 'confirmed', 'shipped', 'cancelled');

CREATE TABLE orders (
	id       uuid PRIMARY KEY,
	customer text NOT NULL,
	status   order_status NOT NULL DEFAULT 'pending',
	version  bigint NOT NULL DEFAULT 1,
	note     text
);

CREATE TABLE moves (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, order_id text NOT NULL, what text NOT NULL, event text NOT NULL);
