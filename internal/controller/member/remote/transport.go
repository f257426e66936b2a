package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"

	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
)

// transport is the HTTP client of one incarnation. client-go would share a transport between configurations that look
// alike and set no timeout for response headers. Here every incarnation has connections of its own. So its end ends every
// request and watch, and no old credential is used afterwards, not even by a reconcile that still holds the old client.
type transport struct {
	client *http.Client
	base   *http.Transport
	dialer *connrotation.Dialer
	ended  atomic.Bool
}

func newTransport(config *rest.Config, token *Token, bounds Bounds) (*transport, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("TLS configuration: %w", err)
	}
	t := &transport{}
	t.dialer = connrotation.NewDialer(paced(dialAllowed(bounds.Timeouts.Dial, bounds.Addresses), bounds.Timeouts.Dial, bounds.Guard.Pace))
	if tlsConfig == nil {
		tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	t.base = &http.Transport{
		Proxy:                 proxyFor(bounds.Addresses),
		DialContext:           t.dial,
		TLSClientConfig:       tlsConfig,
		TLSHandshakeTimeout:   bounds.Timeouts.Dial,
		ResponseHeaderTimeout: bounds.Timeouts.ResponseHeader,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   16,
		// A server with HTTP/2 needs one. The others must not use up the operator's ports and files.
		MaxConnsPerHost: 64,
		// More than messages show; see answers.
		MaxResponseHeaderBytes: mostHeaders,
		ForceAttemptHTTP2:      true,
		// A peer that vanished without closing is detected by unanswered pings, not by TCP after a quarter hour.
		HTTP2: &http.HTTP2Config{SendPingTimeout: bounds.Timeouts.PingInterval, PingTimeout: bounds.Timeouts.Ping},
	}
	address, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("address: %w", err)
	}
	var inner http.RoundTripper = answers{
		RoundTripper: t.base, guard: bounds.Guard, whole: bounds.Timeouts.Answer,
		base: strings.TrimSuffix(address.Path, "/"),
	}
	if token != nil {
		inner = bearer{inner, token}
	}
	wrapped, err := rest.HTTPWrappersForConfig(config, inner)
	if err != nil {
		return nil, fmt.Errorf("client authentication: %w", err)
	}
	t.client = &http.Client{Transport: whileOpen{wrapped, t}}
	return t, nil
}

// whileOpen returns [memberapi.ErrEnded] for requests and answers that fail after the end of their transport, which closes their connections.
type whileOpen struct {
	http.RoundTripper
	of *transport
}

// RoundTrip implements http.RoundTripper.
func (w whileOpen) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, w.of.explain(err)
	}
	response.Body = openBody{response.Body, w.of}
	return response, nil
}

type openBody struct {
	io.ReadCloser
	of *transport
}

func (b openBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.of.explain(err)
	}
	return n, err //nolint:wrapcheck // readers compare with io.EOF
}

// explain adds that the transport has ended.
func (t *transport) explain(err error) error {
	if t.ended.Load() && !errors.Is(err, memberapi.ErrEnded) {
		return fmt.Errorf("%w: %w", memberapi.ErrEnded, err)
	}
	return err
}

// mostHeaders bounds the headers that are read of an answer.
const mostHeaders = 1 << 20

// dialAllowed connects to allowed addresses. The check follows name resolution: the kernel connects to that very address.
func dialAllowed(timeout time.Duration, allowed Addresses) connrotation.DialFunc {
	dialer := net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}
	if allowed.Any() {
		return dialer.DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		each := dialer
		if host, _, err := net.SplitHostPort(address); err != nil || !allowed.allowsName(host) {
			each.Control = func(_, resolved string, _ syscall.RawConn) error {
				if !allowed.allowsIP(resolved) {
					return &AddressError{Address: resolved}
				}
				return nil
			}
		}
		return each.DialContext(ctx, network, address)
	}
}

// proxyFor is the proxy of the environment, unless addresses are bounded: a proxy would resolve and connect unseen.
func proxyFor(allowed Addresses) func(*http.Request) (*url.URL, error) {
	if allowed.Any() {
		return http.ProxyFromEnvironment
	}
	return nil
}

// dial checks ended after the connection is tracked: whichever of dial and end comes second closes it.
func (t *transport) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if t.ended.Load() {
		return nil, memberapi.ErrEnded
	}
	conn, err := t.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if t.ended.Load() {
		_ = conn.Close()
		return nil, memberapi.ErrEnded
	}
	return conn, nil
}

// reset closes every connection; the next request dials anew.
func (t *transport) reset() {
	t.dialer.CloseAll()
	t.base.CloseIdleConnections()
}

// end closes every connection permanently.
func (t *transport) end() {
	t.ended.Store(true)
	t.reset()
}
