package idem

import "fmt"

// MessageCodec makes a [Spec]'s Codec for results *T that are messages of a format of their own, by what the format's package
// calls a message, M. Generated code does so for protobuf, which this module does not depend on:
//
//	idem.MessageCodec[pb.Receipt](proto.MarshalOptions{Deterministic: true}.Marshal, proto.Unmarshal)
//
// A nil result stays nil, and a message without a field set stays one.
func MessageCodec[T, M any](marshal func(M) ([]byte, error), unmarshal func([]byte, M) error) Codec {
	return messageCodec[T, M]{marshal, unmarshal}
}

type messageCodec[T, M any] struct {
	marshal   func(M) ([]byte, error)
	unmarshal func([]byte, M) error
}

// nilMessage is how a nil result is stored: a message without fields has no bytes, and none begins with this one, which
// would be the field number 0. Protocol Buffers, "Encoding", "Message Structure".
const nilMessage = 7

func (c messageCodec[T, M]) Encode(v any) ([]byte, error) {
	p, ok := v.(*T)
	if !ok {
		return nil, fmt.Errorf("idem.MessageCodec of %T cannot encode %T", (*T)(nil), v)
	}
	if p == nil {
		return []byte{nilMessage}, nil
	}
	m, err := c.message(p)
	if err != nil {
		return nil, err
	}
	return c.marshal(m)
}

func (c messageCodec[T, M]) Decode(data []byte, v any) error {
	to, ok := v.(**T)
	if !ok {
		return fmt.Errorf("idem.MessageCodec of %T cannot decode into %T", (*T)(nil), v)
	}
	if len(data) == 1 && data[0] == nilMessage {
		*to = nil
		return nil
	}
	p := new(T)
	m, err := c.message(p)
	if err != nil {
		return err
	}
	if err := c.unmarshal(data, m); err != nil {
		return err
	}
	*to = p
	return nil
}

func (c messageCodec[T, M]) message(p *T) (m M, err error) {
	m, ok := any(p).(M)
	if !ok {
		return m, fmt.Errorf("idem.MessageCodec: %T is not a %T", p, (*M)(nil))
	}
	return m, nil
}

// encoding is g with the codec of a handler's own before the guard's; g itself where the handler has none.
func (g *Guard[Tx]) encoding(own Codec) *Guard[Tx] {
	if own == nil {
		return g
	}
	with := *g
	if _, plain := g.settings.codec.(jsonCodec); plain {
		with.settings.codec = own
	} else {
		with.settings.codec = twofold{own, g.settings.codec}
	}
	return &with
}

// twofold is a handler's codec before the guard's, which is given the other's bytes.
type twofold struct{ inner, outer Codec }

func (c twofold) Encode(v any) ([]byte, error) {
	data, err := c.inner.Encode(v)
	if err != nil {
		return nil, err
	}
	if data == nil {
		data = []byte{} // no bytes are a value too
	}
	return c.outer.Encode(data)
}

func (c twofold) Decode(data []byte, v any) error {
	var inner []byte
	if err := c.outer.Decode(data, &inner); err != nil {
		return err
	}
	return c.inner.Decode(inner, v)
}
