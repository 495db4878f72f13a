package idem

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
)

func sum(build func(f *FingerprintBuilder)) string {
	var f FingerprintBuilder
	build(&f)
	return f.Sum()
}

func TestFingerprintsDiffer(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 2, 3, 12, 0, 0, 1, time.UTC)
	type build = func(f *FingerprintBuilder)
	for _, tt := range []struct {
		name string
		a, b build
		want bool // a mismatch
	}{
		{"equal", func(f *FingerprintBuilder) { f.Int("A", 1) }, func(f *FingerprintBuilder) { f.Int("A", 1) }, false},
		{"int", func(f *FingerprintBuilder) { f.Int("A", 1) }, func(f *FingerprintBuilder) { f.Int("A", 2) }, true},
		{"int and uint", func(f *FingerprintBuilder) { f.Int("A", 1) }, func(f *FingerprintBuilder) { f.Uint("A", 1) }, false},
		{"uint", func(f *FingerprintBuilder) { f.Uint("A", 1) }, func(f *FingerprintBuilder) { f.Uint("A", math.MaxUint64) }, true},
		{"string", func(f *FingerprintBuilder) { f.String("A", "") }, func(f *FingerprintBuilder) { f.String("A", "\x00") }, true},
		{"float", func(f *FingerprintBuilder) { f.Float("A", 0.1) }, func(f *FingerprintBuilder) { f.Float("A", 0.1+1e-17) }, false},
		{"other float", func(f *FingerprintBuilder) { f.Float("A", 0.1) }, func(f *FingerprintBuilder) { f.Float("A", 0.2) }, true},
		{"float zeros", func(f *FingerprintBuilder) { f.Float("A", 0) }, func(f *FingerprintBuilder) { f.Float("A", math.Copysign(0, -1)) }, false},
		{"not a number", func(f *FingerprintBuilder) { f.Float("A", math.NaN()) }, func(f *FingerprintBuilder) { f.Float("A", math.Float64frombits(0x7ff8000000000123)) }, false},
		{"bool", func(f *FingerprintBuilder) { f.Bool("A", false) }, func(f *FingerprintBuilder) { f.Bool("A", true) }, true},
		{"uuid", func(f *FingerprintBuilder) { f.UUID("A", [16]byte{}) }, func(f *FingerprintBuilder) { f.UUID("A", [16]byte{1}) }, true},
		{"bytes", func(f *FingerprintBuilder) { f.Bytes("A", nil) }, func(f *FingerprintBuilder) { f.Bytes("A", []byte{0}) }, true},
		{"no bytes", func(f *FingerprintBuilder) { f.Bytes("A", nil) }, func(f *FingerprintBuilder) { f.Bytes("A", []byte{}) }, false},
		{"text", func(f *FingerprintBuilder) { f.Text("A", words{text: "1"}, false) }, func(f *FingerprintBuilder) { f.Text("A", words{text: "2"}, false) }, true},
		{"zero text without a text", func(f *FingerprintBuilder) { f.Text("A", words{err: errBroken}, true) }, func(f *FingerprintBuilder) { f.Text("A", words{text: "2"}, false) }, true},
		{"text that fails", func(f *FingerprintBuilder) { f.Text("A", words{err: errBroken}, false) }, func(f *FingerprintBuilder) { f.Text("A", words{text: "2"}, false) }, false},
		{"text that fails otherwise", func(f *FingerprintBuilder) { f.Text("A", words{err: errBroken}, false) }, func(f *FingerprintBuilder) { f.Text("A", words{err: errBusy}, false) }, true},
		{"instant", func(f *FingerprintBuilder) { f.Time("A", noon) }, func(f *FingerprintBuilder) { f.Time("A", noon.In(time.FixedZone("", 60))) }, false},
		{"other instant", func(f *FingerprintBuilder) { f.Time("A", noon) }, func(f *FingerprintBuilder) { f.Time("A", noon.Add(1)) }, true},
		{"absent", func(f *FingerprintBuilder) { f.Absent("A") }, func(f *FingerprintBuilder) { f.Absent("A") }, false},
		{"absent and zero", func(f *FingerprintBuilder) { f.Absent("A") }, func(f *FingerprintBuilder) { f.String("A", "") }, true},
		{"absent and present", func(f *FingerprintBuilder) { f.Int("A", 1) }, func(f *FingerprintBuilder) { f.Absent("A") }, true},
		{"nil text is absent", func(f *FingerprintBuilder) { f.Text("A", nil, false) }, func(f *FingerprintBuilder) { f.Absent("A") }, false},
		{"parts run together", func(f *FingerprintBuilder) { f.String("A", "ab"); f.String("B", "c") }, func(f *FingerprintBuilder) { f.String("A", "a"); f.String("B", "bc") }, true},
		{"long", func(f *FingerprintBuilder) { f.String("A", strings.Repeat("x", 999)) }, func(f *FingerprintBuilder) { f.String("A", strings.Repeat("x", 998)+"y") }, true},

		// Of another shape: not compared.
		{"another kind", func(f *FingerprintBuilder) { f.Int("A", 1) }, func(f *FingerprintBuilder) { f.String("A", "1") }, false},
		{"another name", func(f *FingerprintBuilder) { f.Int("A", 1) }, func(f *FingerprintBuilder) { f.Int("B", 2) }, false},
		{"one part more", func(f *FingerprintBuilder) { f.Int("A", 1) }, func(f *FingerprintBuilder) { f.Int("A", 2); f.Int("B", 2) }, false},
		{"another order", func(f *FingerprintBuilder) { f.Int("A", 1); f.Int("B", 2) }, func(f *FingerprintBuilder) { f.Int("B", 2); f.Int("A", 1) }, false},
		{"names run together", func(f *FingerprintBuilder) { f.Int("AB", 1); f.Int("C", 2) }, func(f *FingerprintBuilder) { f.Int("A", 3); f.Int("BC", 4) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, b := sum(tt.a), sum(tt.b)
			if mismatch(a, b) != tt.want || mismatch(b, a) != tt.want {
				t.Errorf("%q and %q: mismatch %t", a, b, !tt.want)
			}
		})
	}
}

func TestFingerprintsThatAreNone(t *testing.T) {
	t.Parallel()
	f := sum(func(f *FingerprintBuilder) { f.Int("A", 1) })
	for _, other := range []string{"", "x", "x:y", "x.i:y", f} {
		if mismatch(f, other) || mismatch(other, f) {
			t.Errorf("%q is a mismatch", other)
		}
	}
}

// What is stored must stay readable to later versions.
func TestFingerprintIsStable(t *testing.T) {
	t.Parallel()
	got := sum(func(f *FingerprintBuilder) {
		f.String("Currency", "EUR")
		f.Int("Total", 1999)
		f.Absent("Coupon")
	})
	if !regexp.MustCompile(`^[0-9a-f]{16}\.si-:[0-9a-f]{32}$`).MatchString(got) {
		t.Errorf("got %q", got)
	}
	if want := "684598b92303299d.si-:2f77020556174ed7623f924ab5e1d27f"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzFingerprint: fingerprints of one shape are equal only if the values are.
func FuzzFingerprint(f *testing.F) {
	f.Add("a", "bc", "ab", "c", int64(1), int64(1), []byte{1}, []byte{1})
	f.Add("", "\x00", "\x00", "", int64(0), int64(-1), []byte(nil), []byte{0})
	f.Fuzz(func(t *testing.T, a1, a2, b1, b2 string, a3, b3 int64, a4, b4 []byte) {
		build := func(v1, v2 string, v3 int64, v4 []byte) string {
			return sum(func(f *FingerprintBuilder) {
				f.String("1", v1)
				f.Text("2", words{text: v2}, v2 == "")
				f.Int("3", v3)
				f.Bytes("4", v4)
			})
		}
		fa, fb := build(a1, a2, a3, a4), build(b1, b2, b3, b4)
		same := a1 == b1 && a2 == b2 && a3 == b3 && string(a4) == string(b4)
		if (fa == fb) != same || mismatch(fa, fb) == same {
			t.Errorf("%q and %q", fa, fb)
		}
	})
}

// Not parallel: testing.AllocsPerRun counts what others allocate too.
func TestFingerprintAllocations(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		var f FingerprintBuilder
		f.String("Currency", "EUR")
		f.Int("Total", 1999)
		f.Float("Rate", 0.5)
		f.Time("At", time.Unix(1, 1))
		keySink = f.Sum()
	}); n != 1 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFingerprint(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var f FingerprintBuilder
		f.Int("Total", 1999)
		keySink = f.Sum()
	}
}

func ExampleFingerprintBuilder() {
	var f FingerprintBuilder
	f.Int("Total", 1999)
	var g FingerprintBuilder
	g.Int("Total", 2000)
	fmt.Println(f.Sum() == g.Sum())
	// Output: false
}
