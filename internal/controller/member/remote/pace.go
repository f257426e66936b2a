package remote

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/connrotation"
)

// What is written to one member, in packets by the second and at once. HTTP/2 answers each PING and SETTINGS of a server with a packet, so that whoever sends
// these without end has the operator do nothing else. A request needs two or three.
const mostWrites, mostWritesAtOnce = 2000, 20_000

// What is read of one member that is in no body, in bytes by the second and at once: heads, and what TLS and HTTP/2 add. A frame that is about nothing has 9
// bytes, and costs as much of the processor as a kilobyte of a body. At once it may be as much as the server sends ahead of who reads bodies: 4 MiB for each.
const mostFraming, mostFramingAtOnce = 256 << 10, 32 << 20

// Connections to one member, by the second and at once. A server may close each after one request, and its certificates may be such that it takes 37 ms of a
// processor to check them. One that speaks HTTP/2 needs a connection, and the others 64 for each of two identities.
const mostDials, mostDialsAtOnce = 2, 128

// Pace is how fast a member is read and written. Its incarnations share one: a server that ends them would otherwise get all that may come at once each time.
// It is safe for concurrent use.
type Pace struct {
	// bodies is that of bytes of answers, framing that of what else connections carry, writes that of packets to the member, and dials that of connections.
	bodies, framing, writes, dials *rate.Limiter
}

// NewPace returns that of one member.
func NewPace(limits Limits) *Pace {
	return &Pace{
		bodies:  rate.NewLimiter(rate.Limit(limits.Rate), limits.Burst),
		framing: rate.NewLimiter(mostFraming, mostFramingAtOnce), writes: rate.NewLimiter(mostWrites, mostWritesAtOnce),
		dials: rate.NewLimiter(mostDials, mostDialsAtOnce),
	}
}

// inBody gives back what was counted for n bytes when a connection read them: they are in a body, which is read at a pace of its own.
func (p *Pace) inBody(n int) { p.framing.ReserveN(time.Now(), -n) }

// pacedConn is a connection to a member that is read and written at a pace.
type pacedConn struct {
	net.Conn
	pace *Pace
	// ctx ends when the connection is closed.
	ctx context.Context
	end context.CancelFunc
}

// errTooManyConnections: the next one may not be opened in time.
var errTooManyConnections = fmt.Errorf("too many connections to the member are opened: %w", context.DeadlineExceeded)

// paced returns connections of dial that are opened, read and written at a pace. Who would have to wait for one for longer than patience gets an error by then, and
// has nobody wait behind it: net/http goes on to open connections that nobody needs any more, and meanwhile serves who waits over another. One that cannot be
// opened does not count.
func paced(dial connrotation.DialFunc, patience time.Duration, pace *Pace) connrotation.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		inTime, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if pace.dials.Wait(inTime) != nil {
			<-inTime.Done()
			return nil, cmp.Or(ctx.Err(), errTooManyConnections)
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			pace.dials.ReserveN(time.Now(), -1)
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
	c.wait(c.pace.framing, n)
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
