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

// balancer passes TCP connections on to whichever of its targets is ready and accepts one, as the load balancer before a
// hub's webhooks does: TLS is not ended here. Connections that are open stay where they are.
type balancer struct {
	// URL is what members call.
	URL string

	listener net.Listener
	next     atomic.Uint32
	wait     sync.WaitGroup

	mu sync.Mutex
	// targets are the addresses, with whether they were ready when last asked.
	targets map[string]bool
	open    map[net.Conn]bool
	isShut  bool

	probing context.Context
	stop    context.CancelFunc
}

// probePeriod is how often targets are asked whether they are ready. kubelet asks every few seconds; a test has less time.
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

// add makes address a target whenever ready says so; nil means always.
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

// shut ends the connections that are open, and each new one at once, until it is told otherwise.
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
		// A caller that hung up, or a lack of file descriptors, must not end it: callers would wait for ever.
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
			// One direction is enough: an HTTP connection that is half closed is of no use.
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

// dial tries every target that is ready once, beginning with the next in turn.
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
