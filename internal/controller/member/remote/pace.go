package remote

import (
	"context"
	"net"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/connrotation"
)

// What is written to one member, in packets by the second and at once. HTTP/2 answers each PING and SETTINGS of a server with a packet, so that whoever sends
// these without end has the operator do nothing else. A request needs two or three.
const mostWrites, mostWritesAtOnce = 2000, 20_000

// pacedConn is a connection to a member that is read and written at a pace. Bodies have one of their own, which does not count what else a connection
// carries: frames of HTTP/2 that are about no request.
type pacedConn struct {
	net.Conn
	guard *Guard
	// ctx ends when the connection is closed.
	ctx context.Context
	end context.CancelFunc
}

// paced returns connections of dial that are read and written as guard allows.
func paced(dial connrotation.DialFunc, guard *Guard) connrotation.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newPacedConn(conn, guard), nil
	}
}

func newPacedConn(conn net.Conn, guard *Guard) *pacedConn {
	ctx, end := context.WithCancel(context.Background())
	return &pacedConn{Conn: conn, guard: guard, ctx: ctx, end: end}
}

// Read waits after it has read: the next bytes are read later.
func (c *pacedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.wait(c.guard.wire, n)
	return n, err
}

// Write waits before it writes.
func (c *pacedConn) Write(p []byte) (int, error) {
	c.wait(c.guard.writes, 1)
	return c.Conn.Write(p)
}

// wait ends when the connection is closed, too; then the connection says so by itself.
func (c *pacedConn) wait(pace *rate.Limiter, n int) {
	_ = pace.WaitN(c.ctx, min(n, pace.Burst()))
}

// Close implements net.Conn.
func (c *pacedConn) Close() error {
	c.end()
	return c.Conn.Close()
}
