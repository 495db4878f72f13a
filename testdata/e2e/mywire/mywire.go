// Package mywire is a network connection to MySQL or MariaDB that sees single packets of the protocol. It runs a test's code
// before a given statement goes to the server, can lose the answer to one, can cut the client off, and can put error texts into
// another language. It stands in the client, between driver and network: use Dial as the Config's DialFunc. It does not do TLS
// or compression.
package mywire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
)

// Wire is what is to happen on the connections of one pool.
type Wire struct {
	mu        sync.Mutex
	before    []hook
	lose      []byte // text of the packet whose answer is to be lost; nil for none
	cut       []byte // text of the packet after which the client is to be cut off; nil for none
	hold      *Held  // nil for none
	translate bool
	trips     int
}

// Count sets the number of round trips to 0.
func (w *Wire) Count() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trips = 0
}

// RoundTrips is how many packets were sent since Count, of all connections, that the server answers.
func (w *Wire) RoundTrips() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trips
}

// trip counts a packet, unless it is one of those that have no answer.
func (w *Wire) trip(packet []byte) {
	const quit, closeStatement = 0x01, 0x19
	if len(packet) > headerSize && (packet[headerSize] == quit || packet[headerSize] == closeStatement) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trips++
}

// Held is a connection that the client has lost at a packet, and the server has not: it knows nothing yet of either.
type Held struct {
	// Reached is closed when the connection is held.
	Reached chan struct{}

	text    []byte
	conn    *conn
	pending []byte // the packet
}

// Hold has the client be cut off at the next packet with this text in it, which does not go to the server until Send. The server
// keeps its end of the connection, and what is open on it, until then.
func (w *Wire) Hold(text string) *Held {
	h := &Held{Reached: make(chan struct{}), text: []byte(text)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hold = h
	return h
}

// Send sends the packet, and closes the connection when the server has answered it.
func (h *Held) Send() error {
	<-h.Reached
	_, err := h.conn.Conn.Write(h.pending)
	if err == nil {
		_, err = h.conn.packet()
	}
	return errors.Join(err, h.conn.Conn.Close())
}

// held takes out what holds a packet.
func (w *Wire) held(packet []byte) *Held {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.hold
	if h == nil || !bytes.Contains(packet, h.text) {
		return nil
	}
	w.hold = nil
	return h
}

type hook struct {
	text []byte
	do   func()
}

// Before has do run once, before the next packet with this text in it goes to the server. A statement's text is in it where the
// driver sends or prepares it.
func (w *Wire) Before(text string, do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = append(w.before, hook{[]byte(text), do})
}

// Lose has the answer to the next packet with this text in it get lost, and its connection with it. The server has done by then
// what it was asked to.
func (w *Wire) Lose(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose = []byte(text)
}

// CutAfter has the client be cut off right after the next packet with this text in it, while the server works on it.
func (w *Wire) CutAfter(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = []byte(text)
}

// Translate has the texts of all errors come in another language from now on. Their numbers stay.
func (w *Wire) Translate() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.translate = true
}

// hooks takes out what is to be done before a packet.
func (w *Wire) hooks(packet []byte) (do []func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = slices.DeleteFunc(w.before, func(h hook) bool {
		if !bytes.Contains(packet, h.text) {
			return false
		}
		do = append(do, h.do)
		return true
	})
	return do
}

// ends reports whether a packet's answer is to be lost, and whether its client is to be cut off.
func (w *Wire) ends(packet []byte) (lose, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lose != nil && bytes.Contains(packet, w.lose) {
		w.lose, lose = nil, true
	}
	if w.cut != nil && bytes.Contains(packet, w.cut) {
		w.cut, cut = nil, true
	}
	return lose, cut
}

// Dial connects to the server.
func (w *Wire) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, wire: w}, nil
}

// conn is one connection, as the driver has it.
type conn struct {
	net.Conn
	wire *Wire
	rest []byte // of the packet that is being read
	lost atomic.Bool
	kept atomic.Bool // by the test
}

// Write sends what the driver sends, which is a packet with each call.
func (c *conn) Write(packet []byte) (int, error) {
	c.wire.trip(packet)
	for _, do := range c.wire.hooks(packet) {
		do()
	}
	if h := c.wire.held(packet); h != nil {
		h.conn, h.pending = c, bytes.Clone(packet)
		c.lost.Store(true)
		c.kept.Store(true)
		close(h.Reached)
		return len(packet), nil
	}
	lose, cut := c.wire.ends(packet)
	n, err := c.Conn.Write(packet)
	if err == nil && lose {
		_, err = c.packet()
	}
	if lose || cut {
		c.lost.Store(true)
		err = errors.Join(err, c.Close())
	}
	return n, err
}

// Close closes the connection, unless the test holds it.
func (c *conn) Close() error {
	if c.kept.Load() {
		return nil
	}
	return c.Conn.Close()
}

func (c *conn) Read(b []byte) (int, error) {
	if c.lost.Load() {
		return 0, io.ErrUnexpectedEOF
	}
	if len(c.rest) == 0 {
		packet, err := c.packet()
		if err != nil {
			return 0, err
		}
		c.rest = packet
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// headerSize is a packet's length in three bytes and its number in one.
const headerSize = 4

// packet reads one packet of the server.
func (c *conn) packet() ([]byte, error) {
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(c.Conn, header); err != nil {
		return nil, err
	}
	size := int(header[0]) | int(header[1])<<8 | int(header[2])<<16
	packet := append(header, make([]byte, size)...)
	if _, err := io.ReadFull(c.Conn, packet[headerSize:]); err != nil {
		return nil, err
	}
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	if c.wire.translate {
		return translated(packet), nil
	}
	return packet, nil
}

// translated puts the text of an error into another language. Its number and its SQLSTATE stay.
func translated(packet []byte) []byte {
	const errorPacket, text = 0xff, headerSize + 1 + 2 + 6
	if len(packet) < text || packet[headerSize] != errorPacket {
		return packet
	}
	packet = append(packet[:text:text], "нечто пошло не так"...)
	var size [4]byte
	binary.LittleEndian.PutUint32(size[:], uint32(len(packet)-headerSize))
	copy(packet, size[:3])
	return packet
}

// SyscallConn lets the driver see whether an idle connection is still there.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	raw, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return raw.SyscallConn()
}
