package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// TestAConnectionIsReadAndWrittenAtAPace, and its end ends the waiting.
func TestAConnectionIsReadAndWrittenAtAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := DefaultLimits()
		limits.Rate, limits.Burst = 1000, 5000
		guard := NewGuard(limits, NewPace(limits))
		guard.Pace.writes = rate.NewLimiter(10, 50)
		own, peer := net.Pipe()
		conn := newPacedConn(own, guard.Pace)
		var read, written, ended atomic.Int64
		go func() { // the peer sends more than may be read, and takes all
			_, _ = io.Copy(peer, io.LimitReader(neverEnding('x'), 100_000))
		}()
		go func() { _, _ = io.Copy(io.Discard, peer) }()
		go func() {
			defer ended.Add(1)
			buffer := make([]byte, 100)
			for {
				n, err := conn.Read(buffer)
				if err != nil {
					return
				}
				read.Add(int64(n))
			}
		}()
		go func() {
			defer ended.Add(1)
			for range 1000 {
				if _, err := conn.Write([]byte("pong")); err != nil {
					return
				}
				written.Add(1)
			}
		}()
		<-time.After(10 * time.Second) // on the clock of this test
		synctest.Wait()
		if n := read.Load(); n < 14_000 || n > 15_200 {
			t.Errorf("%d bytes were read in ten seconds", n)
		}
		if n := written.Load(); n < 140 || n > 151 {
			t.Errorf("%d packets were written in ten seconds", n)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if ended.Load() != 2 {
			t.Error("somebody waits for a connection that was closed")
		}
		_ = peer.Close()
	})
}

// TestPingsWithoutEndAreAnsweredAtAPace: each costs a packet.
func TestPingsWithoutEndAreAnsweredAtAPace(t *testing.T) {
	bounds := testBounds()
	bounds.Guard.Pace.writes = rate.NewLimiter(100, 100)
	var answered atomic.Int64
	api := pinging(t, bounds, &answered)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	begun := time.Now()
	go func() {
		_, err := get(ctx, api, watchPath)
		ended <- err
	}()
	await.True(t, "150 pings to be answered", func() bool { return answered.Load() >= 150 }, func() string { return fmt.Sprint(answered.Load()) })
	// What is beyond the burst takes half a second. On a slow machine it takes longer.
	if took := time.Since(begun); took < 400*time.Millisecond {
		t.Errorf("150 pings were answered in %s", took)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("said was %v", err)
	}
}

// pinging returns an API whose server speaks HTTP/2 and says nothing but PING, as fast as that is read.
func pinging(t *testing.T, bounds Bounds, answered *atomic.Int64) *API {
	t.Helper()
	return framing(t, bounds, func(framer *http2.Framer) {
		asked := make(chan struct{})
		go func() {
			<-asked
			for framer.WritePing(false, [8]byte{1}) == nil {
			}
		}()
		for {
			frame, err := framer.ReadFrame()
			if err != nil {
				return
			}
			switch frame.(type) {
			case *http2.HeadersFrame:
				close(asked)
			case *http2.PingFrame:
				answered.Add(1)
			}
		}
	})
}

// framing returns an API whose server speaks HTTP/2 and serves connections frame by frame.
func framing(t *testing.T, bounds Bounds, serve func(*http2.Framer)) *API {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{NextProtos: []string{"h2"}}
	server.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){"h2": func(_ *http.Server, c *tls.Conn, _ http.Handler) {
		if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		framer := http2.NewFramer(c, c)
		if framer.WriteSettings() == nil {
			serve(framer)
		}
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: pemOf(server)}}
	api, err := New(config, bounds, func() bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.End)
	return api
}
