package main

import (
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// crowd is a listener to which somebody comes whenever it accepts, and says nothing.
type crowd struct {
	net.Listener
	accepted atomic.Int32
}

func (c *crowd) Accept() (net.Conn, error) {
	c.accepted.Add(1)
	conn, _ := net.Pipe()
	return conn, nil
}

func (*crowd) Close() error { return nil }

// TestAPortHasSoManyConnectionsAndNoMore: whoever reaches it can open them, and say nothing.
func TestAPortHasSoManyConnectionsAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 3
		var outside crowd
		server := door(&outside, most, "members", nil, &leaving{}, nil)
		if s := server.Server; s.ReadHeaderTimeout != headPatience || s.WriteTimeout != answerPatience || s.IdleTimeout != idlePatience {
			t.Error("a caller that says nothing keeps its connection")
		}
		accepted := make(chan net.Conn, most+1)
		go func() {
			for range most + 1 {
				conn, err := server.Listener.Accept()
				if err != nil {
					t.Error(err)
				}
				accepted <- conn
			}
		}()
		synctest.Wait()
		if n := outside.accepted.Load(); n != most {
			t.Errorf("there are %d connections at one time, want %d", n, most)
		}
		_ = (<-accepted).Close()
		synctest.Wait()
		if n := outside.accepted.Load(); n != most+1 {
			t.Errorf("after one has ended, %d were accepted in all", n)
		}
	})
}
