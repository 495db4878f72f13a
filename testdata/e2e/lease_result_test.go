package e2e

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"

	"github.com/idemgen/idemgen/testdata/e2e/events"
)

// Effects 33: the text of a permanent failure is recorded also where the database could not hold it as it is, and a repeat gets
// the same. So is that of a failure that has another event's in it.
func TestLease_Effects33_AnyText(t *testing.T) {
	for name, cause := range map[string]error{
		"neither UTF-8 nor without NUL": errors.New("declined: \x00\xff\xc3\x28" + strings.Repeat("long ", 10_000)),
		"cut in the middle of a letter": errors.New("declined: \uFFFD\uFFFD" + strings.Repeat("ä", 10_000)),
		"empty":                         errors.New(""),
		"another event's":               &idem.Error{Handler: "declined: \uFFFD\uFFFD", Key: "k", Err: &idem.FailedError{Failure: "no such card"}},
	} {
		t.Run(name, func(t *testing.T) {
			eachDriver(t, func(t *testing.T, d driver) {
				s := d.open(t, setup{})
				s.cards.charge = func(context.Context, events.OrderPlaced) (events.Receipt, error) {
					return events.Receipt{}, idem.Permanent(cause)
				}
				e := order()
				var failed *idem.FailedError
				_, err := s.Charge(t.Context(), e)
				require.ErrorAs(t, err, &failed)
				require.ErrorIs(t, err, cause)
				first := failed.Failure
				if name != "empty" {
					assert.Contains(t, first, "declined: \uFFFD\uFFFD")
				}
				assert.LessOrEqual(t, len(first), 2<<10)

				a := s.charging(t)
				_, err = s.Charge(t.Context(), e)
				require.ErrorAs(t, err, &failed)
				assert.Equal(t, first, failed.Failure)
				assert.NotErrorIs(t, err, cause)
				assert.Zero(t, a.count(t, "call"))
				states, _ := s.states(t)
				assert.Equal(t, []string{"failed"}, states)
				s.returned(t)
			})
		})
	}
}

// Effects 28 to 30: what becomes of the result does not undo the effect, and is never a reason for a second run.
func TestLease_Effects28To30_Results(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{idem.WithResultLimit(1 << 10)}})
		a := s.charging(t)
		honest := s.cards.charge
		s.cards.charge = func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
			r, err := honest(ctx, e)
			r.PlacedBy = strings.Repeat("x", 1<<10)
			return r, err
		}
		large := order()
		first, err := s.Charge(t.Context(), large)
		require.NoError(t, err)
		assert.Len(t, first.PlacedBy, 1<<10, "the first delivery has its result")
		again, err := s.Charge(t.Context(), large)
		require.ErrorIs(t, err, idem.ErrResultOmitted)
		assert.Zero(t, again)

		s.cards.charge = honest
		e := order()
		e.Total = math.MaxInt64
		first, err = s.Charge(t.Context(), e)
		require.NoError(t, err)
		again, err = s.Charge(t.Context(), e)
		require.NoError(t, err)
		assert.Equal(t, first, again, "numbers above 2^53 and times")
		assert.Equal(t, int64(math.MaxInt64), again.Total)

		s.exec(t, `UPDATE idempotency_keys SET result = $1 WHERE result IS NOT NULL`, []byte(`{"number": "twelve"}`))
		_, err = s.Charge(t.Context(), e)
		require.ErrorAs(t, err, new(*idem.ResultError))
		var told *idem.Error
		require.ErrorAs(t, err, &told)
		assert.Equal(t, "acme/"+e.OrderID.String(), told.Key)
		assert.NotEmpty(t, told.Handler)

		assert.Equal(t, 2, a.count(t, "call"))
		states, _ := s.states(t)
		assert.Equal(t, []string{"done", "done"}, states)
		s.returned(t)
	})
}

// sealed is a codec that encrypts: one result is other bytes each time.
type sealed struct{ aead cipher.AEAD }

func newSealed(t *testing.T) sealed {
	t.Helper()
	key := make([]byte, 32)
	_, err := rand.Read(key)
	require.NoError(t, err)
	block, err := aes.NewCipher(key)
	require.NoError(t, err)
	aead, err := cipher.NewGCMWithRandomNonce(block)
	require.NoError(t, err)
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

// A codec may encrypt: repeats, also of a mark, get the results, and the table does not tell them.
func TestResults_Encrypted(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{idem.WithCodec(newSealed(t))}})
		s.charging(t)
		for range 3 {
			e, marked := order(), order()
			placed, err := s.PlaceOrder(t.Context(), e)
			require.NoError(t, err)
			paid, err := s.Charge(t.Context(), e)
			require.NoError(t, err)
			require.NoError(t, s.MarkOrder(t.Context(), marked, placed))
			require.NoError(t, s.MarkCharge(t.Context(), marked, paid))
			for _, e := range []events.OrderPlaced{e, marked} {
				again, err := s.PlaceOrder(t.Context(), e)
				require.NoError(t, err)
				assert.Equal(t, placed, again)
				again, err = s.Charge(t.Context(), e)
				require.NoError(t, err)
				assert.Equal(t, paid, again)
			}
		}
		results := s.results(t)
		require.Len(t, results, 12)
		for _, r := range results {
			assert.False(t, bytes.Contains(r, []byte("run ")), "%q", r)
		}
		s.returned(t)
	})
}

// results are the stored results of all rows.
func (s *shop) results(t *testing.T) (all [][]byte) {
	t.Helper()
	rows, err := s.look.QueryContext(t.Context(), `SELECT result FROM idempotency_keys WHERE result IS NOT NULL`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var r []byte
		require.NoError(t, rows.Scan(&r))
		all = append(all, r)
	}
	require.NoError(t, rows.Err())
	return all
}

// A lease has no upper limit, and the longest there is does not overflow in the database; nor does a row that somebody has leased
// for longer.
func TestLease_ForEver(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{options: []idem.Option{idem.WithInFlightTimeout(50 * time.Millisecond)}})
		if s.pool == nil && !s.postgres && s.hook == nil {
			return // no guard of this test's own
		}
		l := s.leased(t, math.MaxInt64, setup{options: []idem.Option{idem.WithInFlightTimeout(50 * time.Millisecond)}})
		e := order()
		s.cards.charge = func(ctx context.Context, e events.OrderPlaced) (events.Receipt, error) {
			for _, end := range []string{"", "year 9999"} {
				if end != "" {
					s.leaseUntil9999(t)
				}
				_, err := l.Do(t.Context(), e)
				var busy *idem.InProgressError
				if assert.ErrorAs(t, err, &busy) {
					assert.Greater(t, busy.RetryAfter, 100*365*24*time.Hour)
				}
			}
			return s.answer(e), ctx.Err()
		}
		_, err := l.Do(t.Context(), e)
		require.NoError(t, err)
		assert.EqualValues(t, 1, s.runs.Load())
		states, _ := s.states(t)
		assert.Equal(t, []string{"done"}, states)
	})
}

func (s *shop) leaseUntil9999(t *testing.T) {
	if s.postgres {
		s.exec(t, `UPDATE idempotency_keys SET lease_until = '9999-12-31'`)
		return
	}
	s.exec(t, `UPDATE idempotency_keys SET lease_until = unixepoch('9999-12-31') * 1000000`)
}
