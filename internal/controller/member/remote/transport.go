package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
)

// ErrEnded answers every use of an incarnation's client after the incarnation has ended.
var ErrEnded = errors.New("this connection to the member has ended")

// transport is the HTTP client of one incarnation. client-go would share a transport between
// configurations that look alike and set no timeout for response headers; here every incarnation has
// connections of its own, so that ending it ends every request and watch, and no old credential is used
// afterwards, not even by a reconcile that still holds the old client.
type transport struct {
	client *http.Client
	base   *http.Transport
	dialer *connrotation.Dialer
	ended  atomic.Bool
}

func newTransport(config *rest.Config, timeouts Timeouts) (*transport, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("TLS configuration: %w", err)
	}
	t := &transport{}
	plain := &net.Dialer{Timeout: timeouts.Dial, KeepAlive: 30 * time.Second}
	t.dialer = connrotation.NewDialer(plain.DialContext)
	if tlsConfig == nil {
		tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	t.base = &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           t.dial,
		TLSClientConfig:       tlsConfig,
		TLSHandshakeTimeout:   timeouts.Dial,
		ResponseHeaderTimeout: timeouts.ResponseHeader,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   16,
		ForceAttemptHTTP2:     true,
		// A peer that vanished without closing is noticed by unanswered pings, not by TCP after a quarter hour.
		HTTP2: &http.HTTP2Config{SendPingTimeout: timeouts.PingInterval, PingTimeout: timeouts.Ping},
	}
	wrapped, err := rest.HTTPWrappersForConfig(config, t.base)
	if err != nil {
		return nil, fmt.Errorf("client authentication: %w", err)
	}
	t.client = &http.Client{Transport: wrapped}
	return t, nil
}

// dial looks at ended after the connection is tracked: whichever of dial and end comes second closes it.
func (t *transport) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if t.ended.Load() {
		return nil, ErrEnded
	}
	conn, err := t.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if t.ended.Load() {
		_ = conn.Close()
		return nil, ErrEnded
	}
	return conn, nil
}

// reset closes every connection; the next request dials anew.
func (t *transport) reset() {
	t.dialer.CloseAll()
	t.base.CloseIdleConnections()
}

// end closes every connection for good.
func (t *transport) end() {
	t.ended.Store(true)
	t.reset()
}
