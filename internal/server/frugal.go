package server

import (
	"crypto/tls"
	"errors"
	"math"
	"net"
	"net/http"
	"sync/atomic"
)

// beforeRequest is how many bytes a connection can receive before the head of a request is complete, as sent on the wire. An API server sends 2 KiB for a
// TLS handshake, and less than 1 KiB for a head. The read-ahead of a body can be one TLS record of 16 KiB.
const beforeRequest = 32 << 10

var errTooMuch = errors.New("too much was sent before a request")

// frugal is a listener whose connections end if the client sends too much without a request. The timeout of a head limits the time, but not the memory:
// TLS 1.3 allows handshake messages of 256 KiB at any time, which Go buffers.
type frugal struct{ net.Listener }

// Accept waits for a connection.
func (f frugal) Accept() (net.Conn, error) {
	conn, err := f.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &frugalConn{Conn: conn}
	c.left.Store(beforeRequest)
	return c, nil
}

type frugalConn struct {
	net.Conn
	// left is how many bytes can still be received.
	left atomic.Int64
}

// Read reads up to the limit, and fails after that.
func (c *frugalConn) Read(b []byte) (int, error) {
	left := c.left.Load()
	if left <= 0 {
		return 0, errTooMuch
	}
	n, err := c.Conn.Read(b[:min(int64(len(b)), left)])
	c.left.Add(-int64(n))
	return n, err
}

// follow is a http.Server's ConnState. Handlers limit the bodies of requests themselves.
func follow(conn net.Conn, state http.ConnState) {
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	c, ok := conn.(*frugalConn)
	switch {
	case !ok:
	case state == http.StateActive:
		c.left.Store(math.MaxInt64)
	case state == http.StateIdle:
		c.left.Store(beforeRequest)
	}
}
