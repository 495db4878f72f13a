package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
)

// session is one client's connection.
type session struct {
	proxy          *Proxy
	client, server net.Conn

	mu      sync.Mutex
	ready   bool // the server has said once that it is ready: connecting is over
	waiting int  // Sync and Query messages whose ReadyForQuery is not there yet
	turn    bool // the client is in the middle of a request
	flushed bool // it asked for the answers so far without ending its request
	lost    bool // the answers to it do not arrive
}

// requests passes on what the client says. What it said in one piece goes on in one piece.
func (s *session) requests() error {
	in, out := bufio.NewReaderSize(s.client, 1<<16), bufio.NewWriterSize(s.server, 1<<16)
	cut := false
	for first := true; ; first = false {
		message, err := readMessage(in, !first)
		if err != nil {
			return err
		}
		s.proxy.await()
		if first && s.proxy.withholds(message) {
			return io.EOF
		}
		if !first {
			s.request(message[0])
			for _, do := range s.proxy.hooks(message) {
				do()
			}
			if s.proxy.loses(message) {
				s.lose()
			}
			cut = cut || s.proxy.cuts(message)
		}
		if _, err := out.Write(message); err != nil {
			return err
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
			if cut {
				return io.EOF
			}
		}
	}
}

// request notes a message of the client.
func (s *session) request(kind byte) {
	const query, sync, call, flush, terminate = 'Q', 'S', 'F', 'H', 'X'
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready || kind == terminate {
		return
	}
	if !s.turn {
		s.turn = true
		s.proxy.roundTrip()
	}
	switch kind {
	case query, sync, call:
		s.waiting++
	}
	s.flushed = kind == flush
}

func (p *Proxy) roundTrip() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trips++
}

// answers passes on what the server says.
func (s *session) answers() error {
	in, out := bufio.NewReaderSize(s.server, 1<<16), bufio.NewWriterSize(s.client, 1<<16)
	for {
		message, err := readMessage(in, true)
		if err != nil {
			return err
		}
		s.proxy.await()
		message, lost := s.answer(message)
		if lost && message[0] == 'Z' {
			return io.EOF // the server is done; now the client is cut off
		}
		if lost {
			continue
		}
		if _, err := out.Write(message); err != nil {
			return err
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

// answer notes a message of the server and returns what the client gets instead, or that it gets nothing any more.
func (s *session) answer(message []byte) (_ []byte, lost bool) {
	const ready, copyIn, errorResponse, notice = 'Z', 'G', 'E', 'N'
	s.mu.Lock()
	defer s.mu.Unlock()
	switch kind := message[0]; {
	case kind == ready:
		s.ready = true
		s.waiting = max(s.waiting-1, 0)
		s.turn = s.waiting > 0
	case kind == copyIn, s.flushed: // the client waited for it, and goes on
		s.turn = false
	}
	if kind := message[0]; (kind == errorResponse || kind == notice) && s.proxy.translates() {
		message = translated(message)
	}
	return message, s.lost
}

func (s *session) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = true
}

func (p *Proxy) translates() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.translate
}

// translated puts the texts of an error into another language: severity (S), message (M), detail (D) and hint (H).
// What programs are meant to read, such as the code (C), stays.
func translated(message []byte) []byte {
	out := []byte{message[0], 0, 0, 0, 0}
	for _, field := range bytes.Split(message[5:], []byte{0}) {
		if len(field) == 0 {
			continue
		}
		switch field[0] {
		case 'S', 'M', 'D', 'H':
			field = append([]byte{field[0]}, "нечто пошло не так"...)
		}
		out = append(append(out, field...), 0)
	}
	out = append(out, 0)
	binary.BigEndian.PutUint32(out[1:], uint32(len(out)-1))
	return out
}
