package idem

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"
)

// The kinds of a fingerprint's parts. They are stored, so a letter is never given another meaning.
const (
	kindString byte = 's'
	kindInt    byte = 'i' // and unsigned ones, which are written alike
	kindFloat  byte = 'f'
	kindBool   byte = 'b'
	kindUUID   byte = 'u'
	kindBytes  byte = 'x'
	kindText   byte = 't'
	kindTime   byte = 'd'
	kindError  byte = 'e' // a text that did not marshal
	kindAbsent byte = '-' // of any kind
)

// FingerprintBuilder builds the value that must not differ between two deliveries of one key, part by part. The zero value
// is ready to use. Every value is admitted, zero and absent ones too.
type FingerprintBuilder struct {
	names  text
	kinds  text
	values text
}

// begin starts a part: its name, its kind and the length of its value, so that no two lists of parts are written alike.
func (f *FingerprintBuilder) begin(name string, kind byte, size int) {
	var length [2 * binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(len(name)))
	f.names.appendBytes(length[:n])
	f.names.appendString(name)
	f.kinds.appendByte(kind)
	n = binary.PutUvarint(length[:], uint64(size))
	f.values.appendByte(kind)
	f.values.appendBytes(length[:n])
}

func (f *FingerprintBuilder) add(name string, kind byte, value []byte) {
	f.begin(name, kind, len(value))
	f.values.appendBytes(value)
}

// String adds v.
func (f *FingerprintBuilder) String(name, v string) {
	f.begin(name, kindString, len(v))
	f.values.appendString(v)
}

// Int adds v. A number is the same whether it is signed or not.
func (f *FingerprintBuilder) Int(name string, v int64) {
	var digits [20]byte
	f.add(name, kindInt, strconv.AppendInt(digits[:0], v, 10))
}

// Uint adds v.
func (f *FingerprintBuilder) Uint(name string, v uint64) {
	var digits [20]byte
	f.add(name, kindInt, strconv.AppendUint(digits[:0], v, 10))
}

// Float adds v. Values that are equal in Go are the same, and so are all NaNs.
func (f *FingerprintBuilder) Float(name string, v float64) {
	switch {
	case v == 0:
		v = 0 // no negative zero
	case math.IsNaN(v):
		v = math.NaN()
	}
	var bits [8]byte
	f.add(name, kindFloat, binary.BigEndian.AppendUint64(bits[:0], math.Float64bits(v)))
}

// Bool adds v.
func (f *FingerprintBuilder) Bool(name string, v bool) {
	f.begin(name, kindBool, 1)
	if v {
		f.values.appendByte(1)
	} else {
		f.values.appendByte(0)
	}
}

// UUID adds v.
func (f *FingerprintBuilder) UUID(name string, v [16]byte) { f.add(name, kindUUID, v[:]) }

// Bytes adds v. Nil is the same as empty.
func (f *FingerprintBuilder) Bytes(name string, v []byte) { f.add(name, kindBytes, v) }

// Text adds v's text; zero tells that v is the zero value of its type. A text that does not marshal counts as a part of
// another shape, which is not compared: the delivery is not refused for it.
func (f *FingerprintBuilder) Text(name string, v encoding.TextMarshaler, zero bool) {
	if v == nil {
		f.Absent(name)
		return
	}
	b, err := v.MarshalText()
	switch {
	case err == nil:
		f.add(name, kindText, b)
	case zero:
		// Some types have no text for their zero value.
		f.add(name, kindText, nil)
	default:
		f.add(name, kindError, []byte(err.Error()))
	}
}

// Time adds the instant v: neither its zone nor its monotonic part counts.
func (f *FingerprintBuilder) Time(name string, v time.Time) {
	var digits [len(time.RFC3339Nano) + 8]byte
	f.add(name, kindTime, v.UTC().AppendFormat(digits[:0], time.RFC3339Nano))
}

// Absent adds a part that has no value: a nil pointer, a NULL. It differs from every value.
func (f *FingerprintBuilder) Absent(name string) { f.begin(name, kindAbsent, 0) }

// Sum returns the fingerprint, "shape:hash". The shape is a hash of the parts' names and a letter for the kind of each; the
// hash is one of the values. Fingerprints of different shapes, before and after a deploy, are not compared.
func (f *FingerprintBuilder) Sum() string {
	var out text
	names := sha256.Sum256(f.names.bytes())
	values := sha256.Sum256(f.values.bytes())
	out.appendHex(names[:8])
	out.appendByte('.')
	out.appendBytes(f.kinds.bytes())
	out.appendByte(':')
	out.appendHex(values[:16])
	return string(out.bytes())
}

// mismatch reports whether two fingerprints are of one shape and of different values.
func mismatch(a, b string) bool {
	if a == b {
		return false
	}
	shapeA, _, okA := strings.Cut(a, ":")
	shapeB, _, okB := strings.Cut(b, ":")
	return okA && okB && sameShape(shapeA, shapeB)
}

// sameShape compares shapes. A part that is absent fits every kind: a nil pointer does not know what it points to.
func sameShape(a, b string) bool {
	namesA, kindsA, _ := strings.Cut(a, ".")
	namesB, kindsB, _ := strings.Cut(b, ".")
	if namesA != namesB || len(kindsA) != len(kindsB) {
		return false
	}
	for i := range len(kindsA) {
		if kindsA[i] != kindsB[i] && kindsA[i] != kindAbsent && kindsB[i] != kindAbsent {
			return false
		}
	}
	return true
}
