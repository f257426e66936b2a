package health

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// Webhook has the address of the webhooks and the expected certificate. The zero value leaves the webhooks out.
type Webhook struct {
	// URL must begin with https://. CA is a file with the authorities; empty means those of the system. ServerName is the name in the certificate, if it is not
	// the host of the URL.
	URL, CA, ServerName string
}

// bracketed adds the brackets around an IPv6 address that a URL needs. A Pod's environment variables about a Service
// lack them: the text after the last colon is the port.
func bracketed(url string) string {
	host, isHTTPS := strings.CutPrefix(url, "https://")
	host, path, hasPath := strings.Cut(host, "/")
	last := strings.LastIndex(host, ":")
	if !isHTTPS || last < 0 || net.ParseIP(host[:last]).To16() == nil || !strings.Contains(host[:last], ":") {
		return url
	}
	url = "https://[" + host[:last] + "]" + host[last:]
	if hasPath {
		url += "/" + path
	}
	return url
}

// handshakes is how many calls are made, each on its own connection: a load balancer has several replicas behind it.
const handshakes = 5

var errNoAuthority = errors.New("holds no certificate in PEM")

// callAll calls the webhooks a few times and returns a summary of the responses.
func (w Webhook) callAll(ctx context.Context) (said string, err error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: w.ServerName}
	if w.CA != "" {
		content, err := os.ReadFile(w.CA)
		if err != nil {
			return "", fmt.Errorf("read the authorities: %w", err)
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(content) {
			return "", fmt.Errorf("%s %w", w.CA, errNoAuthority)
		}
	}
	until := time.Time{}
	for range handshakes {
		leaf, err := w.call(ctx, settings)
		if err != nil {
			return "", err
		}
		if until.IsZero() || leaf.NotAfter.Before(until) {
			until = leaf.NotAfter
		}
	}
	return "answer, with a certificate until " + until.UTC().Format(time.RFC3339), nil
}

// call sends one request. Any response will do: the path is not one of a webhook.
func (w Webhook) call(ctx context.Context, settings *tls.Config) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	transport := &http.Transport{TLSClientConfig: settings.Clone(), DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL, nil)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, err
	}
	if err := response.Body.Close(); err != nil {
		return nil, err
	}
	return response.TLS.PeerCertificates[0], nil
}
