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

// Pace is how fast a member is read and written. Its incarnations share one: a server that ends them would otherwise get all that may come at once each time.
// It is safe for concurrent use.
type Pace struct {
	// bodies is that of bytes of answers, wire that of all bytes of connections, and writes that of packets to the member.
	bodies, wire, writes *rate.Limiter
}

// NewPace returns that of one member.
func NewPace(limits Limits) *Pace {
	return &Pace{
		bodies: rate.NewLimiter(rate.Limit(limits.Rate), limits.Burst), wire: rate.NewLimiter(rate.Limit(limits.Rate), limits.Burst),
		writes: rate.NewLimiter(mostWrites, mostWritesAtOnce),
	}
}

// pacedConn is a connection to a member that is read and written at a pace. Bodies have one of their own, which does not count what else a connection
// carries: frames of HTTP/2 that are about no request.
type pacedConn struct {
	net.Conn
	pace *Pace
	// ctx ends when the connection is closed.
	ctx context.Context
	end context.CancelFunc
}

// paced returns connections of dial that are read and written at a pace.
func paced(dial connrotation.DialFunc, pace *Pace) connrotation.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newPacedConn(conn, pace), nil
	}
}

func newPacedConn(conn net.Conn, pace *Pace) *pacedConn {
	ctx, end := context.WithCancel(context.Background())
	return &pacedConn{Conn: conn, pace: pace, ctx: ctx, end: end}
}

// Read waits after it has read: the next bytes are read later.
func (c *pacedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.wait(c.pace.wire, n)
	return n, err
}

// Write waits before it writes.
func (c *pacedConn) Write(p []byte) (int, error) {
	c.wait(c.pace.writes, 1)
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
