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

// Writes to one member, in packets per second and at once. HTTP/2 answers each PING and SETTINGS of a server with a packet, so
// that a server that sends these endlessly would keep the operator busy. A request needs two or three.
const mostWrites, mostWritesAtOnce = 2000, 20_000

// Reads from one member outside of bodies, in bytes per second and at once: headers, and the overhead of TLS and HTTP/2. An
// empty frame has 9 bytes, and costs as much CPU as a kilobyte of a body. The burst covers the bytes that a server sends ahead
// of the readers of bodies: 4 MiB for each.
const mostFraming, mostFramingAtOnce = 256 << 10, 32 << 20

// Connections to one member, per second and at once. A server can close each after one request, and verifying its certificates
// can take 37 ms of CPU. A server with HTTP/2 needs one connection, and the others 64 for each of two identities.
const mostDials, mostDialsAtOnce = 2, 128

// Pace is the rate at which a member is read and written. Its incarnations share one: otherwise a server that ends them would
// get a full burst each time. It is safe for concurrent use.
type Pace struct {
	// bodies limits bytes of answers, framing the other bytes of connections, writes packets to the member, and dials new connections.
	bodies, framing, writes, dials *rate.Limiter
}

// NewPace returns the Pace of one member.
func NewPace(limits Limits) *Pace {
	return &Pace{
		bodies:  rate.NewLimiter(rate.Limit(limits.Rate), limits.Burst),
		framing: rate.NewLimiter(mostFraming, mostFramingAtOnce), writes: rate.NewLimiter(mostWrites, mostWritesAtOnce),
		dials: rate.NewLimiter(mostDials, mostDialsAtOnce),
	}
}

// inBody credits n bytes to framing that were counted when a connection read them: they belong to a body, which has its own pace.
func (p *Pace) inBody(n int) { p.framing.ReserveN(time.Now(), -n) }

// pacedConn is a connection to a member that is read and written at a pace.
type pacedConn struct {
	net.Conn
	pace *Pace
	// ctx ends when the connection is closed.
	ctx context.Context
	end context.CancelFunc
}

// errTooManyConnections: the next connection cannot be opened in time.
var errTooManyConnections = fmt.Errorf("too many connections to the member are opened: %w", context.DeadlineExceeded)

// paced returns connections of dial that are opened, read and written at a pace. If the wait for a connection would exceed
// patience, the caller gets an error by then, and does not delay later callers: net/http continues to open connections that are
// no longer needed, and serves waiting requests over others. A connection that cannot be opened does not count.
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

// Read waits after it has read, which delays the next bytes.
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

// wait also ends when the connection is closed; then the connection returns the error.
func (c *pacedConn) wait(pace *rate.Limiter, n int) {
	_ = pace.WaitN(c.ctx, min(n, pace.Burst()))
}

// Close implements net.Conn.
func (c *pacedConn) Close() error {
	c.end()
	return c.Conn.Close()
}
