package sim

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// Call is one SOAP request that passed a Proxy.
type Call struct {
	// Method as in the request, for example CloneVM_Task.
	Method string
	// UserAgent of the client.
	UserAgent string
}

// Proxy is a reverse proxy before a simulator. It counts SOAP calls outside of the program under test.
type Proxy struct {
	// URL to give to the program under test.
	URL string

	server *httptest.Server
	mu     sync.Mutex
	calls  map[Call]int
	hook   func(Call, *http.Request) Verdict
}

// Verdict is what a Proxy does with a call.
type Verdict int

// Verdicts.
const (
	// Pass forwards the call and its answer.
	Pass Verdict = iota
	// Refuse cuts the connection before the call is forwarded.
	Refuse
	// LoseReply forwards the call, waits for the answer and cuts the connection.
	LoseReply
)

// NewProxy starts a proxy before the SDK at target, which is a Simulator's URL.
func NewProxy(target string) (*Proxy, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("parse the target's URL: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // the target is our own simulator
	transport.MaxIdleConnsPerHost = 64
	p := &Proxy{calls: map[Call]int{}}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: u.Scheme, Host: u.Host})
			r.Out.Host = u.Host
			r.Out.Header["User-Agent"] = r.In.Header["User-Agent"]
		},
		Transport: transport,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {
			panic(http.ErrAbortHandler)
		},
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Context().Value(loseKey{}) != nil {
				_, _ = io.Copy(io.Discard, r.Body)
				return errLost
			}
			return nil
		},
	}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(forward, w, r) }))
	p.URL = p.server.URL + u.Path
	return p, nil
}

type loseKey struct{}

var errLost = errors.New("the reply is lost on purpose")

func (p *Proxy) serve(forward *httputil.ReverseProxy, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	call := Call{Method: soapMethod(body), UserAgent: r.UserAgent()}
	p.mu.Lock()
	p.calls[call]++
	hook := p.hook
	p.mu.Unlock()
	if hook != nil {
		switch hook(call, r) {
		case Refuse:
			panic(http.ErrAbortHandler)
		case LoseReply:
			r = r.WithContext(withLost(r.Context()))
		}
	}
	forward.ServeHTTP(w, r)
}

// soapMethod returns the name of the first element in the envelope's body.
func soapMethod(body []byte) string {
	d := xml.NewDecoder(bytes.NewReader(body))
	inBody := false
	for {
		token, err := d.Token()
		if err != nil {
			return ""
		}
		if start, ok := token.(xml.StartElement); ok {
			if inBody {
				return start.Name.Local
			}
			inBody = start.Name.Local == "Body"
		}
	}
}

// Hook sets what decides about each call; nil passes all. It is called before the call is forwarded and may
// block to delay it.
func (p *Proxy) Hook(hook func(Call, *http.Request) Verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook
}

// Calls returns how often each method was called by each client.
func (p *Proxy) Calls() map[Call]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.calls)
}

// Count returns the number of calls of a method by clients whose user agent begins with agent. An empty method
// or agent means any.
func (p *Proxy) Count(method, agent string) int {
	n := 0
	for call, count := range p.Calls() {
		if (method == "" || call.Method == method) && strings.HasPrefix(call.UserAgent, agent) {
			n += count
		}
	}
	return n
}

// Reset forgets what was counted.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.calls)
}

// Close stops the proxy and cuts its connections.
func (p *Proxy) Close() {
	p.server.CloseClientConnections()
	p.server.Close()
}

func withLost(ctx context.Context) context.Context { return context.WithValue(ctx, loseKey{}, true) }
