package e2e

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"
)

// modes are the ways in which a driver can speak to PostgreSQL. lib/pq has two: without binary_parameters, and with it.
func (d driver) modes() []pgx.QueryExecMode {
	if d.name == "pq" {
		return []pgx.QueryExecMode{pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec}
	}
	return []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	}
}

// Every way in which a driver can speak to the server, those included that a transaction-pooling proxy needs.
func TestExecModes(t *testing.T) {
	t.Parallel()
	for _, d := range onPostgres() {
		for _, mode := range d.modes() {
			t.Run(d.name+" "+mode.String(), func(t *testing.T) {
				t.Parallel()
				d.need(t)
				s := d.open(t, setup{options: []idem.Option{long}, conn: inMode(mode)})
				s.everything(t)
			})
		}
	}
}

// inMode has a connection speak in one mode, and cache nothing in those that are for proxies.
func inMode(mode pgx.QueryExecMode) func(*pgx.ConnConfig) {
	return func(c *pgx.ConnConfig) {
		c.DefaultQueryExecMode = mode
		if mode == pgx.QueryExecModeExec || mode == pgx.QueryExecModeSimpleProtocol {
			c.StatementCacheCapacity, c.DescriptionCacheCapacity = 0, 0
		}
	}
}

// everything goes once through all that a row can be to a delivery.
func (s *shop) everything(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	s.twice(t)

	changed := order()
	_, err := s.PlaceOrder(ctx, changed)
	require.NoError(t, err)
	changed.Total++
	_, err = s.PlaceOrder(ctx, changed)
	require.ErrorIs(t, err, idem.ErrPayloadMismatch)

	s.expire(t)
	_, err = s.PlaceOrder(ctx, changed)
	require.NoError(t, err, "taken over")

	winner := s.park(t)
	e := order()
	first := s.deliver(ctx, e)
	<-winner.reached
	second := s.deliver(ctx, e)
	s.awaitRivals(t, 1)
	winner.letGo <- nil
	won, repeat := <-first, <-second
	require.NoError(t, won.err)
	require.NoError(t, repeat.err)
	assert.Equal(t, won.Receipt, repeat.Receipt)

	if s.postgres {
		s.swallow(t)
		_, err = s.PlaceOrder(ctx, order())
		require.ErrorIs(t, err, idem.ErrTransactionAborted)
		require.ErrorIs(t, s.AuditOrder(ctx, order()), idem.ErrTransactionAborted)
	}

	s.placeOrder = s.receipt
	joined := order()
	c := s.Begin(t)
	got, err := c.place(ctx, joined)
	require.NoError(t, err)
	_, err = c.place(ctx, joined)
	require.ErrorIs(t, err, idem.ErrReentrant)
	require.NoError(t, c.commit(ctx))
	again, err := s.PlaceOrder(ctx, joined)
	require.NoError(t, err)
	assert.Equal(t, got, again)

	require.NoError(t, s.Check(ctx))
	s.expire(t)
	before := len(s.rows(t))
	swept, err := s.Janitor(idem.WithSweepBatch(2)).Once(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, before, swept.Removed)
	s.returned(t)
}
