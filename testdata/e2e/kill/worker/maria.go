package main

import (
	"context"
	"database/sql"
	"regexp"

	"github.com/go-sql-driver/mysql"

	"github.com/idemgen/idemgen/testdata/e2e/myorders"
	"github.com/idemgen/idemgen/testdata/e2e/myshop"
)

// parameters are those of a statement as PostgreSQL writes them.
var parameters = regexp.MustCompile(`\$\d+`)

// deadlock fails as MariaDB does for a transaction that lost against another one. The server does not roll it back for that.
const deadlock = `SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213`

func (w *worker) openMaria(s *stop) (shop, error) {
	config, err := mysql.ParseDSN(w.job.Server)
	if err != nil {
		return shop{}, err
	}
	config.DBName = w.job.Place
	config.Logger = &mysql.NopLogger{} // it tells of every connection that is lost here
	config.InterpolateParams = w.job.Texts
	config.DialFunc = w.network(s).dial
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return shop{}, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(conns)
	body := w.bodySQL(engine{
		spell:    func(query string) string { return parameters.ReplaceAllString(query, "?") },
		conflict: func(ctx context.Context, exec statement) error { return exec(ctx, deadlock) },
	})
	service := myshop.NewIdempotentService(&myshop.Service{OnPlaceOrder: body.place, OnAuditOrder: body.audit}, db)
	cards := myshop.NewIdempotentCards(charging{w}, db)
	shop := sqlShop(db, service, cards)
	shop.moves = movesSQL(db, myorders.NewIdempotentService(&myorders.Service{OnConfirm: body.confirm, OnPay: body.pay}, db), myorders.NewIdempotentMoves(db))
	return shop, nil
}
