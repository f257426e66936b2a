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

	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// TestAConnectionIsReadAndWrittenAtAPace, and its end ends the wait.
func TestAConnectionIsReadAndWrittenAtAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pace := NewPace(DefaultLimits())
		pace.framing, pace.writes = rate.NewLimiter(1000, 5000), rate.NewLimiter(10, 50)
		own, peer := net.Pipe()
		conn := newPacedConn(own, pace)
		var read, written, ended atomic.Int64
		go func() { // the peer sends more than the limit, and accepts all
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
			t.Error("a call still waits for a closed connection")
		}
		_ = peer.Close()
	})
}

// TestConnectionsAreOpenedAtAPace: a TLS handshake costs more than most requests. Connections that could not be opened cost
// nothing, and no caller waits long behind other waiting callers.
func TestConnectionsAreOpenedAtAPace(t *testing.T) {
	// The last of them is allowed to open before the time ends, and not at the same moment.
	const patience, waiting = 5*time.Second + 100*time.Millisecond, 5 * mostDials
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("connection refused")
		answer := refused
		dial := paced(func(context.Context, string, string) (net.Conn, error) {
			if answer != nil {
				return nil, answer
			}
			own, _ := net.Pipe()
			return own, nil
		}, patience, NewPace(DefaultLimits()))
		open := func() error {
			conn, err := dial(t.Context(), "tcp", "member:443")
			if err == nil {
				_ = conn.Close()
			}
			return err
		}
		began := time.Now()
		for range 2 * mostDialsAtOnce {
			if err := open(); !errors.Is(err, refused) {
				t.Fatalf("while the member refuses: %v", err)
			}
		}
		answer = nil
		for range mostDialsAtOnce {
			if err := open(); err != nil {
				t.Fatalf("when it takes connections: %v", err)
			}
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("%s were waited for the first connections", waited)
		}
		failed := make(chan error, 2*waiting)
		for range 2 * waiting {
			go func() { failed <- open() }()
		}
		opened := 0
		for range 2 * waiting {
			switch err := <-failed; {
			case err == nil:
				opened++
			case !errors.Is(err, errTooManyConnections):
				t.Error(err)
			}
		}
		if took := time.Since(began); opened != waiting || took != patience {
			t.Errorf("%d were opened in %s, want %d in %s", opened, took, waiting, patience)
		}
	})
}

// TestBytesOfBodiesDoNotCountAsFraming, however many there are, and the bytes around them do.
func TestBytesOfBodiesDoNotCountAsFraming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pace := NewPace(DefaultLimits())
		own, peer := net.Pipe()
		conn := newPacedConn(own, pace)
		go func() { _, _ = io.Copy(peer, neverEnding('x')) }()
		began, read, buffer := time.Now(), 0, make([]byte, 16<<10)
		for read < 4*mostFramingAtOnce {
			n, err := conn.Read(buffer)
			if err != nil {
				t.Fatal(err)
			}
			read += n
			pace.inBody(n - n/32)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("%d bytes, nearly all of bodies, were read in %s", read, took)
		}
		for range 2 * mostFramingAtOnce / len(buffer) {
			if _, err := conn.Read(buffer); err != nil {
				t.Fatal(err)
			}
		}
		if took, least := time.Since(began), time.Duration(mostFramingAtOnce/mostFraming)*time.Second; took < least {
			t.Errorf("%d bytes of no body were read in %s", 2*mostFramingAtOnce, took)
		}
		_ = conn.Close()
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
	// The packets beyond the burst take half a second. On a slow machine they take longer.
	if took := time.Since(begun); took < 400*time.Millisecond {
		t.Errorf("150 pings were answered in %s", took)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("said was %v", err)
	}
}

// pinging returns an API whose server uses HTTP/2 and sends only PING, as fast as the client reads.
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

// framing returns an API whose server uses HTTP/2 and serves connections frame by frame.
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
	api, err := New(config, nil, bounds, new(shardingtest.Leader(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.End)
	return api
}
