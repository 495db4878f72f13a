// Package wire is a proxy between a PostgreSQL client and its server that sees single messages of the protocol. It
// counts round trips, runs a test's code before a given statement goes on to the server, can lose the answer to one, can
// pass nothing on for a while, and can put error texts into another language. It does not do TLS: use sslmode=disable.
package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
)

// Proxy passes connections on to a server.
type Proxy struct {
	listener net.Listener
	server   string
	passing  sync.WaitGroup

	mu        sync.Mutex
	trips     int
	before    []hook
	lose      []byte // text of the message whose answer is to be lost; nil for none
	cut       []byte // text of the message after which the client is to be cut off; nil for none
	deaf      bool   // requests to cancel do not arrive
	translate bool
	stall     stall
	conns     map[net.Conn]bool
	closed    bool
	err       error
}

type hook struct {
	text []byte
	do   func()
}

// New starts a proxy to the server at the address. It ends with the test.
func New(t testing.TB, server string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, server: server, conns: map[net.Conn]bool{}}
	p.passing.Go(p.accept)
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Errorf("proxy: %v", err)
		}
	})
	return p
}

// Addr is where clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Count sets the number of round trips to 0.
func (p *Proxy) Count() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trips = 0
}

// RoundTrips is how many requests were made since Count, of all connections, each of which had to wait for an answer
// to the one before. Messages that the client sends without such a wait are one request. Connecting does not count.
func (p *Proxy) RoundTrips() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trips
}

// Before has do run once, before the next message with this text in it goes to the server. A statement's text is in it
// where the client sends or prepares it, and no longer where it uses what it has prepared before. Clients spell keywords in
// small letters or in capitals, which makes no difference here, or in Lose and CutAfter.
func (p *Proxy) Before(text string, do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = append(p.before, hook{[]byte(text), do})
}

func contains(message, text []byte) bool {
	return bytes.Contains(bytes.ToLower(message), bytes.ToLower(text))
}

// hooks takes out what is to be done before a message.
func (p *Proxy) hooks(message []byte) (do []func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = slices.DeleteFunc(p.before, func(h hook) bool {
		if !contains(message, h.text) {
			return false
		}
		do = append(do, h.do)
		return true
	})
	return do
}

// Lose has the answer to the next message with this text in it get lost, and its connection with it. The server has
// done by then what it was asked to.
func (p *Proxy) Lose(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = []byte(text)
}

// loses reports whether the answer to a message is to be lost.
func (p *Proxy) loses(message []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lose == nil || !contains(message, p.lose) {
		return false
	}
	p.lose = nil
	return true
}

// CutAfter has the client be cut off right after the next message with this text in it, while the server works on it and
// does not know. It does not get to know it by a request to cancel, either.
func (p *Proxy) CutAfter(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = []byte(text)
	p.deaf = true
}

// cancelRequest is the code of a connection's first message that asks to cancel another's statement. PostgreSQL, "Message
// Formats", CancelRequest.
const cancelRequest = 80877102

// withholds reports whether a connection's first message must not arrive.
func (p *Proxy) withholds(first []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.deaf && len(first) >= 8 && binary.BigEndian.Uint32(first[4:]) == cancelRequest
}

// cuts reports whether the client is to be cut off after a message.
func (p *Proxy) cuts(message []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut == nil || !contains(message, p.cut) {
		return false
	}
	p.cut = nil
	return true
}

// Translate has the texts of all errors come in another language from now on. Their codes stay.
func (p *Proxy) Translate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.translate = true
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			p.fail(errors.Join(err, client.Close()))
			continue
		}
		if !p.enter(client, server) {
			return
		}
		s := &session{proxy: p, client: client, server: server}
		p.passing.Go(func() { p.pass(s, s.requests) })
		p.passing.Go(func() { p.pass(s, s.answers) })
	}
}

// enter notes a pair of connections, unless the proxy is closed already.
func (p *Proxy) enter(pair ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range pair {
		if p.closed {
			p.err = errors.Join(p.err, c.Close())
			continue
		}
		p.conns[c] = true
	}
	return !p.closed
}

// pass runs one direction of a session. When it ends, or a test's code fails in it, the session ends.
func (p *Proxy) pass(s *session, direction func() error) {
	var err error
	defer func() { p.end(s, err) }()
	err = direction()
}

func (p *Proxy) end(s *session, err error) {
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !isReset(err) {
		p.fail(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range []net.Conn{s.client, s.server} {
		if p.conns[c] {
			delete(p.conns, c)
			p.err = errors.Join(p.err, c.Close())
		}
	}
}

// isReset says that the other side went without a word, as a killed process does.
func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && !op.Timeout()
}

func (p *Proxy) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = errors.Join(p.err, err)
}

func (p *Proxy) close() error {
	err := p.listener.Close()
	p.Resume()
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		delete(p.conns, c)
		err = errors.Join(err, c.Close())
	}
	p.mu.Unlock()
	p.passing.Wait()
	return errors.Join(err, p.err)
}

// maxMessage bounds a message's length, so that a stream out of step is found out.
const maxMessage = 64 << 20

// readMessage reads one message: its type, unless typed is false as for a connection's first, its length and its body.
func readMessage(r *bufio.Reader, typed bool) ([]byte, error) {
	head := 4
	if typed {
		head = 5
	}
	message, err := r.Peek(head)
	if err != nil {
		return nil, err
	}
	size := int(binary.BigEndian.Uint32(message[head-4:])) + head - 4
	if size < head || size > maxMessage {
		return nil, fmt.Errorf("a message of %d bytes", size)
	}
	message = make([]byte, size)
	_, err = io.ReadFull(r, message)
	return message, err
}
