package directive

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// A valueError is a faulty value: what is wrong, and the mend.
type valueError struct{ message, hint string }

func (e *valueError) Error() string { return e.message + " (" + e.hint + ")" }

const windowHint = "write a duration such as 30m, 24h, 7d or 1d12h, or forever"

// ParseWindow reads a window: "forever", or a Go duration in which d is a day of 24 hours ("7d", "1d12h", "90m"), at
// least one minute.
func ParseWindow(s string) (d time.Duration, forever bool, err error) {
	if s == "forever" {
		return 0, true, nil
	}
	d, fault := parseDays(s)
	switch {
	case fault != nil:
		return 0, false, fault
	case d < 0:
		return 0, false, &valueError{fmt.Sprintf("window %q is negative", s), windowHint}
	case d < time.Minute:
		return 0, false, &valueError{fmt.Sprintf("window %q is under a minute", s),
			"a redelivery can come hours later: write at least 1m, commonly 24h or more"}
	}
	return d, false, nil
}

// minLease is the runtime's.
const minLease = time.Second

const leaseHint = "write a duration such as 30s or 2m, at least 1s: longer than a pause of the process, and than a database that is away for a moment"

// ParseLease reads a lease: a Go duration as of a window, of at least one second.
func ParseLease(s string) (time.Duration, error) {
	d, fault := parseDays(s)
	switch {
	case fault != nil:
		return 0, &valueError{strings.Replace(fault.message, "window", "lease", 1), leaseHint}
	case d < minLease:
		return 0, &valueError{fmt.Sprintf("lease %q is under a second", s), leaseHint}
	}
	return d, nil
}

// parseDays is time.ParseDuration with the unit d.
func parseDays(s string) (time.Duration, *valueError) {
	rest, sign := s, time.Duration(1)
	if r, ok := strings.CutPrefix(rest, "-"); ok {
		rest, sign = r, -1
	}
	var sum time.Duration
	for first := true; first || rest != ""; first = false {
		number := len(rest) - len(strings.TrimLeft(rest, "0123456789."))
		unit := len(rest[number:]) - len(strings.TrimLeft(rest[number:], "abcdefghijklmnopqrstuvwxyzµμ"))
		one := rest[:number+unit]
		switch {
		case number == 0:
			return 0, badDuration(s)
		case unit == 0 && number == len(rest):
			if sum == 0 && rest == "0" {
				return 0, nil
			}
			hint := windowHint
			if rest == s {
				hint = "did you mean " + s + "h, or " + s + "d?"
			}
			return 0, &valueError{fmt.Sprintf("window %q has no unit", s), hint}
		}
		d, err := parseOne(one[:number], one[number:])
		if err != nil {
			return 0, badDuration(s)
		}
		if d == math.MaxInt64 || sum > math.MaxInt64-d {
			return 0, &valueError{fmt.Sprintf("window %q is too long", s), "write forever"}
		}
		sum += d
		rest = rest[len(one):]
	}
	return sign * sum, nil
}

// parseOne reads one number with its unit.
func parseOne(number, unit string) (time.Duration, error) {
	if unit != "d" {
		return time.ParseDuration(number + unit)
	}
	if !strings.Contains(number, ".") {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, err
		}
		if n > int64(math.MaxInt64/day) {
			return math.MaxInt64, nil
		}
		return time.Duration(n) * day, nil
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, err
	}
	if f*float64(day) >= math.MaxInt64 {
		return math.MaxInt64, nil
	}
	return time.Duration(math.Round(f * float64(day))), nil
}

func badDuration(s string) *valueError {
	hint := windowHint
	plain := plainWindow(s)
	switch lower := strings.ToLower(s); {
	case plain != "":
		hint = "write window=" + plain
	case Nearest(s, []string{"forever"}) != "" || lower == "never" || lower == "infinite" || lower == "infinity":
		hint = "did you mean forever?"
	case strings.HasSuffix(lower, "w"):
		hint = "there is no unit for weeks; write 7d for one"
	case lower != s:
		if _, err := parseDays(lower); err == nil {
			hint = "did you mean " + lower + "?"
		}
	}
	return &valueError{fmt.Sprintf("window %q is not a duration", s), hint}
}
