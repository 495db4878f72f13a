CREATE TABLE orders (
	id       VARCHAR(36) NOT NULL PRIMARY KEY,
	customer VARCHAR(100) NOT NULL,
	status   ENUM('pending', 'confirmed', 'shipped', 'cancelled') NOT NULL DEFAULT 'pending',
	version  BIGINT NOT NULL DEFAULT 1,
	note     VARCHAR(100)
);

CREATE TABLE moves (id BIGINT AUTO_INCREMENT PRIMARY KEY, order_id VARCHAR(36) NOT NULL, what VARCHAR(20) NOT NULL, event VARCHAR(100) NOT NULL);
