//go:build unix

package localcluster

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
)

// APIProxy is a proxy in front of an API server. It records writes and can disturb any request. Whatever its clients, it uses the identity
// of ControlPlane.Config for the API server. The caller must close it.
type APIProxy struct {
	// URL of the proxy.
	URL string

	cluster *ControlPlane
	proxy   *faultproxy.Proxy
	watches *watches

	mu      sync.Mutex
	hook    func(APICall) faultproxy.Fault
	rewatch func(APICall, io.ReadCloser) io.ReadCloser
	records []*APIRecord
	open    map[*faultproxy.Exchange]*APIRecord
}

// APIRecord is a write that the proxy received.
type APIRecord struct {
	APICall
	// Start is the arrival of the request. End is the time of the answer or cut, and zero while the request is in progress.
	Start, End time.Time
	// Status of the answer, or 0.
	Status int
}

// ProxyUser is the user, of group system:masters, with whom a proxy calls the API server. Requests through a proxy come from the program
// under test, and admission distinguishes this user from others.
const ProxyUser = "vmgroup-operator"

// NewProxy starts a proxy in front of the API server, with a certificate of the cluster's authority. It continues when the API server is
// restarted.
func (c *ControlPlane) NewProxy() (*APIProxy, error) {
	transport, err := c.proxyTransport()
	if err != nil {
		return nil, fmt.Errorf("make a proxy before cluster %s: %w", c.Name, err)
	}
	serving, err := c.ca.server([]net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"})
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(serving.certificate, serving.key)
	if err != nil {
		return nil, fmt.Errorf("make a proxy before cluster %s: %w", c.Name, err)
	}
	target, err := url.Parse(c.Config.Host)
	if err != nil {
		return nil, fmt.Errorf("make a proxy before cluster %s: %w", c.Name, err)
	}
	p := &APIProxy{cluster: c, watches: newWatches(), open: map[*faultproxy.Exchange]*APIRecord{}}
	p.proxy, err = faultproxy.New(faultproxy.Options{
		Target: target, Transport: transport,
		TLS:    &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		Decide: p.decide, Done: p.done,
		Stream: p.stream,
	})
	if err != nil {
		return nil, fmt.Errorf("make a proxy before cluster %s: %w", c.Name, err)
	}
	p.URL = p.proxy.URL
	return p, nil
}

func (c *ControlPlane) proxyTransport() (http.RoundTripper, error) {
	content, err := c.UserKubeconfig(ProxyUser, "system:masters")
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	if err != nil {
		return nil, err
	}
	return rest.TransportFor(config)
}

// Kubeconfig returns a kubeconfig for the proxy. It has no identity, because the proxy has one.
func (p *APIProxy) Kubeconfig() ([]byte, error) {
	config := clientcmdapi.NewConfig()
	name := p.cluster.Name
	config.Clusters[name] = &clientcmdapi.Cluster{Server: p.URL, CertificateAuthorityData: p.cluster.ca.pem}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "the-proxy-has-the-identity"}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	content, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("write a kubeconfig for the proxy before %s: %w", name, err)
	}
	return content, nil
}

// Hook sets the function that decides on each request. Nil passes all. It can block to delay a request.
func (p *APIProxy) Hook(hook func(APICall) faultproxy.Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook
}

// HookWatches sets a function that can replace the answer of each watch that is opened later. Nil replaces none.
func (p *APIProxy) HookWatches(hook func(APICall, io.ReadCloser) io.ReadCloser) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rewatch = hook
}

// Records returns the writes and attempted writes, in the order of their arrival.
func (p *APIProxy) Records() []APIRecord {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]APIRecord, len(p.records))
	for i, r := range p.records {
		out[i] = *r
	}
	return out
}

// Reset forgets the records.
func (p *APIProxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.records = nil
}

// StallWatches holds the API server's events for open and later watches while stall is true. The watches stay open, and the held events are
// delivered afterwards.
func (p *APIProxy) StallWatches(stall bool) { p.watches.stall(stall) }

// CutWatches breaks all open watches.
func (p *APIProxy) CutWatches() { p.watches.cut() }

// CutConnections cuts all open connections.
func (p *APIProxy) CutConnections() { p.proxy.CutConnections() }

// Close ends the proxy and cuts its connections.
func (p *APIProxy) Close() {
	p.watches.stall(false)
	p.proxy.Close()
}

func (p *APIProxy) decide(e *faultproxy.Exchange) faultproxy.Fault {
	call := ParseAPICall(e.Request)
	call.Number, call.Body = e.Number, e.Body
	p.mu.Lock()
	hook := p.hook
	if call.Writes() {
		r := &APIRecord{APICall: call, Start: e.Start}
		p.records = append(p.records, r)
		p.open[e] = r
	}
	p.mu.Unlock()
	var fault faultproxy.Fault
	if hook != nil {
		fault = hook(call)
	}
	if call.Verb == "watch" {
		fault.After = nil // its answer never ends
	}
	return fault
}

func (p *APIProxy) stream(e *faultproxy.Exchange, body io.ReadCloser) io.ReadCloser {
	call := ParseAPICall(e.Request)
	if call.Verb != "watch" {
		return body
	}
	p.mu.Lock()
	hook := p.rewatch
	p.mu.Unlock()
	if hook != nil {
		body = hook(call, body)
	}
	return p.watches.add(body)
}

func (p *APIProxy) done(e *faultproxy.Exchange, result faultproxy.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.open[e]; r != nil {
		r.End, r.Status = result.End, result.Status
		delete(p.open, e)
	}
}
