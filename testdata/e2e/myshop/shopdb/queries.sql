-- name: TakeStock :execrows
UPDATE stock SET on_hand = on_hand - sqlc.arg(quantity) WHERE sku = sqlc.arg(sku);
