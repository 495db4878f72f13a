package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/runtime/idem"
)

// past and future are times as the engine's table holds them.
func (d driver) past() string { return d.inSeconds("-1") }

func (d driver) future() string { return d.inSeconds("60") }

// inSeconds is the time that many seconds from now.
func (d driver) inSeconds(n string) string {
	if d.postgres {
		return `clock_timestamp() + interval '` + n + ` seconds'`
	}
	return d.now() + ` + ` + n + `000000`
}

// now is the time in microseconds, by the database's clock.
func (d driver) now() string {
	switch {
	case d.postgres:
		return `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`
	case d.mysql:
		return `CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)`
	default:
		return `CAST(unixepoch('subsec') * 1000000 AS INTEGER)`
	}
}

// Only completed rows go, and only when their time has come.
func TestJanitor_WhatGoes(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		owner := `'0123456789abcdef'`
		if d.code == "lite" {
			owner = `zeroblob(16)`
		}
		var stays []string
		for _, state := range []string{"open", "done", "failed", "running", "released", "parked"} {
			for name, at := range map[string]string{"past": d.past(), "future": d.future(), "never": "NULL"} {
				key := state + " " + name
				s.exec(t, `INSERT INTO idempotency_keys (handler, "key", state, owner, created_at, updated_at, expires_at)
					VALUES ('h', $1, $2, `+owner+`, `+d.past()+`, `+d.past()+`, `+at+`)`, key, state)
				if name != "past" || state != "done" && state != "failed" {
					stays = append(stays, key)
				}
			}
		}
		swept, err := s.Janitor().Once(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 2, swept.Removed)
		var left []string
		for _, r := range s.rows(t) {
			left = append(left, r.key)
		}
		slices.Sort(stays)
		assert.ElementsMatch(t, stays, left)
		s.returned(t)
	})
}

// What is expired counts as absent before and after the janitor was there, and what is not stays.
func TestEffects27_SweptRowRunsAgain(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		old, fresh := order(), order()
		_, err := s.PlaceOrder(t.Context(), old)
		require.NoError(t, err)
		s.expire(t)
		first, err := s.PlaceOrder(t.Context(), fresh)
		require.NoError(t, err)
		swept, err := s.Janitor().Once(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 1, swept.Removed)
		_, err = s.PlaceOrder(t.Context(), old)
		require.NoError(t, err)
		again, err := s.PlaceOrder(t.Context(), fresh)
		require.NoError(t, err)
		assert.Equal(t, first, again)
		assert.Equal(t, 3, s.effects(t))
	})
}

// fill puts n expired rows into the table.
func (s *shop) fill(t *testing.T, n int) {
	t.Helper()
	const most = 100_000 // in one statement
	for first := 0; first < n; first += most {
		s.fillFrom(t, first, min(n-first, most))
	}
}

func (s *shop) fillFrom(t *testing.T, first, n int) {
	t.Helper()
	key := fmt.Sprintf("i + %d", first)
	switch {
	case s.mysql:
		digits := `SELECT 0 AS d` + strings.Repeat(` UNION ALL SELECT %d`, 9)
		digits = fmt.Sprintf(digits, 1, 2, 3, 4, 5, 6, 7, 8, 9)
		s.exec(t, `INSERT INTO idempotency_keys (handler, "key", state, owner, created_at, updated_at, expires_at)
			WITH digits AS (`+digits+`), numbers AS (
				SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d AS i
				FROM digits AS a, digits AS b, digits AS c, digits AS d, digits AS e)
			SELECT 'old', `+key+`, 'done', '0123456789abcdef', 0, 0, `+s.past()+` - i FROM numbers WHERE i <= $1`, n)
		return
	case s.postgres:
		s.exec(t, `INSERT INTO idempotency_keys (handler, key, state, owner, expires_at)
			SELECT 'old', (`+key+`)::text, 'done', '0123456789abcdef', clock_timestamp() - i * interval '1 ms' FROM generate_series(1, $1) AS i`, n)
		return
	}
	s.exec(t, `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < $1)
		INSERT INTO idempotency_keys (handler, key, state, owner, expires_at)
		SELECT 'old', CAST(`+key+` AS TEXT), 'done', CAST('0123456789abcdef' AS BLOB), CAST(unixepoch('subsec') * 1000000 AS INTEGER) - i FROM numbers`, n)
}

// soakVariable is how many expired rows two janitors clear in a long run, which reports figures.
const soakVariable = "IDEMGEN_SOAK"

// soaking is that number, or 0.
func soaking(t *testing.T) int {
	t.Helper()
	text := os.Getenv(soakVariable)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, soakVariable)
	return n
}

// Two janitors clear a large table while deliveries go on, some of which take expired rows over.
func TestEffects26_TwoJanitorsAndDeliveries(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		rows := cmp.Or(soaking(t), 100_000)
		pace := []idem.JanitorOption{idem.WithSweepBatch(1000), idem.WithSweepPace(time.Millisecond)}
		if soaking(t) > 0 {
			pace = nil // as users have it
		}
		s := d.open(t, setup{options: []idem.Option{long}})
		taken := order()
		_, err := s.PlaceOrder(t.Context(), taken)
		require.NoError(t, err)
		s.expire(t)
		s.fill(t, rows)
		before := s.place200(t)

		var removed atomic.Int64
		cleared := make(chan struct{})
		var all sync.WaitGroup
		for range 2 {
			j := s.Janitor(pace...)
			all.Go(func() { s.sweepUntil(t, j, &removed, int64(rows)) })
		}
		go func() {
			defer close(cleared)
			all.Wait()
		}()
		during := s.place200(t)
		_, err = s.PlaceOrder(t.Context(), taken)
		require.NoError(t, err)
		for soaking(t) > 0 && !over(cleared) {
			during = append(during, s.place200(t)...)
		}
		<-cleared
		swept, err := s.Janitor().Once(t.Context()) // one is left if the row of taken went instead
		require.NoError(t, err)
		removed.Add(swept.Removed)
		deliveries := len(before) + len(during)
		assert.Equal(t, deliveries+2, s.effects(t))
		assert.Zero(t, s.count(t, `SELECT count(*) FROM idempotency_keys WHERE handler = 'old'`))
		assert.Contains(t, []int64{int64(rows), int64(rows) + 1}, removed.Load())
		assert.Equal(t, deliveries+1, s.count(t, `SELECT count(*) FROM idempotency_keys`))
		s.returned(t)
		t.Logf("%s: %d rows swept; deliveries before: %s; while sweeping: %s", d.name, removed.Load(), latencies(before), latencies(during))
	})
}

// sweepUntil sweeps until all rows are gone, some of them by others. A database that does not tell a rival from another writer
// may have a round end early.
func (s *shop) sweepUntil(t *testing.T, j *idem.Janitor, removed *atomic.Int64, rows int64) {
	for removed.Load() < rows && t.Context().Err() == nil {
		swept, err := j.Once(t.Context())
		removed.Add(swept.Removed)
		if s.code != "lite" && !assert.NoError(t, err) {
			return
		}
	}
}

// place200 delivers that many orders, one after the other, and returns how long each took.
func (s *shop) place200(t *testing.T) (took []time.Duration) {
	t.Helper()
	for range 200 {
		began := time.Now()
		_, err := s.PlaceOrder(t.Context(), order())
		took = append(took, time.Since(began))
		require.NoError(t, err)
	}
	return took
}

func over(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// latencies is a summary of how long deliveries took.
func latencies(took []time.Duration) string {
	slices.Sort(took)
	at := func(share float64) time.Duration {
		return took[int(share*float64(len(took)-1))].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("%d, p50 %s, p99 %s, longest %s", len(took), at(0.5), at(0.99), at(1))
}

// A row that a delivery is just taking over is nobody's to delete, and nobody waits for it.
func TestJanitor_SkipsWhatIsTakenOver(t *testing.T) {
	t.Parallel()
	for _, d := range onServers() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			d.need(t)
			s := d.open(t, setup{options: []idem.Option{long}})
			e := order()
			_, err := s.PlaceOrder(t.Context(), e)
			require.NoError(t, err)
			s.fill(t, 10)
			s.expire(t)
			first := s.park(t)
			placed := s.deliver(t.Context(), e)
			<-first.reached
			swept, err := s.Janitor().Once(t.Context())
			require.NoError(t, err)
			assert.EqualValues(t, 10, swept.Removed)
			first.letGo <- nil
			require.NoError(t, (<-placed).err)
			assert.Len(t, s.rows(t), 1)
		})
	}
}

// The batch is found by the index, however many rows are still inside their window.
func TestJanitor_UsesTheIndex(t *testing.T) {
	t.Parallel()
	d := driverOf("pgx")
	d.need(t)
	s := d.open(t, setup{})
	s.exec(t, `INSERT INTO idempotency_keys (handler, key, state, owner, expires_at)
		SELECT 'h', i::text, 'done', '0123456789abcdef', clock_timestamp() + interval '1 day' FROM generate_series(1, 50000) AS i`)
	s.exec(t, `ANALYZE idempotency_keys`)
	plan, err := s.look.QueryContext(t.Context(), `EXPLAIN SELECT ctid FROM idempotency_keys
		WHERE expires_at IS NOT NULL AND expires_at <= (SELECT clock_timestamp()) AND state IN ('done', 'failed')
		ORDER BY expires_at LIMIT 500 FOR UPDATE SKIP LOCKED`)
	require.NoError(t, err)
	defer plan.Close()
	var text string
	for plan.Next() {
		var line string
		require.NoError(t, plan.Scan(&line))
		text += line + "\n"
	}
	require.NoError(t, plan.Err())
	assert.Contains(t, text, "Index Cond: ((expires_at IS NOT NULL) AND (expires_at <= ")
}

// Run ends with its context and leaves nothing behind.
func TestJanitor_Run(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := d.open(t, setup{})
		s.fill(t, 3)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var seen []string
		j := s.Janitor(idem.WithSweepInterval(5*time.Millisecond), idem.WithSweepReport(func(_ context.Context, swept idem.Sweep) {
			seen = append(seen, fmt.Sprint(swept.Removed, swept.Err))
			if len(seen) == 2 {
				cancel()
			}
		}))
		require.NoError(t, j.Run(ctx))
		assert.Equal(t, []string{"3 <nil>", "0 <nil>"}, seen)
		s.returned(t)
	})
}
