package idem

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime/store"
)

// Effects 28: a result over the limit, or one that does not encode, does not undo the effect. The row is done, and a repeat
// learns that there is no result; it does not run.
func TestLeaseResultOmitted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		result any
		first  bool // the first delivery returns it
	}{
		"over the limit":  {strings.Repeat("x", 100), true},
		"does not encode": {math.NaN(), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, w := newFake(t), watcher{}
			runs := 0
			l := NewLease(db.guard(WithResultLimit(99), WithObserver(&w)), chargeSpec(), func(context.Context, order) (any, error) {
				runs++
				return tt.result, nil
			})
			got, err := l.Do(t.Context(), order{ID: "a"})
			if (err == nil) != tt.first || tt.first && got != tt.result {
				t.Errorf("got %v, %v", got, err)
			}
			if row := state(t, db, store.Done); row.Result != nil {
				t.Errorf("got %+v", row)
			}
			if got, err := l.Do(t.Context(), order{ID: "a"}); !errors.Is(err, ErrResultOmitted) || got != nil || runs != 1 || w.last(t).Outcome != OutcomeDuplicate {
				t.Errorf("the repeat: %v, %v, %d runs, %+v", got, err, runs, w.last(t))
			}
		})
	}
}

// Effects 29: a stored result that no longer decodes is an error with handler and key, and no second run.
func TestLeaseResultThatDoesNotDecode(t *testing.T) {
	t.Parallel()
	db, a, w := newFake(t), acquirer{}, watcher{}
	db.putRow("orders.Charge", "a", store.Row{State: store.Done, Result: []byte(`{"Ref":1}`)})
	got, err := NewLease(db.guard(WithObserver(&w)), chargeSpec(), a.charge).Do(t.Context(), order{ID: "a"})
	var told *Error
	if !errors.As(err, new(*ResultError)) || !errors.As(err, &told) || told.Handler != "orders.Charge" || told.Key != "a" {
		t.Errorf("got %v", err)
	}
	if got.Ref != "" || a.runs() != 0 || w.last(t).Outcome != OutcomeDuplicate {
		t.Errorf("got %v, %d runs, %+v", got, a.runs(), w.last(t))
	}
}

// sealed is a codec that encrypts: the same result is other bytes each time.
type sealed struct{ aead cipher.AEAD }

func newSealed(t *testing.T) sealed {
	t.Helper()
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		t.Fatal(err)
	}
	return sealed{aead}
}

func (s sealed) Encode(v any) ([]byte, error) {
	plain, err := json.Marshal(v)
	return s.aead.Seal(nil, nil, plain, nil), err
}

func (s sealed) Decode(data []byte, v any) error {
	plain, err := s.aead.Open(nil, nil, data, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, v)
}

// A codec may encrypt, with other bytes for each call: a result is encoded once, also where its end is recorded twice, and
// comes back as it was. Under another key it is a result that does not decode.
func TestLeaseResultEncrypted(t *testing.T) {
	t.Parallel()
	db, a, c := newFake(t), acquirer{}, counter{}
	db.twice = func(step string) bool { return step == "finish" }
	codec := newSealed(t)
	l := NewLease(db.guard(WithCodec(codec)), chargeSpec(), a.charge)
	h := NewHandler(db.guard(WithCodec(codec)), orderSpec(), c.place)
	for _, id := range []string{"a", "b", "c", "d"} { // one in 256 begins with the mark of a packed one
		charged, err := l.Do(t.Context(), order{ID: id})
		placed, perr := h.Do(t.Context(), order{ID: id})
		if err != nil || perr != nil {
			t.Fatal(err, perr)
		}
		for range 2 {
			if again, err := l.Do(t.Context(), order{ID: id}); err != nil || again != charged {
				t.Errorf("got %v, %v", again, err)
			}
			if again, err := h.Do(t.Context(), order{ID: id}); err != nil || again != placed {
				t.Errorf("got %v, %v", again, err)
			}
		}
	}
	if row := state(t, db, store.Done); strings.Contains(string(row.Result), "a#1") {
		t.Errorf("the row tells the result: %q", row.Result)
	}
	other := NewLease(db.guard(WithCodec(newSealed(t))), chargeSpec(), a.charge)
	if _, err := other.Do(t.Context(), order{ID: "a"}); !errors.As(err, new(*ResultError)) || a.runs() != 4 {
		t.Errorf("got %v, %d runs", err, a.runs())
	}
}
