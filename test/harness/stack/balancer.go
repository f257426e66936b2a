//go:build unix

package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// balancer forwards TCP connections to any target that is ready and accepts them, as the load balancer in front of a hub's webhooks does.
// It does not terminate TLS. Open connections stay with their target.
type balancer struct {
	// URL for members.
	URL string

	listener net.Listener
	next     atomic.Uint32
	wait     sync.WaitGroup

	mu sync.Mutex
	// targets maps addresses to their readiness at the last probe.
	targets map[string]bool
	open    map[net.Conn]bool
	isShut  bool

	probing context.Context
	stop    context.CancelFunc
}

// probePeriod is the interval of readiness probes. kubelet probes every few seconds, but a test has less time.
const probePeriod = 100 * time.Millisecond

func newBalancer() (*balancer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for webhook calls: %w", err)
	}
	b := &balancer{
		URL: "https://" + listener.Addr().String(), listener: listener,
		targets: map[string]bool{}, open: map[net.Conn]bool{},
	}
	b.probing, b.stop = context.WithCancel(context.Background())
	b.wait.Go(b.accept)
	return b, nil
}

// add makes address a target while ready returns true. Nil means always.
func (b *balancer) add(address string, ready func(context.Context) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, known := b.targets[address]
	b.targets[address] = ready == nil
	if known || ready == nil {
		return
	}
	b.wait.Go(func() {
		ticker := time.NewTicker(probePeriod)
		defer ticker.Stop()
		for b.probing.Err() == nil {
			now := ready(b.probing)
			b.mu.Lock()
			b.targets[address] = now
			b.mu.Unlock()
			select {
			case <-b.probing.Done():
			case <-ticker.C:
			}
		}
	})
}

// shut closes open connections and each new one immediately, until it is called with false.
func (b *balancer) shut(isShut bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isShut = isShut; !isShut {
		return
	}
	for conn := range b.open {
		_ = conn.Close()
	}
}

// close ends all connections.
func (b *balancer) close() {
	b.stop()
	_ = b.listener.Close()
	b.mu.Lock()
	for conn := range b.open {
		_ = conn.Close()
	}
	b.mu.Unlock()
	b.wait.Wait()
}

func (b *balancer) accept() {
	for {
		conn, err := b.listener.Accept()
		if err == nil {
			b.wait.Go(func() { b.serve(conn) })
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		// A disconnected caller, or a lack of file descriptors, must not end the loop: callers would wait forever.
		fmt.Fprintf(os.Stderr, "the balancer before the webhooks: %v\n", err)
		pause := time.NewTimer(probePeriod)
		select {
		case <-b.probing.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

func (b *balancer) serve(caller net.Conn) {
	defer b.track(caller)()
	target := b.dial()
	if target == nil {
		return
	}
	defer b.track(target)()
	var both sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{caller: target, target: caller} {
		both.Go(func() {
			_, _ = io.Copy(to, from)
			// The end of one direction is enough: a half-closed HTTP connection is useless.
			_ = to.Close()
			_ = from.Close()
		})
	}
	both.Wait()
}

// track closes conn when the balancer ends or is shut, or when the returned function is called.
func (b *balancer) track(conn net.Conn) (done func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[conn] = true
	if b.isShut {
		_ = conn.Close()
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.open, conn)
		_ = conn.Close()
	}
}

// dial tries each ready target once, beginning with the next in turn.
func (b *balancer) dial() net.Conn {
	b.mu.Lock()
	addresses := make([]string, 0, len(b.targets))
	for address, ready := range b.targets {
		if ready {
			addresses = append(addresses, address)
		}
	}
	b.mu.Unlock()
	first := int(b.next.Add(1))
	for i := range addresses {
		if conn, err := net.Dial("tcp", addresses[(first+i)%len(addresses)]); err == nil {
			return conn
		}
	}
	return nil
}
