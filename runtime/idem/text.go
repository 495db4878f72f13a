package idem

import "encoding/binary"

const hexDigits = "0123456789ABCDEF"

// plain holds the bytes that stand for themselves in a key.
var plain = func() (t [256]bool) {
	for c := '0'; c <= '9'; c++ {
		t[c] = true
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = true, true
	}
	t['.'], t['_'], t['-'] = true, true, true
	return t
}()

// textSize is the room that a builder has without an allocation: the longest key that is stored as it is.
const textSize = 255

// text collects bytes, the first textSize of them in itself: it holds no pointer to its own array, so that a builder can
// live on its caller's stack.
type text struct {
	short [textSize]byte
	n     int    // bytes in short
	long  []byte // all bytes, once short is too small; nil until then
}

// appendBytes adds b as it is.
func (t *text) appendBytes(b []byte) {
	if t.long == nil && len(b) <= textSize-t.n {
		t.n += copy(t.short[t.n:], b)
		return
	}
	t.spill(len(b))
	t.long = append(t.long, b...)
}

// appendString adds s as it is.
func (t *text) appendString(s string) {
	if t.long == nil && len(s) <= textSize-t.n {
		t.n += copy(t.short[t.n:], s)
		return
	}
	t.spill(len(s))
	t.long = append(t.long, s...)
}

func (t *text) appendByte(c byte) {
	if t.long == nil && t.n < textSize {
		t.short[t.n] = c
		t.n++
		return
	}
	t.spill(1)
	t.long = append(t.long, c)
}

// spill moves to the heap, with room for more.
func (t *text) spill(more int) {
	if t.long == nil {
		t.long = append(make([]byte, 0, 2*textSize+more), t.short[:t.n]...)
	}
}

func (t *text) bytes() []byte {
	if t.long != nil {
		return t.long
	}
	return t.short[:t.n]
}

// appendEscaped adds s with every byte that is not plain percent-encoded.
func (t *text) appendEscaped(s string) {
	from := 0
	for i := 0; i < len(s); i++ {
		if plain[s[i]] {
			continue
		}
		t.appendString(s[from:i])
		t.appendByte('%')
		t.appendByte(hexDigits[s[i]>>4])
		t.appendByte(hexDigits[s[i]&15])
		from = i + 1
	}
	t.appendString(s[from:])
}

// hexPairs holds the two lower-case digits of each byte, the first in the low byte.
var hexPairs = func() (t [256]uint16) {
	const digits = "0123456789abcdef"
	for i := range t {
		t[i] = uint16(digits[i>>4]) | uint16(digits[i&15])<<8
	}
	return t
}()

// appendHex adds b in lower-case hexadecimal, as UUIDs and digests are written.
func (t *text) appendHex(b []byte) {
	for _, c := range b {
		t.appendByte(byte(hexPairs[c]))
		t.appendByte(byte(hexPairs[c] >> 8))
	}
}

const uuidLen = 36

// appendUUID adds v in the text form of RFC 9562, section 4.
func (t *text) appendUUID(v *[16]byte) {
	if t.long == nil && uuidLen <= textSize-t.n {
		putUUID((*[uuidLen]byte)(t.short[t.n:]), v)
		t.n += uuidLen
		return
	}
	var out [uuidLen]byte
	putUUID(&out, v)
	t.appendBytes(out[:])
}

func putUUID(out *[uuidLen]byte, v *[16]byte) {
	at := 0
	for i, c := range v {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			out[at] = '-'
			at++
		}
		binary.LittleEndian.PutUint16(out[at:], hexPairs[c])
		at += 2
	}
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
