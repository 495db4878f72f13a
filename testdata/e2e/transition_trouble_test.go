package e2e

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// A COMMIT whose answer is lost took place: the row says so.
func TestTransition_CommittedWithoutAnswer(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		o := openOrders(t, d, seen(setup{}))
		id := o.order(t, "pending")
		o.loseCommit()
		require.NoError(t, o.Confirm(t.Context(), moved(id)))
		assert.Equal(t, idem.OutcomeSettled, o.last(t))
		assert.Equal(t, "confirmed 2", o.found(t, id))
		assert.Equal(t, 1, o.moves(t, id, "confirm"))
		o.returned(t)

		// With a key, it is the key that says so.
		id = o.order(t, "pending")
		o.loseCommit()
		require.NoError(t, o.PayNow(t.Context(), events.Paid{PaymentID: "p", OrderID: id}))
		assert.Equal(t, idem.OutcomeSettled, o.last(t))
		assert.Equal(t, "confirmed 1", o.found(t, id))
	})
}

// A COMMIT that never arrived did not take place, and the transition runs again at once.
func TestTransition_CommitNeverArrived(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		o := openOrders(t, d, seen(setup{}))
		id := o.order(t, "pending")
		broken := o.breakCommit(t)
		require.NoError(t, o.Confirm(t.Context(), moved(id)))
		<-broken
		assert.Equal(t, idem.OutcomeExecuted, o.last(t))
		assert.Equal(t, "confirmed 2", o.found(t, id))
		assert.Equal(t, 1, o.moves(t, id, "confirm"))
		o.returned(t)
	})
}

// A COMMIT without an answer of a row that has been moved on since is neither success nor conflict: who takes it for a conflict, in
// which nothing ran, may undo what was done.
func TestTransition_MovedOnWithoutAnswer(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		if d.mysql {
			return // there, a trigger cannot change the table that it is on
		}
		on := `CREATE TRIGGER moved_on AFTER UPDATE ON orders WHEN NEW.status = 'confirmed' BEGIN
			UPDATE orders SET status = 'cancelled' WHERE id = NEW.id; END`
		if d.postgres {
			on = `CREATE FUNCTION moved_on() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
					UPDATE orders SET status = 'cancelled' WHERE id = NEW.id AND status = 'confirmed'; RETURN NULL; END $$;
				CREATE TRIGGER moved_on AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION moved_on()`
		}
		o := openOrders(t, d, seen(setup{}), on)
		id := o.order(t, "pending")
		o.loseCommit()
		err := o.Confirm(t.Context(), moved(id))
		require.ErrorIs(t, err, idem.ErrCommitUnknown)
		assert.Equal(t, idem.OutcomeError, o.last(t))
		var conflict *idem.ConflictError
		require.False(t, errors.As(err, &conflict), "%v", err)
		require.ErrorContains(t, err, "cancelled", "it is told all the same")
		assert.Equal(t, 1, o.moves(t, id, "confirm"))
	})
}

// The same without code, where the UPDATE commits by itself; through database/sql on PostgreSQL there is a COMMIT to lose.
func TestTransition_UpdateWithoutAnswer(t *testing.T) {
	each(t, onServers(), func(t *testing.T, d driver) {
		set := seen(setup{mysql: func(c *mysql.Config) { c.InterpolateParams = true }})
		o := openOrders(t, d, set)
		id := o.order(t, "pending")
		const update = "UPDATE orders"
		switch {
		case o.mysql:
			o.wire.Lose(update)
		case o.code == "std":
			o.loseCommit()
		default:
			o.proxy.Lose(update)
		}
		require.NoError(t, o.JustConfirm(t.Context(), moved(id)))
		assert.Equal(t, idem.OutcomeSettled, o.last(t))
		assert.Equal(t, "confirmed 2", o.found(t, id))
		o.returned(t)
	})
}

// An UPDATE that is all of its transaction, and that reaches the server only when the delivery has given it up, holds nothing that the
// question would meet. A delivery that runs it again has moved the row, and what comes late finds that; one that does not, since it may
// not or its caller has gone, does not know.
func TestTransition_UpdateArrivesLate(t *testing.T) {
	each(t, driversThat(func(d driver) bool { return d.name == "pgx" || d.mysql }), func(t *testing.T, d driver) {
		for _, again := range []bool{true, false} {
			set := seen(setup{mysql: func(c *mysql.Config) { c.InterpolateParams = true }})
			if !again {
				set.options = []idem.Option{idem.WithRetries(0)}
			}
			o := openOrders(t, d, set)
			id := o.order(t, "pending")
			deliver, arrive := o.lateUpdate(t)
			if err := deliver(moved(id), again); again {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, idem.ErrCommitUnknown)
				assert.Equal(t, "pending 1", o.found(t, id))
			}
			arrive()
			eventually(t, func() bool { return o.found(t, id) == "confirmed 2" })
			o.returned(t)
		}
	})
}

// lateUpdate cuts a delivery off at its UPDATE, which arrives only afterwards. On MariaDB the connection breaks; on PostgreSQL the
// caller gives up, if it is not to try again.
func (o *orders) lateUpdate(t *testing.T) (deliver func(e events.Moved, again bool) error, arrive func()) {
	const update = "UPDATE orders"
	if o.mysql {
		held := o.wire.Hold(update)
		return func(e events.Moved, _ bool) error { return o.JustConfirm(t.Context(), e) }, func() { require.NoError(t, held.Send()) }
	}
	ctx, cancel := context.WithCancel(t.Context())
	late := make(chan struct{})
	return func(e events.Moved, again bool) error {
		if !again {
			o.proxy.Before(update, func() {
				cancel()
				<-late
			})
		}
		return o.JustConfirm(ctx, e)
	}, func() { close(late) }
}

// A row that another transaction holds is waited for, within the in-flight time. What that one does with it decides.
func TestTransition_RivalHoldsTheRow(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		o := openOrders(t, d, setup{options: []idem.Option{idem.WithInFlightTimeout(time.Second)}})
		id := o.order(t, "pending")
		rival, err := o.look.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = rival.ExecContext(t.Context(), o.spell(`UPDATE orders SET note = 'rival' WHERE id = $1`), id)
		require.NoError(t, err)
		for _, deliver := range []func(context.Context, events.Moved) error{o.Confirm, o.JustConfirm} {
			var busy *idem.InProgressError
			require.ErrorAs(t, deliver(t.Context(), moved(id)), &busy)
			assert.Equal(t, idem.OutcomeInProgress, o.last(t))
		}
		require.NoError(t, rival.Rollback())
		o.returned(t)
		assert.Equal(t, "pending 1", o.found(t, id))
		require.NoError(t, o.Confirm(t.Context(), moved(id)))
		assert.Equal(t, 1, o.moves(t, id, "confirm"))
	})
}

// A delivery that waits for another one runs if that one fails.
func TestTransition_RivalFails(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		o := openOrders(t, d, setup{options: []idem.Option{long}})
		id, works := o.order(t, "pending"), o.body
		reached, letGo := make(chan struct{}), make(chan struct{})
		o.body = func(ctx context.Context, tx Tx, what, order, event string) error {
			if err := works(ctx, tx, what, order, event); err != nil || event != "first" {
				return err
			}
			close(reached)
			<-letGo
			return errBusiness
		}
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- o.Confirm(t.Context(), events.Moved{OrderID: id, Event: "first"}) }()
		<-reached
		go func() { second <- o.Confirm(t.Context(), events.Moved{OrderID: id, Event: "second"}) }()
		o.awaitRivals(t, 1)
		close(letGo)
		require.ErrorIs(t, <-first, errBusiness)
		require.NoError(t, <-second)
		assert.Equal(t, 1, o.moves(t, id, "confirm"))
		assert.Equal(t, "confirmed 2", o.found(t, id))
	})
}

// Effects 36 and 38: the UPDATE decides and comes first. Whatever was read before counts for nothing, and a row that cannot be
// moved has no history written.
func TestEffects36And38_UpdateFirst(t *testing.T) {
	eachOrders(t, func(t *testing.T, o *orders) {
		id := o.order(t, "pending")
		ran := 0
		works := o.body
		o.body = func(ctx context.Context, tx Tx, what, order, event string) error {
			ran++
			n, err := tx.Int(ctx, `SELECT count(*) FROM orders WHERE id = $1 AND version = 2`, order)
			if err != nil {
				return err
			}
			if n != 1 {
				return errors.New("the handler runs before the row has moved")
			}
			return works(ctx, tx, what, order, event)
		}
		require.NoError(t, o.Confirm(t.Context(), moved(id)))
		var conflict *idem.ConflictError
		require.ErrorAs(t, o.Ship(t.Context(), moved(o.order(t, "pending"))), &conflict)
		assert.Equal(t, 1, ran)
		assert.Equal(t, 1, o.count(t, `SELECT count(*) FROM moves`))
	})
}

// Effects 37: a late repeat, after the row has gone on, is a repeat where //idem:states says that there is no other way; of a
// state that has another way to it, it is a conflict.
func TestEffects37_LateRepeat(t *testing.T) {
	eachOrders(t, func(t *testing.T, o *orders) {
		id, e := o.order(t, "pending"), events.Moved{}
		e.OrderID = id
		require.NoError(t, o.Confirm(t.Context(), e))
		require.NoError(t, o.Ship(t.Context(), e))
		require.NoError(t, o.Confirm(t.Context(), e))
		assert.Equal(t, idem.OutcomeDuplicate, o.last(t))

		e.OrderID = o.order(t, "pending")
		require.NoError(t, o.Confirm(t.Context(), e))
		require.NoError(t, o.Cancel(t.Context(), e))
		var conflict *idem.ConflictError
		require.ErrorAs(t, o.Confirm(t.Context(), e), &conflict, "cancelled may have come from pending, so a person has to look")
	})
}

// Effects 39: triggers that do not touch the change leave the count of rows right, in partitions too; one that suppresses it is
// an error, and nothing is taken for done.
func TestEffects39_Triggers(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		noting := `CREATE TRIGGER noting BEFORE UPDATE ON orders FOR EACH ROW SET NEW.note = 'seen'`
		switch {
		case d.postgres:
			noting = `CREATE FUNCTION noting() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := 'seen'; RETURN NEW; END $$;
				CREATE TRIGGER noting BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION noting()`
		case !d.mysql:
			noting = `CREATE TRIGGER noting AFTER UPDATE ON orders WHEN NEW.note IS NULL BEGIN UPDATE orders SET note = 'seen' WHERE id = NEW.id; END`
		}
		o := openOrders(t, d, setup{}, noting)
		id := o.order(t, "pending")
		require.NoError(t, o.Confirm(t.Context(), moved(id)))
		require.NoError(t, o.Confirm(t.Context(), moved(id)))
		assert.Equal(t, "confirmed 2", o.found(t, id))
		assert.Equal(t, 1, o.moves(t, id, "confirm"))
		assert.Equal(t, 1, o.count(t, `SELECT count(*) FROM orders WHERE note = 'seen'`))
		if d.mysql {
			return // there, a trigger cannot: it fails, or the row changes
		}
		o = openOrders(t, d, setup{}, suppressing(d))
		id = o.order(t, "pending")
		for _, deliver := range []func(context.Context, events.Moved) error{o.Confirm, o.JustConfirm} {
			require.ErrorIs(t, deliver(t.Context(), moved(id)), idem.ErrUnmoved)
			assert.Equal(t, idem.OutcomeError, o.last(t))
		}
		require.ErrorIs(t, o.PayNow(t.Context(), events.Paid{PaymentID: "p", OrderID: id}), idem.ErrUnmoved)
		assert.Equal(t, "pending 1", o.found(t, id))
		assert.Zero(t, o.moves(t, id, "confirm"))
		assert.Empty(t, o.rows(t))
	})
}

// Effects 39: rows of a partitioned table, which a change of state moves from one partition to another.
func TestEffects39_Partitions(t *testing.T) {
	each(t, onPostgres()[1:], func(t *testing.T, d driver) {
		o := openOrders(t, d, setup{options: []idem.Option{long}}, `DROP TABLE orders;
			CREATE TABLE orders (id text NOT NULL, customer text NOT NULL, status text NOT NULL DEFAULT 'pending', version bigint NOT NULL DEFAULT 1,
				note text, PRIMARY KEY (id, status)) PARTITION BY LIST (status);
			CREATE TABLE open PARTITION OF orders FOR VALUES IN ('pending', 'confirmed');
			CREATE TABLE closed PARTITION OF orders FOR VALUES IN ('shipped', 'cancelled')`)
		live(t, o, 20)
		assert.Positive(t, o.count(t, `SELECT count(*) FROM closed`))
	})
}

// A handler that ends its transaction has left the row's change without its own writes, or the other way round: a person has to
// look, and is told.
func TestTransition_EndedByTheHandler(t *testing.T) {
	each(t, onSQL(), func(t *testing.T, d driver) {
		o := openOrders(t, d, setup{})
		id := o.order(t, "pending")
		for _, end := range []func(*sql.Tx) error{(*sql.Tx).Commit, (*sql.Tx).Rollback} {
			o.body = func(ctx context.Context, tx Tx, what, order, event string) error { return end(tx.(sqlTx).tx.(*sql.Tx)) }
			o.exec(t, `UPDATE orders SET status = 'pending'`)
			require.ErrorIs(t, o.Confirm(t.Context(), moved(id)), idem.ErrTransactionLost)
			assert.Equal(t, idem.OutcomeError, o.last(t))
			o.returned(t)
		}
	})
}

// An error of a statement that the handler swallows is no success, on PostgreSQL.
func TestTransition_SwallowedError(t *testing.T) {
	each(t, onPostgres(), func(t *testing.T, d driver) {
		o := openOrders(t, d, setup{})
		id := o.order(t, "pending")
		o.body = func(ctx context.Context, tx Tx, what, order, event string) error {
			_, err := tx.Exec(ctx, `SELECT 1 / 0`)
			assert.Error(t, err)
			return nil
		}
		require.ErrorIs(t, o.Confirm(t.Context(), moved(id)), idem.ErrTransactionAborted)
		assert.Equal(t, "pending 1", o.found(t, id))
	})
}

// On PostgreSQL and SQLite the table of keys need not be there for a transition without a key.
func TestTransition_WithoutTheTableOfKeys(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		o := openOrders(t, d, setup{}, `DROP TABLE idempotency_keys`)
		id := o.order(t, "pending")
		require.NoError(t, o.Confirm(t.Context(), moved(id)))
		require.NoError(t, o.Confirm(t.Context(), moved(id)))
		require.NoError(t, o.Ship(t.Context(), moved(id)))
		require.NoError(t, o.JustConfirm(t.Context(), moved(id)))
		assert.Equal(t, "shipped 3", o.found(t, id))
	})
}

// A table of the user's that is not there is the database's own error, which names it.
func TestTransition_TableMissing(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		o := openOrders(t, d, setup{})
		o.exec(t, `DROP TABLE orders`)
		for _, deliver := range []func(context.Context, events.Moved) error{o.Confirm, o.JustConfirm} {
			err := deliver(t.Context(), events.Moved{OrderID: "0f0e0d0c-0b0a-0908-0706-050403020100"})
			require.ErrorContains(t, err, "orders")
			var table *idem.TableError
			assert.False(t, errors.As(err, &table), "it is not idemgen's table")
		}
		o.returned(t)
	})
}
