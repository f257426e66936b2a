package server

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/codeconnect/vmgroup-operator/internal/admission/trust/trusttest"
	"github.com/codeconnect/vmgroup-operator/internal/webhook"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// crowd is a listener with a new client for each Accept; the clients send nothing.
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

// TestAPortHasSoManyConnectionsAndNoMore: any client that reaches it can open connections, and send nothing.
func TestAPortHasSoManyConnectionsAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 3
		var outside crowd
		server := door(&outside, most, "members", nil, &Leaving{}, logr.Discard(), nil)
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

// pipes is a listener to which a test connects without a network, so that time can be virtual.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, open := <-p
	if !open {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error { close(p); return nil }

func (pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (p pipes) dialPlain() net.Conn {
	outside, inside := net.Pipe()
	go func() { p <- inside }() // which is accepted once there is room
	return outside
}

func (p pipes) dial() net.Conn {
	return tls.Client(p.dialPlain(), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
}

// selfSigned is a certificate for the time of a bubble.
func selfSigned(t *testing.T) certificate {
	t.Helper()
	begin, end := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	pair, err := tls.X509KeyPair(trusttest.NewAuthority(t, begin, end).Issue(t, begin, end))
	if err != nil {
		t.Fatal(err)
	}
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
}

// served runs a server on pipes until the test stops it.
func served(t *testing.T, server *http.Server, listener net.Listener) (end func()) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}
}

// answerTo sends the head of a request and nothing more. It returns the answer without its date, and how long the connection was open.
func answerTo(t *testing.T, conn net.Conn, head string) (answer string, open time.Duration) {
	t.Helper()
	defer func() { _ = conn.Close() }()
	begun := time.Now()
	if err := conn.SetDeadline(begun.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	_, err := io.WriteString(conn, head)
	if err != nil {
		return err.Error(), time.Since(begun)
	}
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return err.Error(), time.Since(begun)
	}
	text, err := io.ReadAll(response.Body)
	if _, again := reader.ReadByte(); again == nil {
		t.Error("more than one answer")
	}
	response.Header.Del("Date")
	return fmt.Sprintf("%s %v close=%v %q %v", response.Status, response.Header, response.Close, text, err), time.Since(begun)
}

// noSegments are the segments of no member.
type noSegments struct{}

// Knows implements webhook.Segments.
func (noSegments) Knows(_, _ string) bool { return false }

// TestAPortHasOneAnswerForWhatIsForNobody also for requests that net/http would answer itself. It keeps no connection without a body.
func TestAPortHasOneAnswerForWhatIsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		doors, err := webhook.New(webhook.Options{
			Knowledge: struct{ webhook.Knowledge }{}, Hub: clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).Build(),
			Segments: noSegments{}, Log: logr.Discard(), Registerer: prometheus.NewRegistry(),
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, handler := range map[string]http.Handler{"members": doors.Members, "the hub": doors.Hub} {
			outside := make(pipes)
			server := door(outside, 1, name, selfSigned(t), &Leaving{}, logr.Discard(), handler)
			end := served(t, server.Server, server.Listener)
			want := ""
			for _, line := range []string{"POST /", "OPTIONS /", "OPTIONS *", "GET *", "POST *", "CONNECT hub:443", "OPTIONS http://hub/"} {
				for _, body := range []string{"", "Content-Length: 1\r\n", "Transfer-Encoding: chunked\r\n", "Content-Length: 1\r\nExpect: 100-continue\r\n"} {
					answer, open := answerTo(t, outside.dial(), line+" HTTP/1.1\r\nHost: hub\r\n"+body+"\r\n")
					if want == "" {
						want = answer
					}
					if answer != want || !strings.HasPrefix(answer, "404 ") {
						t.Errorf("%s, %s: %q %s\nwant %s", name, line, body, answer, want)
					}
					if open > time.Second {
						t.Errorf("%s, %s: %q the connection was open for %v", name, line, body, open)
					}
				}
			}
			end()
		}
	})
}

// TestNoConnectionOutlivesWhatWasPromised: a handler without a timeout for the body keeps no connection open forever.
func TestNoConnectionOutlivesWhatWasPromised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outside := make(pipes)
		server := door(outside, 1, "members", selfSigned(t), &Leaving{}, logr.Discard(), http.NotFoundHandler())
		defer served(t, server.Server, server.Listener)()
		if _, open := answerTo(t, outside.dial(), "POST / HTTP/1.1\r\nHost: hub\r\nContent-Length: 1\r\n\r\n"); open > bodyPatience {
			t.Errorf("a connection without a body was open for %v", open)
		}
		begun := time.Now()
		conn := outside.dial()
		if _, err := conn.Read(make([]byte, 1)); err == nil || time.Since(begun) > headPatience {
			t.Errorf("a connection without a request was open for %v: %v", time.Since(begun), err)
		}
	})
}

// TestFailedHandshakesDoNotFillTheLog: any client that reaches a port can cause them.
func TestFailedHandshakesDoNotFillTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var lines []string
		log := funcr.New(func(_, args string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, args)
		}, funcr.Options{})
		outside := make(pipes)
		server := door(outside, 10, "members", selfSigned(t), &Leaving{}, log, http.NotFoundHandler())
		defer served(t, server.Server, server.Listener)()
		fail := func() {
			conn := outside.dialPlain()
			if answer, _ := answerTo(t, conn, "GET / HTTP/1.0\r\n\r\n"); strings.HasPrefix(answer, "404") {
				t.Error(answer)
			}
			synctest.Wait()
		}
		for range 50 {
			fail()
		}
		<-time.After(serverLogInterval) // of the bubble's clock
		fail()
		if len(lines) != 2 || !strings.Contains(lines[0], "TLS handshake error") || !strings.Contains(lines[0], `"suppressed"=0`) ||
			!strings.Contains(lines[1], `"suppressed"=49`) {
			t.Errorf("51 handshakes that failed within a minute made these lines: %s", strings.Join(lines, "\n"))
		}
	})
}

// heap is the memory in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // objects with a finalizer are deleted in the second round
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestAConnectionCostsLittleBeforeItsRequestIsThere: clients can have 1,024 connections to a port at a time.
func TestAConnectionCostsLittleBeforeItsRequestIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const connections, most = 64, 192 << 10
		outside := make(pipes)
		server := door(outside, connections, "members", selfSigned(t), &Leaving{}, logr.Discard(), http.NotFoundHandler())
		defer served(t, server.Server, server.Listener)()
		head := strings.Builder{}
		head.WriteString("POST / HTTP/1.1\r\nHost: hub\r\n")
		for i := 0; head.Len() < server.Server.MaxHeaderBytes+4<<10-64; i++ { // net/http takes 4 KiB more than configured
			fmt.Fprintf(&head, "%s:\n", strconv.FormatInt(int64(i), 36))
		}
		before := heap()
		opened := make([]net.Conn, 0, connections)
		for range connections {
			conn := outside.dial()
			if _, err := io.WriteString(conn, head.String()); err != nil {
				t.Fatal(err)
			}
			opened = append(opened, conn)
		}
		synctest.Wait()
		each := (heap() - before) / connections
		t.Logf("a connection costs %d KiB, with what its caller needs", each>>10)
		if each > most {
			t.Errorf("a connection costs %d KiB", each>>10)
		}
		for _, conn := range opened {
			_ = conn.(*tls.Conn).NetConn().Close()
		}
	})
}

// TestNobodySendsMuchWithoutARequest: Go buffers a handshake message of 64 KiB before it checks it, and one of 256 KiB later.
func TestNobodySendsMuchWithoutARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outside := make(pipes)
		server := door(outside, 1, "members", selfSigned(t), &Leaving{}, logr.Discard(), http.NotFoundHandler())
		defer served(t, server.Server, server.Listener)()
		conn := outside.dialPlain()
		defer func() { _ = conn.Close() }()
		// A record of 16 KiB, in which a ClientHello of almost 64 KiB begins or continues.
		record := append([]byte{22, 3, 1, 0x40, 0}, make([]byte, 16<<10)...)
		first := slices.Clone(record)
		copy(first[5:], []byte{1, 0, 0xff, 0})
		sent := 0
		for _, part := range [][]byte{first, record, record} {
			n, err := conn.Write(part)
			if sent += n; err != nil {
				break
			}
		}
		if sent > beforeRequest {
			t.Errorf("%d bytes were taken without a request", sent)
		}
	})
}

// TestRequestsMayBeLarge, one after the other over one connection: this limit covers only bytes before a head.
func TestRequestsMayBeLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		outside := make(pipes)
		server := door(outside, 1, "members", selfSigned(t), &Leaving{}, logr.Discard(), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if n, err := io.Copy(io.Discard, r.Body); n != size || err != nil {
				t.Errorf("%d bytes came: %v", n, err)
			}
		}))
		defer served(t, server.Server, server.Listener)()
		conn := outside.dial()
		defer func() { _ = conn.Close() }()
		answers := bufio.NewReader(conn)
		for range 3 {
			request := strings.NewReader(fmt.Sprintf("POST / HTTP/1.1\r\nHost: hub\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size)))
			if _, err := io.Copy(conn, request); err != nil {
				t.Fatal(err)
			}
			if answer, err := http.ReadResponse(answers, nil); err != nil || answer.StatusCode != http.StatusOK {
				t.Fatalf("%v, %v", answer, err)
			}
		}
	})
}
