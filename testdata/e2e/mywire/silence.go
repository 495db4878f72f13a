package mywire

import (
	"bytes"
	"context"
	"net"
	"sync"
)

// Silence is a network that falls silent at one moment: once a packet with a text in it has been answered, the next one is taken
// from the client, and nothing is heard of it, until End. Use Dial as the Config's DialFunc.
type Silence struct {
	mu    sync.Mutex
	text  []byte // nil for none
	conns []*silent
}

// After has the next packet with this text in it be the last one that is answered on its connection.
func (s *Silence) After(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = []byte(text)
}

// End has the clients of all connections hear that they are closed, and says how many had fallen silent.
func (s *Silence) End() (silent int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		if c.deaf {
			silent++
		}
		c.end.Do(func() { close(c.ended) })
	}
	return silent
}

// Dial connects to the server.
func (s *Silence) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	one := &silent{Conn: c, network: s, ended: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, one)
	return one, nil
}

// silent is one connection. It has no SyscallConn, so that the driver does not find it closed between two statements.
type silent struct {
	net.Conn
	network *Silence
	last    bool // the packet before was the last one that is answered
	deaf    bool
	ended   chan struct{}
	end     sync.Once
}

func (c *silent) Write(packet []byte) (int, error) {
	c.network.mu.Lock()
	c.deaf = c.deaf || c.last
	deaf := c.deaf
	if text := c.network.text; text != nil && bytes.Contains(packet, text) {
		c.network.text, c.last = nil, true
	}
	c.network.mu.Unlock()
	if deaf {
		return len(packet), nil
	}
	return c.Conn.Write(packet)
}

func (c *silent) Read(b []byte) (int, error) {
	c.network.mu.Lock()
	deaf := c.deaf
	c.network.mu.Unlock()
	if deaf {
		<-c.ended
		return 0, net.ErrClosed
	}
	return c.Conn.Read(b)
}

func (c *silent) Close() error {
	c.end.Do(func() { close(c.ended) })
	return c.Conn.Close()
}
