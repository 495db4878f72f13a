package idem

import (
	"crypto/sha256"
	"encoding"
	"fmt"
	"strconv"
	"time"
)

const (
	maxKey    = textSize // longest key that is stored as it is
	keyPrefix = 200      // of a longer one; the rest is its hash
)

// absent stands for a part without a value. It is not plain, so no value is written like it.
const absent = '~'

// KeyBuilder builds a business key, part by part, in the order of the calls. The zero value is ready to use; the string is
// its one allocation.
//
// The key is printable ASCII and injective: two keys of one handler are equal only if all their parts are. Parts are
// joined by a slash; bytes other than letters, digits, dot, underscore and hyphen are percent-encoded. A key of over 255
// bytes is cut after 200 and gets a tilde and the SHA-256 of the whole, in hexadecimal.
//
// A part that is zero makes [ErrZeroKey] of the key, unless AllowZero is called before it. The names of the parts are for
// that error only.
type KeyBuilder struct {
	text      text
	parts     int
	present   int
	allowZero bool
	err       error // the first
}

// AllowZero admits a zero or absent value as the next part.
func (k *KeyBuilder) AllowZero() *KeyBuilder {
	k.allowZero = true
	return k
}

// begin starts a part and reports whether it is to be written.
func (k *KeyBuilder) begin(name string, zero bool) bool {
	if zero && !k.allowZero {
		k.fail(fmt.Errorf("%w: %s", ErrZeroKey, name))
	}
	k.allowZero = false
	if k.parts > 0 {
		k.text.appendByte('/')
	}
	k.parts++
	return k.err == nil
}

func (k *KeyBuilder) fail(err error) {
	if k.err == nil {
		k.err = err
	}
}

// String adds v as it is, escaped. Zero is "".
func (k *KeyBuilder) String(name, v string) {
	if k.begin(name, v == "") {
		k.present++
		k.text.appendEscaped(v)
	}
}

// Int adds v in decimal. Zero is 0.
func (k *KeyBuilder) Int(name string, v int64) {
	if k.begin(name, v == 0) {
		k.present++
		var digits [20]byte
		k.text.appendBytes(strconv.AppendInt(digits[:0], v, 10))
	}
}

// Uint adds v in decimal. Zero is 0.
func (k *KeyBuilder) Uint(name string, v uint64) {
	if k.begin(name, v == 0) {
		k.present++
		var digits [20]byte
		k.text.appendBytes(strconv.AppendUint(digits[:0], v, 10))
	}
}

// Bool adds true or false. Zero is false.
func (k *KeyBuilder) Bool(name string, v bool) {
	if k.begin(name, !v) {
		k.present++
		k.text.appendString(strconv.FormatBool(v))
	}
}

// UUID adds v in the text form of RFC 9562, in lower case. Zero is the Nil UUID.
func (k *KeyBuilder) UUID(name string, v [16]byte) {
	if k.begin(name, v == [16]byte{}) {
		k.present++
		k.text.appendUUID(&v)
	}
}

// Bytes adds v in hexadecimal. Zero is nothing, or nothing but zero bytes.
func (k *KeyBuilder) Bytes(name string, v []byte) {
	if k.begin(name, allZero(v)) {
		k.present++
		k.text.appendHex(v)
	}
}

// Text adds v's text, escaped; zero tells that v is the zero value of its type. An empty text is zero too, and so is a
// zero value that has no text. A nil v is absent.
func (k *KeyBuilder) Text(name string, v encoding.TextMarshaler, zero bool) {
	if v == nil {
		k.Absent(name)
		return
	}
	b, err := v.MarshalText()
	if err != nil && !zero {
		k.fail(fmt.Errorf("key part %s: %w", name, err))
	}
	if k.begin(name, zero || len(b) == 0) {
		k.present++
		k.text.appendEscaped(string(b))
	}
}

// Time adds the instant v in UTC, as RFC 3339 with as many fractional digits as it has. Zero is the zero time.
func (k *KeyBuilder) Time(name string, v time.Time) {
	if k.begin(name, v.IsZero()) {
		k.present++
		var digits [len(time.RFC3339Nano) + 8]byte
		k.text.appendEscaped(string(v.UTC().AppendFormat(digits[:0], time.RFC3339Nano)))
	}
}

// Absent adds a part that has no value: a nil pointer, a NULL. It is zero, and differs from the zero of its type.
func (k *KeyBuilder) Absent(name string) {
	if k.begin(name, true) {
		k.text.appendByte(absent)
	}
}

// Key returns the key, or the first error. A key without a single part that is present is [ErrZeroKey]: it would be the
// same for all events.
func (k *KeyBuilder) Key() (string, error) {
	if k.err != nil {
		return "", k.err
	}
	if k.present == 0 {
		return "", fmt.Errorf("%w: all parts are absent", ErrZeroKey)
	}
	key := k.text.bytes()
	if len(key) <= maxKey {
		return string(key), nil
	}
	var cut text
	sum := sha256.Sum256(key)
	cut.appendBytes(key[:keyPrefix])
	cut.appendByte(absent)
	cut.appendHex(sum[:])
	return string(cut.bytes()), nil
}
