CREATE TABLE stock  (sku TEXT PRIMARY KEY, on_hand INTEGER NOT NULL);
CREATE TABLE orders (number INTEGER PRIMARY KEY, order_id TEXT NOT NULL, total INTEGER NOT NULL);
CREATE TABLE ledger (entry INTEGER PRIMARY KEY, payment_id TEXT NOT NULL, amount INTEGER NOT NULL);
CREATE TABLE outbox (mail INTEGER PRIMARY KEY, payment_id TEXT NOT NULL, customer TEXT NOT NULL);

INSERT INTO stock VALUES ('bread', 1000), ('coffee', 1000), ('honey', 1000), ('milk', 1000), ('tea', 1000);
