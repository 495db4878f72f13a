package idem

import "encoding/json"

// Codec turns results into bytes and back. It must read what it has written for as long as a window lasts, over deploys
// too. It may compress or encrypt. A Codec is used by many goroutines at once.
type Codec interface {
	// Encode returns v's bytes. v is a handler's result; of a protobuf message it is the message's bytes, a []byte.
	Encode(v any) ([]byte, error)
	// Decode reads bytes into v, a pointer to a zero result, or to a nil []byte.
	Decode(data []byte, v any) error
}

type jsonCodec struct{}

func (jsonCodec) Encode(v any) ([]byte, error)    { return json.Marshal(v) }
func (jsonCodec) Decode(data []byte, v any) error { return json.Unmarshal(data, v) }

// packed marks a result that does not stand in the row as the codec wrote it.
const packed = 0

// packResult is a codec's bytes as the row holds them: as they are, so that an operator can read them. Only bytes that
// begin with the mark, and no bytes at all, get the mark before them: a codec may write nothing for a zero result, and
// databases do not all tell an empty value from none, which stands for an omitted result.
func packResult(data []byte) []byte {
	if len(data) > 0 && data[0] != packed {
		return data
	}
	return append([]byte{packed}, data...)
}

func unpackResult(stored []byte) []byte {
	if len(stored) > 0 && stored[0] == packed {
		return stored[1:]
	}
	return stored
}
