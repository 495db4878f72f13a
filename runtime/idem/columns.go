package idem

import (
	"encoding"
	"encoding/hex"
	"fmt"
)

// Absent is the error of generated code for a value of an event that is not there and has to be: it is [ErrZeroKey].
func Absent(name string) error { return fmt.Errorf("%w: %s is absent", ErrZeroKey, name) }

// ParseUUID reads a UUID in the text form of RFC 9562, in either case of its letters, for a column that holds UUIDs. It is
// called by generated code, and name is for the error.
func ParseUUID(name, s string) (id [16]byte, err error) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, fmt.Errorf("%s is no UUID", name)
	}
	digits := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return id, fmt.Errorf("%s is no UUID: %w", name, err)
	}
	return id, nil
}

// UUIDText is the text form of a UUID, for a column that holds texts.
func UUIDText(id [16]byte) string {
	var t text
	t.appendUUID(&id)
	return string(t.bytes())
}

// TextOf is the text of a value, for a column that holds texts. It is called by generated code, and name is for the error.
func TextOf(name string, v encoding.TextMarshaler) (string, error) {
	b, err := v.MarshalText()
	if err != nil {
		return "", fmt.Errorf("%s has no text: %w", name, err)
	}
	return string(b), nil
}
