package idem

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/idemgen/idemgen/runtime/store"
)

func TestMark(t *testing.T) {
	t.Parallel()
	for _, completes := range []bool{true, false} {
		t.Run(fmt.Sprintf("claim completes %t", completes), func(t *testing.T) {
			t.Parallel()
			db, c, w := newFake(t), counter{}, watcher{}
			db.claimCompletes = completes
			g := db.guard(WithObserver(&w))
			h := NewHandler(g, orderSpec(), c.place)
			for _, ref := range []string{"before", "another"} {
				if err := h.Mark(t.Context(), order{ID: "a"}, receipt{ref}); err != nil {
					t.Fatal(err)
				}
			}
			if len(w.seen) != 0 {
				t.Errorf("observed: %+v", w.seen)
			}
			if r, err := h.Do(t.Context(), order{ID: "a"}); err != nil || r.Ref != "before" || c.runs() != 0 {
				t.Errorf("the repeat: %v, %v", r, err)
			}
			if err := h.Mark(t.Context(), order{ID: "a", Amount: 1}, receipt{}); !errors.Is(err, ErrPayloadMismatch) {
				t.Errorf("with another payload: %v", err)
			}
			if err := h.Mark(t.Context(), order{}, receipt{}); !errors.Is(err, ErrZeroKey) || !errors.As(err, new(*Error)) {
				t.Errorf("without a key: %v", err)
			}

			spec := orderSpec()
			spec.Name = "orders.Reserve"
			plain := NewHandler(g, spec, NoResult(c.reserve))
			if err := plain.Mark(t.Context(), order{ID: "a"}, struct{}{}); err != nil {
				t.Error(err)
			}
			if _, err := plain.Do(t.Context(), order{ID: "a"}); err != nil || c.runs() != 0 {
				t.Errorf("the repeat without a result: %v", err)
			}
		})
	}
}

func TestMarkMeetsARow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		row  store.Row
		want func(error) bool
	}{
		"expired":         {store.Row{State: store.Done, Expired: true}, func(err error) bool { return err == nil }},
		"omitted":         {store.Row{State: store.Done}, func(err error) bool { return err == nil }},
		"of another kind": {store.Row{State: store.Done, Result: []byte("}")}, func(err error) bool { return err == nil }},
		"failed":          {store.Row{State: store.Failed}, func(err error) bool { return errors.As(err, new(*FailedError)) }},
		"open":            {store.Row{State: store.Open}, func(err error) bool { return errors.Is(err, ErrTransactionLost) }},
	} {
		db, c := newFake(t), counter{}
		db.putRow("orders.Place", "a", tt.row)
		if err := NewHandler(db.guard(), orderSpec(), c.place).Mark(t.Context(), order{ID: "a"}, receipt{"marked"}); !tt.want(err) {
			t.Errorf("%s: got %v", name, err)
		}
		if row, _ := db.row("orders.Place", "a"); (string(row.Result) == `{"Ref":"marked"}`) != (name == "expired") {
			t.Errorf("%s: the row is %+v", name, row)
		}
	}
}

func TestMarkFails(t *testing.T) {
	t.Parallel()
	db, c := newFake(t), counter{}
	db.fault = func(step string, _ int) error {
		if step == "commit" {
			return errBroken
		}
		return nil
	}
	h := NewHandler(db.guard(), orderSpec(), c.place)
	if err := h.Mark(t.Context(), order{ID: "a"}, receipt{}); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	if err := NewHandler(db.guard(WithRetries(-1)), orderSpec(), c.place).Mark(t.Context(), order{ID: "a"}, receipt{}); err == nil {
		t.Error("with a wrong option")
	}
	bad := NewHandler(db.guard(WithCodec(rawCodec{errBroken})), Spec[order]{Name: "raw", Window: MinWindow, Key: orderSpec().Key},
		func(context.Context, fakeTx, order) (string, error) { return "", nil })
	if err := bad.Mark(t.Context(), order{ID: "a"}, "x"); !errors.Is(err, errBroken) {
		t.Errorf("a result that does not encode: %v", err)
	}
	if len(db.rows) != 0 {
		t.Errorf("it left %v", db.rows)
	}
}

func TestMarkWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			db, c := newFake(t), counter{}
			db.lose = loseFirst(lost{commits: commits})
			h := NewHandler(db.guard(), orderSpec(), c.place)
			if err := h.Mark(t.Context(), order{ID: "a"}, receipt{"marked"}); err != nil {
				t.Error(err)
			}
			if r, err := h.Do(t.Context(), order{ID: "a"}); err != nil || r.Ref != "marked" || c.runs() != 0 {
				t.Errorf("the repeat: %v, %v", r, err)
			}
		})
	}
}
