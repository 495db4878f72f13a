CREATE TABLE stock (sku varchar(191) PRIMARY KEY, on_hand bigint NOT NULL) ENGINE = InnoDB;
CREATE TABLE effects (id bigint AUTO_INCREMENT PRIMARY KEY, what varchar(255) NOT NULL, worker varchar(255) NOT NULL) ENGINE = InnoDB;
CREATE TABLE once (what varchar(191) PRIMARY KEY) ENGINE = InnoDB;
