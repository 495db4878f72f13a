package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMain lets the test's own executable be the worker process that gets killed.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-victim") {
		main()
	}
	os.Exit(m.Run())
}

func TestEveryEventHasOneEffect(t *testing.T) {
	t.Parallel()
	for _, seed := range []int{1, 2} {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			code, out := play(t, "-events=80", fmt.Sprintf("-seed=%d", seed))
			if code != 0 {
				t.Fatalf("exit code %d, want 0\n%s", code, out)
			}
			got := lastLine(t, out)
			// 80 orders and 80 payments, of which 3 and 3 come without an ID.
			if got.effects != 154 {
				t.Errorf("%d effects, want 154\n%s", got.effects, out)
			}
			// 4 of the 5 orders chosen to change; the fifth has its worker killed instead.
			if got.mismatches != 8 {
				t.Errorf("%d mismatches, want 8\n%s", got.mismatches, out)
			}
			if got.duplicates == 0 || got.zeroKeys < 6 || got.deliveries <= got.effects {
				t.Errorf("nothing went wrong\n%s", out)
			}
			if !regexp.MustCompile(`process was killed +1 +1\n`).MatchString(out) {
				t.Errorf("no worker process was killed\n%s", out)
			}
		})
	}
}

// The same play without idemgen must not pass, or the count proves nothing.
func TestUnguardedEventsHaveMoreEffects(t *testing.T) {
	t.Parallel()
	code, out := play(t, "-events=80", "-unguarded")
	if code != 1 {
		t.Fatalf("exit code %d, want 1\n%s", code, out)
	}
	if got := lastLine(t, out); got.effects <= 160 || got.duplicates != 0 {
		t.Errorf("a play without idemgen that looks guarded\n%s", out)
	}
}

// Ten thousand events of an order's life: each order ends where its events lead to, and each step was taken once.
func TestLifecycle(t *testing.T) {
	t.Parallel()
	code, out := play(t, "-lifecycle", "-events=10000")
	if code != 0 {
		t.Fatalf("exit code %d, want 0\n%s", code, out)
	}
	var deliveries, steps, conflicts, wrong int
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	if _, err := fmt.Sscanf(lines[len(lines)-1], "deliveries=%d steps=%d conflicts=%d wrong=%d", &deliveries, &steps, &conflicts, &wrong); err != nil {
		t.Fatalf("last line: %v\n%s", err, out)
	}
	if deliveries < 10000 || steps < 1000 || conflicts == 0 {
		t.Errorf("nothing went wrong\n%s", out)
	}
}

// The same without idemgen must not pass.
func TestUnguardedLifecycle(t *testing.T) {
	t.Parallel()
	if code, out := play(t, "-lifecycle", "-events=500", "-unguarded"); code != 1 {
		t.Fatalf("exit code %d, want 1\n%s", code, out)
	}
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"-no-such-flag", "-events=0"} {
		if code, out := play(t, arg); code != 2 {
			t.Errorf("%s: exit code %d, want 2\n%s", arg, code, out)
		}
	}
	noDatabase := filepath.Join(t.TempDir(), "absent", "shop.db")
	if code, out := play(t, "-db="+noDatabase); code != 2 || !strings.Contains(out, noDatabase) {
		t.Errorf("exit code %d, want 2 and the file's name\n%s", code, out)
	}
}

// play runs the command in this process and returns its exit code and all that it printed.
func play(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(""), &out, &out)
	return code, out.String()
}

// summary is the last line of the output.
type summary struct{ deliveries, effects, duplicates, mismatches, zeroKeys int }

func lastLine(t *testing.T, out string) (s summary) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	_, err := fmt.Sscanf(lines[len(lines)-1], "deliveries=%d effects=%d duplicates=%d mismatches=%d zero_keys=%d",
		&s.deliveries, &s.effects, &s.duplicates, &s.mismatches, &s.zeroKeys)
	if err != nil {
		t.Fatalf("last line: %v\n%s", err, out)
	}
	return s
}
