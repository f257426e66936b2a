package session_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// crossing is an address whose new connections lead to another server after a switch. Open connections stay.
type crossing struct {
	listener net.Listener
	to       atomic.Pointer[string]
}

func newCrossing(t *testing.T, server string) *crossing {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	c := &crossing{listener: listener}
	c.lead(t, server)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go c.pass(client)
		}
	}()
	return c
}

// lead switches the address to the server of a URL.
func (c *crossing) lead(t *testing.T, server string) {
	t.Helper()
	u, err := url.Parse(server)
	must(t, err)
	c.to.Store(&u.Host)
}

func (c *crossing) pass(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", *c.to.Load())
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}

func TestAnotherCertificateIsToldAlthoughOpenConnectionsStillWork(t *testing.T) {
	sm, err := sim.Start(sim.Options{TLS: true})
	must(t, err)
	t.Cleanup(sm.Close)
	other := httptest.NewUnstartedServer(http.NotFoundHandler())
	other.Config.ErrorLog = log.New(io.Discard, "", 0)
	other.StartTLS()
	t.Cleanup(other.Close)
	address := newCrossing(t, sm.URL)
	cfg := config("https://" + address.listener.Addr().String() + "/sdk")
	cfg.TLS, cfg.KnockEvery = session.TLS{CABundle: sm.CA}, 2*time.Second
	s, err := session.Open(t.Context(), cfg)
	must(t, err)

	address.lead(t, other.URL)
	must(t, serverTime(t.Context(), s))
	ctx, stop := context.WithCancel(t.Context())
	answered := make(chan error)
	go func() {
		defer close(answered)
		for ctx.Err() == nil {
			// One at a time, over the open connection.
			if err := serverTime(t.Context(), s); err != nil {
				answered <- err
				return
			}
		}
	}()
	if err := s.Attend(t.Context()); vsphere.KindOf(err) != vsphere.KindCertificate {
		t.Errorf("given up for %v", err)
	}
	stop()
	if err := <-answered; err != nil {
		t.Errorf("a call over the open connection: %v", err)
	}
	if err := session.Knock(t.Context(), cfg); vsphere.KindOf(err) != vsphere.KindCertificate {
		t.Errorf("a new connection gets error %v", err)
	}
	must(t, s.Close(t.Context()))
}
