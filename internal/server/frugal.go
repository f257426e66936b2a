package server

import (
	"crypto/tls"
	"errors"
	"math"
	"net"
	"net/http"
	"sync/atomic"
)

// beforeRequest is how many bytes may come over a connection before the head of a request is there, as they are on the wire. An API server sends 2 KiB for
// a TLS handshake, and less than 1 KiB for a head. What is read ahead of a body may be one TLS record, which has 16 KiB.
const beforeRequest = 32 << 10

var errTooMuch = errors.New("too much was sent before a request")

// frugal is a listener whose connections end when somebody sends much and no request. The time of a head bounds how long that takes, and not how much
// memory: TLS 1.3 takes handshake messages of 256 KiB at any time, which Go collects.
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

// frugalConn is one of its connections.
type frugalConn struct {
	net.Conn
	// left is how much may still come.
	left atomic.Int64
}

// Read reads what may still come, and fails after that.
func (c *frugalConn) Read(b []byte) (int, error) {
	left := c.left.Load()
	if left <= 0 {
		return 0, errTooMuch
	}
	n, err := c.Conn.Read(b[:min(int64(len(b)), left)])
	c.left.Add(-int64(n))
	return n, err
}

// follow is a http.Server's ConnState. Handlers bound the bodies of requests themselves.
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
