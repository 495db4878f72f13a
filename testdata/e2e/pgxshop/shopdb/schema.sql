CREATE TABLE stock (sku text PRIMARY KEY, on_hand bigint NOT NULL);
CREATE TABLE effects (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text NOT NULL, worker text NOT NULL);
CREATE TABLE once (what text PRIMARY KEY);
