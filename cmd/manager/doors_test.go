package main

import (
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// TestAPortHasSoManyConnectionsAndNoMore: whoever reaches it can open them, and say nothing.
func TestAPortHasSoManyConnectionsAndNoMore(t *testing.T) {
	const most = 3
	server, err := openDoor("127.0.0.1", 0, most, "members", nil, &leaving{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	listener := server.Listener
	defer func() { _ = listener.Close() }()
	if s := server.Server; s.ReadHeaderTimeout != headPatience || s.WriteTimeout != answerPatience || s.IdleTimeout != idlePatience {
		t.Error("a caller that says nothing keeps its connection")
	}
	accepted := make([]net.Conn, most+1)
	for i := range accepted {
		dialed, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = dialed.Close() }()
		if i == most {
			break
		}
		if accepted[i], err = listener.Accept(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = accepted[i].Close() }()
	}
	var room atomic.Bool
	// The time is that in which one more would be let in by mistake.
	time.AfterFunc(100*time.Millisecond, func() {
		room.Store(true)
		_ = accepted[0].Close()
	})
	if accepted[most], err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = accepted[most].Close() }()
	if !room.Load() {
		t.Errorf("there are more than %d connections at one time", most)
	}
}
