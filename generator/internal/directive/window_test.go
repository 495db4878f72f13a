package directive

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestParseWindow(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]time.Duration{
		"1m": time.Minute, "60s": time.Minute, "90m": 90 * time.Minute, "24h": day, "7d": 7 * day, "1d12h": 36 * time.Hour,
		"1.5h": 90 * time.Minute, "0.5d": 12 * time.Hour, "1h30m15s": time.Hour + 30*time.Minute + 15*time.Second,
		"30d": 30 * day, "106751d": 106751 * day,
	} {
		d, forever, err := ParseWindow(s)
		assert.NoError(t, err, s)
		assert.False(t, forever, s)
		assert.Equal(t, want, d, s)
	}
	d, forever, err := ParseWindow("forever")
	assert.NoError(t, err)
	assert.True(t, forever)
	assert.Zero(t, d)
	for s, want := range map[string]string{
		"":               `window "" is not a duration (write a duration such as 30m, 24h, 7d or 1d12h, or forever)`,
		"24":             `window "24" has no unit (did you mean 24h, or 24d?)`,
		"1h30":           `window "1h30" has no unit (write a duration such as 30m, 24h, 7d or 1d12h, or forever)`,
		"0":              `window "0" is under a minute (a redelivery can come hours later: write at least 1m, commonly 24h or more)`,
		"0d":             `window "0d" is under a minute (a redelivery can come hours later: write at least 1m, commonly 24h or more)`,
		"59s":            `window "59s" is under a minute (a redelivery can come hours later: write at least 1m, commonly 24h or more)`,
		"-1h":            `window "-1h" is negative (write a duration such as 30m, 24h, 7d or 1d12h, or forever)`,
		"-":              `window "-" is not a duration (write a duration such as 30m, 24h, 7d or 1d12h, or forever)`,
		"1w":             `window "1w" is not a duration (write window=7d)`,
		"24H":            `window "24H" is not a duration (write window=24h)`,
		"Forever":        `window "Forever" is not a duration (did you mean forever?)`,
		"never":          `window "never" is not a duration (did you mean forever?)`,
		"h":              `window "h" is not a duration (write a duration such as 30m, 24h, 7d or 1d12h, or forever)`,
		"1..5h":          `window "1..5h" is not a duration (write a duration such as 30m, 24h, 7d or 1d12h, or forever)`,
		"1x":             `window "1x" is not a duration (write a duration such as 30m, 24h, 7d or 1d12h, or forever)`,
		"200000d":        `window "200000d" is too long (write forever)`,
		"106751d24h":     `window "106751d24h" is too long (write forever)`,
		"99999999999.5d": `window "99999999999.5d" is too long (write forever)`,
	} {
		_, _, err := ParseWindow(s)
		assert.EqualError(t, err, want, s)
	}
}

func FuzzParseWindow(f *testing.F) {
	for _, s := range []string{"24h", "1d12h", "-1.5d", "forever", "9223372036854775807ns", "1e3h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, forever, err := ParseWindow(s)
		if err == nil && !forever && d < time.Minute {
			t.Errorf("ParseWindow(%q) = %v", s, d)
		}
		if want, goErr := time.ParseDuration(s); goErr == nil && err == nil && d != want {
			t.Errorf("ParseWindow(%q) = %v, Go's is %v", s, d, want)
		}
	})
}

func TestNearest(t *testing.T) {
	t.Parallel()
	words := []string{"window", "name", "key", "inflight"}
	for word, want := range map[string]string{
		"windw": "window", "widnow": "window", "WINDOW": "window", "-window": "window", "win": "window", "windows": "window",
		"keys": "key", "kye": "key", "nmae": "name", "in-flight": "inflight", "inflght": "inflight",
		"ttl": "", "": "", "x": "", "expiry": "",
	} {
		assert.Equal(t, want, Nearest(word, words), word)
	}
	assert.Equal(t, 3, distance("kitten", "sitting"))
	assert.Equal(t, 1, distance("ab", "ba"))
	assert.Equal(t, 2, distance("", "äö"))
}
