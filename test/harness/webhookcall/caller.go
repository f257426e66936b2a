package webhookcall

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// callTimeout is the timeout of a call. It is longer than the API server's 3 s, so that tests can measure late answers.
const callTimeout = 15 * time.Second

// Caller calls one webhook. It keeps connections and is safe for concurrent use. The caller must close it.
type Caller struct {
	http *http.Client
	url  string
}

// New returns a Caller of a webhook with a URL and a CA bundle. address is the address to connect to, whatever the URL's host. "" means the
// URL's host.
func New(webhook admissionregistrationv1.WebhookClientConfig, address string) (*Caller, error) {
	if webhook.URL == nil {
		return nil, errors.New("the webhook is not called by URL")
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(webhook.CABundle) {
		return nil, errors.New("the webhook has no CA bundle")
	}
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		MaxIdleConnsPerHost: 64,
		DialContext: func(ctx context.Context, network, host string) (net.Conn, error) {
			if address != "" {
				host = address
			}
			return (&net.Dialer{}).DialContext(ctx, network, host)
		},
	}
	return &Caller{http: &http.Client{Transport: transport, Timeout: callTimeout}, url: *webhook.URL}, nil
}

// Close closes idle connections.
func (c *Caller) Close() { c.http.CloseIdleConnections() }

// Post sends a body and returns the status and the answer.
func (c *Caller) Post(ctx context.Context, body io.Reader) (status int, answer []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, body)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// Judge sends a review and returns the refusal, or "" if it is allowed.
func (c *Caller) Judge(ctx context.Context, review []byte) (refusal string, err error) {
	status, answer, err := c.Post(ctx, bytes.NewReader(review))
	if err != nil {
		return "", err
	}
	decoded := admissionv1.AdmissionReview{}
	if err := json.Unmarshal(answer, &decoded); err != nil || decoded.Response == nil {
		return "", fmt.Errorf("status %d: %.200s", status, answer)
	}
	if decoded.Response.Allowed {
		return "", nil
	}
	if decoded.Response.Result == nil {
		return "", errors.New("it is refused without a reason")
	}
	return decoded.Response.Result.Message, nil
}
