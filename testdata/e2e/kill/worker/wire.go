package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/idemgen/idemgen/runtime/store"

	"github.com/idemgen/idemgen/testdata/e2e/kill"
)

// wires are the points between client and server: what has been sent when a connection comes to one. The store's statements
// begin with their names, where they travel as texts.
var wires = map[string][][]byte{
	"claim-sent":  claims,
	"move-sent":   updates,
	"commit-sent": commits,
	"finish-sent": {[]byte("-- name: Finish :")},
}

// commits are COMMIT as it is sent: PostgreSQL, "Message Formats", Query and Parse; MariaDB, "COM_QUERY".
var commits = [][]byte{[]byte("commit\x00"), []byte("\x03COMMIT")}

// claim is how the store's claim begins, and claims, updates and single are what is looked for. Single are the updates that are a
// transaction by themselves.
const claim = "-- name: Claim :"

var (
	claims  = [][]byte{[]byte(claim)}
	updates = [][]byte{[]byte("UPDATE orders")}
	single  = [][]byte{[]byte("-- name: PgxordersMovesConfirm :"), []byte("-- name: MyordersMovesConfirm :")}
)

// losses are what the network loses.
var losses = map[kill.Loss][][]byte{
	kill.Commits: commits,
	kill.Moves:   slices.Concat(commits, single),
	kill.Claims:  claims,
	kill.Granted: claims,
	kill.Unsent:  commits,
}

func isIn(message []byte, texts [][]byte) bool {
	for _, text := range texts {
		if bytes.Contains(message, text) {
			return true
		}
	}
	return false
}

// stop is where the connections are to stop, as the engine does at its own points.
type stop struct {
	point  string
	texts  [][]byte // nil for a point that is not on the wire
	number int64
	passed atomic.Int64
}

func newStop(text string) (*stop, error) {
	name, number, numbered := strings.Cut(text, ":")
	s := &stop{point: name, texts: wires[name], number: 1}
	if !numbered {
		return s, nil
	}
	var err error
	s.number, err = strconv.ParseInt(number, 10, 64)
	return s, err
}

// sent stops for good, if this is the message to stop after.
func (s *stop) sent(message []byte) {
	if !isIn(message, s.texts) || s.passed.Add(1) != s.number {
		return
	}
	if _, err := fmt.Fprintln(os.Stdout, kill.AtPoint+s.point); err != nil {
		os.Exit(1)
	}
	select {}
}

// network makes connections that stop, and that lose messages.
type network struct {
	stop   *stop
	lose   int64
	losing [][]byte
	lost   atomic.Int64
	after  func() // a loss; nil for nothing
	unsent bool   // all that are lost do not arrive
	sent   bool   // or all do
}

func (w *worker) network(s *stop) *network {
	n := &network{stop: s, lose: int64(w.job.Lose), losing: losses[w.job.Losing], unsent: w.job.Losing == kill.Unsent}
	switch w.job.Losing {
	case kill.Claims, kill.Granted:
		n.after, n.sent = w.claimLost, w.job.Losing == kill.Granted
	}
	return n
}

func (n *network) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &wire{Conn: conn, network: n}, nil
}

// forestalling is what tells a claim that is in the way of another one, whose fate is not known: see idem.Lease.
var forestalling = []byte(store.Released)

// spares says that a message is not lost: where every claim is to be granted and taken back, that which finds out about it.
func (n *network) spares(message []byte) bool { return n.sent && bytes.Contains(message, forestalling) }

// wire is a connection to a server. It has no TLS.
type wire struct {
	net.Conn
	network *network
	dead    atomic.Bool
}

var errDead = errors.New("the network is gone")

// Write passes on what is sent. Every second message that is to be lost does not arrive, or all, or none; of the others only the answer
// does not.
func (w *wire) Write(message []byte) (int, error) {
	if isIn(message, w.network.losing) && !w.network.spares(message) {
		if n := w.network.lost.Add(1); n <= w.network.lose {
			w.dead.Store(true)
			if w.network.after != nil {
				defer w.network.after()
			}
			if !w.network.sent && n%2 == 0 || w.network.unsent {
				return len(message), w.Close()
			}
		}
	}
	n, err := w.Conn.Write(message)
	if err == nil {
		w.network.stop.sent(message)
	}
	return n, err
}

// Read also drops what arrives after the connection's death: it may have waited for that before.
func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if w.dead.Load() {
		return 0, errDead
	}
	return n, err
}
