package hub

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

var errOwnTransport = errors.New("a configuration with a transport of its own cannot be used: the hub's client needs one to itself")

// newHTTPClient returns a client with exclusive connections. They use HTTP/1.1 only: concurrent requests then do not
// share a connection. A dead connection costs one request, and the next request dials anew. With HTTP/2, all requests
// hang until the connection is found dead.
//
// client-go's own transports are unsuitable, because client-go shares them between similar configurations.
func newHTTPClient(config *rest.Config, timeout time.Duration) (*http.Client, *http.Transport, error) {
	if config.Transport != nil {
		return nil, nil, errOwnTransport
	}
	if config.Dial == nil {
		// A dial continues after its request was canceled, so it needs its own timeout.
		config.Dial = (&net.Dialer{Timeout: timeout, KeepAlive: 15 * time.Second}).DialContext
	}
	settings, err := config.TransportConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("client configuration: %w", err)
	}
	tlsConfig, err := transport.TLSConfigFor(settings)
	if err != nil {
		return nil, nil, fmt.Errorf("TLS configuration: %w", err)
	}
	if tlsConfig == nil {
		tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	tlsConfig.NextProtos = []string{"http/1.1"}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	base := &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		// Not config.Dial: client certificates of an exec plugin wrap it, to close connections on rotation.
		DialContext:         settings.DialHolder.Dial,
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: timeout,
		Protocols:           protocols,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConnsPerHost: 4,
	}
	if settings.Proxy != nil {
		base.Proxy = settings.Proxy
	}
	wrapped, err := transport.HTTPWrappersForConfig(settings, base)
	if err != nil {
		return nil, nil, fmt.Errorf("client authentication: %w", err)
	}
	client := &http.Client{
		Transport: wrapped,
		// A redirected write becomes a read, whose success would count as that of the write.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return client, base, nil
}
