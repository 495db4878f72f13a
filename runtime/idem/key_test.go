package idem

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// words is a TextMarshaler as a test wants it.
type words struct {
	text string
	err  error
}

func (w words) MarshalText() ([]byte, error) { return []byte(w.text), w.err }

func TestKey(t *testing.T) {
	t.Parallel()
	id := [16]byte{0x01, 0x8f, 0x2b, 0x10, 0xaa, 0xbb, 0x70, 0x00, 0x80, 0, 0, 0, 0, 0, 0xc0, 0xde}
	noon := time.Date(2026, 2, 3, 12, 0, 0, 450, time.FixedZone("", 3600))
	for _, tt := range []struct {
		name  string
		build func(k *KeyBuilder)
		want  string // empty: ErrZeroKey
	}{
		{"one string", func(k *KeyBuilder) { k.String("A", "order-1_x.y") }, "order-1_x.y"},
		{"escaped", func(k *KeyBuilder) { k.String("A", "a/b%c d\x00é~\xff") }, "a%2Fb%25c%20d%00%C3%A9%7E%FF"},
		{"two strings", func(k *KeyBuilder) { k.String("A", "a"); k.String("B", "b/c") }, "a/b%2Fc"},
		{"and the other way", func(k *KeyBuilder) { k.String("A", "a/b"); k.String("B", "c") }, "a%2Fb/c"},
		{"integers", func(k *KeyBuilder) { k.Int("A", math.MinInt64); k.Uint("B", math.MaxUint64) }, "-9223372036854775808/18446744073709551615"},
		{"bool", func(k *KeyBuilder) { k.Bool("A", true); k.AllowZero().Bool("B", false) }, "true/false"},
		{"uuid", func(k *KeyBuilder) { k.UUID("A", id) }, "018f2b10-aabb-7000-8000-00000000c0de"},
		{"bytes", func(k *KeyBuilder) { k.Bytes("A", []byte{0, 0xAB}) }, "00ab"},
		{"text", func(k *KeyBuilder) { k.Text("A", words{text: "10.0.0.1/8"}, false) }, "10.0.0.1%2F8"},
		{"time", func(k *KeyBuilder) { k.Time("A", noon) }, "2026-02-03T11%3A00%3A00.00000045Z"},
		{"absent among others", func(k *KeyBuilder) { k.String("A", "a"); k.AllowZero().Absent("B"); k.String("C", "c") }, "a/~/c"},
		{"a tilde is not absence", func(k *KeyBuilder) { k.String("A", "a"); k.String("B", "~") }, "a/%7E"},
		{"zero string among others", func(k *KeyBuilder) { k.String("A", "a"); k.AllowZero().String("B", "") }, "a/"},
		{"zero integer", func(k *KeyBuilder) { k.AllowZero().Int("A", 0) }, "0"},
		{"zero uuid", func(k *KeyBuilder) { k.AllowZero().UUID("A", [16]byte{}) }, "00000000-0000-0000-0000-000000000000"},
		{"zero bytes", func(k *KeyBuilder) { k.String("A", "a"); k.AllowZero().Bytes("B", nil) }, "a/"},
		{"zero text without a text", func(k *KeyBuilder) { k.String("A", "a"); k.AllowZero().Text("B", words{err: errBroken}, true) }, "a/"},
		{"zero text", func(k *KeyBuilder) { k.AllowZero().Text("A", words{text: "0"}, true) }, "0"},
		{"nil text", func(k *KeyBuilder) { k.String("A", "a"); k.AllowZero().Text("B", nil, false) }, "a/~"},
		{"zero time", func(k *KeyBuilder) { k.AllowZero().Time("A", time.Time{}) }, "0001-01-01T00%3A00%3A00Z"},

		{"refused: string", func(k *KeyBuilder) { k.String("A", "") }, ""},
		{"refused: integer", func(k *KeyBuilder) { k.Int("A", 0) }, ""},
		{"refused: unsigned", func(k *KeyBuilder) { k.Uint("A", 0) }, ""},
		{"refused: bool", func(k *KeyBuilder) { k.Bool("A", false) }, ""},
		{"refused: uuid", func(k *KeyBuilder) { k.UUID("A", [16]byte{}) }, ""},
		{"refused: bytes", func(k *KeyBuilder) { k.Bytes("A", []byte{}) }, ""},
		{"refused: zero bytes", func(k *KeyBuilder) { k.Bytes("A", make([]byte, 32)) }, ""},
		{"refused: text", func(k *KeyBuilder) { k.Text("A", words{text: "x"}, true) }, ""},
		{"refused: empty text", func(k *KeyBuilder) { k.Text("A", words{}, false) }, ""},
		{"refused: nil text", func(k *KeyBuilder) { k.Text("A", nil, false) }, ""},
		{"refused: time", func(k *KeyBuilder) { k.Time("A", time.Time{}) }, ""},
		{"refused: absent", func(k *KeyBuilder) { k.Absent("A") }, ""},
		{"refused: one of two", func(k *KeyBuilder) { k.String("A", "a"); k.String("B", "") }, ""},
		{"refused: the permit is for one part", func(k *KeyBuilder) { k.AllowZero().String("A", "a"); k.String("B", "") }, ""},
		{"refused: all parts absent", func(k *KeyBuilder) { k.AllowZero().Absent("A"); k.AllowZero().Absent("B") }, ""},
		{"refused: no parts", func(*KeyBuilder) {}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var k KeyBuilder
			tt.build(&k)
			got, err := k.Key()
			if got != tt.want || errors.Is(err, ErrZeroKey) != (tt.want == "") || (err != nil) != (tt.want == "") {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestKeyNamesTheFirstError(t *testing.T) {
	t.Parallel()
	var k KeyBuilder
	k.String("First", "a")
	k.String("Second", "")
	k.Text("Third", words{err: errBroken}, false)
	if _, err := k.Key(); err == nil || !strings.Contains(err.Error(), "Second") || errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	k = KeyBuilder{}
	k.Text("Third", words{err: errBroken}, false)
	k.String("Second", "")
	if _, err := k.Key(); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "Third") {
		t.Errorf("got %v", err)
	}
}

func TestLongKeyIsCutAndHashed(t *testing.T) {
	t.Parallel()
	for _, n := range []int{254, 255, 256, 300, 100_000} {
		var k KeyBuilder
		k.String("A", strings.Repeat("x", n-2))
		k.Int("B", 7)
		got, err := k.Key()
		if err != nil {
			t.Fatal(err)
		}
		whole := strings.Repeat("x", n-2) + "/7"
		want := whole
		if n > 255 {
			sum := sha256.Sum256([]byte(whole))
			want = whole[:200] + "~" + hex.EncodeToString(sum[:])
		}
		if got != want || len(got) > 265 {
			t.Errorf("%d bytes: got %q", n, got)
		}
	}
	// Whatever straddles the end of the room on the stack.
	for n := 240; n < 270; n++ {
		var k, l KeyBuilder
		k.String("A", strings.Repeat("x", n))
		k.String("B", "é")
		k.UUID("C", [16]byte{1})
		l.String("A", strings.Repeat("x", n)+"")
		l.String("B", "é")
		l.UUID("C", [16]byte{2})
		a, _ := k.Key()
		b, _ := l.Key()
		if a == b || len(a) != 265 || len(b) != 265 || a[:200] != b[:200] {
			t.Errorf("%d: %q, %q", n, a, b)
		}
	}
}

func TestTimeOfAKeyIsAnInstant(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var keys [3]string
	for i, v := range []time.Time{now, now.Round(0), now.In(time.FixedZone("", -7*3600))} {
		var k KeyBuilder
		k.Time("A", v)
		keys[i], _ = k.Key()
	}
	if keys[0] != keys[1] || keys[0] != keys[2] {
		t.Errorf("got %q", keys)
	}
}

// FuzzKey: keys of any bytes are printable, no longer than 265 bytes, and equal only if their parts are.
func FuzzKey(f *testing.F) {
	f.Add("a", "b/c", "a/b", "c", []byte{1}, []byte{2})
	f.Add("a", "", "", "a", []byte{}, []byte{0})
	f.Add(strings.Repeat("x", 250), "y", strings.Repeat("x", 250), "z", []byte("~"), []byte("~"))
	f.Add("%", "%2F", "%25", "/", []byte(nil), []byte(nil))
	f.Fuzz(func(t *testing.T, a1, a2, b1, b2 string, a3, b3 []byte) {
		build := func(v1, v2 string, v3 []byte) string {
			var k KeyBuilder
			k.AllowZero().String("1", v1)
			k.AllowZero().Text("2", words{text: v2}, v2 == "")
			k.AllowZero().Bytes("3", v3)
			key, err := k.Key()
			if err != nil {
				t.Fatal(err)
			}
			if len(key) > 265 {
				t.Errorf("%d bytes", len(key))
			}
			for _, c := range []byte(key) {
				if c <= ' ' || c > '~' {
					t.Errorf("%q is not printable", key)
				}
			}
			return key
		}
		ka, kb := build(a1, a2, a3), build(b1, b2, b3)
		same := a1 == b1 && a2 == b2 && string(a3) == string(b3)
		if (ka == kb) != same {
			t.Errorf("%q, %q, %q and %q, %q, %q: %q and %q", a1, a2, a3, b1, b2, b3, ka, kb)
		}
	})
}

var keySink string

func twoFields(tenant string, id [16]byte) string {
	var k KeyBuilder
	k.String("TenantID", tenant)
	k.UUID("OrderID", id)
	s, err := k.Key()
	if err != nil {
		panic(err)
	}
	return s
}

// Not parallel: testing.AllocsPerRun counts what others allocate too.
func TestKeyAllocations(t *testing.T) {
	id := [16]byte{1, 2, 3}
	for name, f := range map[string]func(){
		"string and uuid": func() { keySink = twoFields("acme", id) },
		"two strings": func() {
			var k KeyBuilder
			k.String("A", "acme corp")
			k.AllowZero().String("B", "4711")
			keySink, _ = k.Key()
		},
		"integers, time, absent": func() {
			var k KeyBuilder
			k.Int("A", 4711)
			k.Time("B", time.Unix(1, 1))
			k.AllowZero().Absent("C")
			keySink, _ = k.Key()
		},
	} {
		if n := testing.AllocsPerRun(100, f); n != 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkKeyOfTwoFields(b *testing.B) {
	id := [16]byte{1, 2, 3}
	b.ReportAllocs()
	for b.Loop() {
		keySink = twoFields("acme", id)
	}
}

func BenchmarkKeyOfTwoStrings(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var k KeyBuilder
		k.String("TenantID", "acme")
		k.String("OrderID", "order-4711")
		keySink, _ = k.Key()
	}
}

func ExampleKeyBuilder() {
	var k KeyBuilder
	k.String("TenantID", "acme")
	k.Int("OrderID", 4711)
	key, err := k.Key()
	fmt.Println(key, err)
	// Output: acme/4711 <nil>
}

var _ encoding.TextMarshaler = words{}
