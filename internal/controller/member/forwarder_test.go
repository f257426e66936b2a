//go:build unix && !fast

package member

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// forwarder passes TCP connections on to an API server. It counts them, and can cut them.
type forwarder struct {
	listener net.Listener
	to       string
	wait     sync.WaitGroup

	mu     sync.Mutex
	opened int
	open   map[net.Conn]bool
	isCut  bool
}

// forwardTo starts a forwarder, which ends with the test.
func forwardTo(t *testing.T, server *localcluster.ControlPlane) *forwarder {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &forwarder{listener: listener, to: strings.TrimPrefix(server.Config.Host, "https://"), open: map[net.Conn]bool{}}
	f.wait.Go(func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			f.wait.Go(func() { f.pass(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		f.cut(true)
		f.wait.Wait()
	})
	return f
}

func (f *forwarder) pass(from net.Conn) {
	defer func() { _ = from.Close() }()
	to, err := net.Dial("tcp", f.to)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	if !f.note(from) {
		return
	}
	var both sync.WaitGroup
	for _, of := range [][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			_, _ = io.Copy(of[0], of[1])
			_, _ = from.Close(), to.Close()
		})
	}
	both.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, from)
}

// note counts a connection, and reports whether it can pass.
func (f *forwarder) note(conn net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isCut {
		return false
	}
	f.opened++
	f.open[conn] = true
	return true
}

// cut ends all connections, and each new one until it is called with false.
func (f *forwarder) cut(isCut bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.isCut = isCut
	if !isCut {
		return
	}
	for conn := range f.open {
		_ = conn.Close()
	}
}

// connections returns the number of connections so far.
func (f *forwarder) connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened
}

// kubeconfig replaces the API server's address in a kubeconfig.
func (f *forwarder) kubeconfig(content []byte) []byte {
	return []byte(strings.ReplaceAll(string(content), f.to, f.listener.Addr().String()))
}
