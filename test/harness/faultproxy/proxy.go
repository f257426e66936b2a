package faultproxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Exchange is one request that reached the proxy.
type Exchange struct {
	// Number counts the requests of a proxy from 1.
	Number int
	// Request of the client. Its body was read.
	Request *http.Request
	// Body of the request.
	Body []byte
	// Start is when the request had arrived.
	Start time.Time
}

// Result is how an exchange ended.
type Result struct {
	// End is when the answer had been passed on, or the connection cut.
	End time.Time
	// Status of the answer; 0 if none came.
	Status int
	// Act that was done to the exchange.
	Act Act
	// Answer is the server's answer where it was needed as a whole, and nil otherwise.
	Answer []byte
}

// Options of a Proxy.
type Options struct {
	// Target is the server; of its URL only scheme and host are used.
	Target *url.URL
	// Transport to the server; nil means one that trusts any certificate, since targets are servers of our own.
	Transport http.RoundTripper
	// Listen is the address, host:port; empty means a free port of the loopback interface.
	Listen string
	// TLS makes the proxy serve https; nil serves http.
	TLS *tls.Config
	// Decide is asked about each exchange and may block; nil passes all.
	Decide func(*Exchange) Fault
	// Done is told of the end of each exchange; nil is told nothing. The client may have read the answer by then.
	Done func(*Exchange, Result)
	// Stream, if set, may replace the body of an answer with status 200 that is passed on as it comes.
	Stream func(*Exchange, io.ReadCloser) io.ReadCloser
}

// Proxy is a running proxy. Close it.
type Proxy struct {
	// URL of the proxy: scheme and host.
	URL string

	opts    Options
	server  *httptest.Server
	forward *httputil.ReverseProxy
	numbers atomic.Int64
	closed  chan struct{}
	closing sync.Once
}

// New starts a proxy.
func New(o Options) (*Proxy, error) {
	if o.Target == nil || o.Target.Host == "" {
		return nil, fmt.Errorf("a proxy needs a server to stand before, not %v", o.Target)
	}
	if o.Transport == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
		transport.MaxIdleConnsPerHost = 64
		o.Transport = transport
	}
	p := &Proxy{opts: o, closed: make(chan struct{})}
	p.forward = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: o.Target.Scheme, Host: o.Target.Host})
			r.Out.Host = o.Target.Host
			r.Out.Header["User-Agent"] = r.In.Header["User-Agent"]
		},
		Transport:      o.Transport,
		ErrorLog:       silent,
		FlushInterval:  -1, // events of a watch are passed on as they come
		ModifyResponse: p.modify,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {
			// A server that cannot be reached is shown as that: no invented answer.
			panic(http.ErrAbortHandler)
		},
	}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	if o.Listen != "" {
		listener, err := net.Listen("tcp", o.Listen)
		if err != nil {
			return nil, err
		}
		_ = p.server.Listener.Close() // the default one
		p.server.Listener = listener
	}
	p.server.Config.ErrorLog = silent
	if o.TLS != nil {
		p.server.TLS = o.TLS
		p.server.StartTLS()
	} else {
		p.server.Start()
	}
	p.URL = p.server.URL
	return p, nil
}

// silent is for the errors of connections that were cut: whoever cut them knows.
var silent = log.New(io.Discard, "", 0)

// Close ends the proxy and cuts its connections. It may be called more than once.
func (p *Proxy) Close() {
	p.closing.Do(func() { close(p.closed) })
	p.server.CloseClientConnections()
	p.server.Close()
}

// CutConnections cuts all connections that are open now.
func (p *Proxy) CutConnections() { p.server.CloseClientConnections() }

// passage is what serve and modify share about one exchange.
type passage struct {
	exchange *Exchange
	fault    Fault
	result   Result
}

type passageKey struct{}

var errCut = errors.New("the connection is cut on purpose")

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	pass := &passage{exchange: &Exchange{
		Number: int(p.numbers.Add(1)), Request: r, Body: body, Start: time.Now(),
	}}
	if p.opts.Decide != nil {
		pass.fault = p.opts.Decide(pass.exchange)
	}
	pass.result.Act = pass.fault.Act
	defer func() {
		if p.opts.Done != nil {
			pass.result.End = time.Now()
			p.opts.Done(pass.exchange, pass.result)
		}
	}()
	if pass.fault.Delay > 0 && !p.wait(r.Context(), time.After(pass.fault.Delay)) {
		panic(http.ErrAbortHandler)
	}
	switch pass.fault.Act {
	case CutBefore:
		panic(http.ErrAbortHandler)
	case Hang:
		p.wait(r.Context(), nil)
		panic(http.ErrAbortHandler)
	case Answer:
		if pass.fault.Serve != nil {
			pass.fault.Serve(w, r)
			return
		}
		pass.result.Status = pass.fault.Status
		w.Header().Set("Content-Type", pass.fault.ContentType)
		w.WriteHeader(pass.fault.Status)
		_, _ = w.Write(pass.fault.Body)
		return
	}
	if pass.fault.Rewrite != nil {
		body = pass.fault.Rewrite(body)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	ctx := context.WithValue(r.Context(), passageKey{}, pass)
	if pass.fault.whole() {
		// What the server does must not depend on whether the client waits for it.
		// A context of its own that ends: without one the reverse proxy asks the connection whether its client is there.
		var done context.CancelFunc
		ctx, done = context.WithCancel(context.WithoutCancel(ctx))
		defer done()
	}
	p.forward.ServeHTTP(w, r.WithContext(ctx))
}

// wait returns true when the channel delivers, and false when the client gave up or the proxy was closed.
func (p *Proxy) wait(ctx context.Context, until <-chan time.Time) bool {
	select {
	case <-until:
		return true
	case <-ctx.Done():
	case <-p.closed:
	}
	return false
}

// modify does to an answer what the fault asks for. An error cuts the connection.
func (p *Proxy) modify(r *http.Response) error {
	pass, _ := r.Request.Context().Value(passageKey{}).(*passage)
	pass.result.Status = r.StatusCode
	if !pass.fault.whole() {
		if p.opts.Stream != nil && r.StatusCode == http.StatusOK {
			r.Body = p.opts.Stream(pass.exchange, r.Body)
		}
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	pass.result.Answer = body
	if pass.fault.Edit != nil {
		body = pass.fault.Edit(body)
	}
	if pass.fault.After != nil {
		pass.fault.After()
	}
	switch pass.fault.Act {
	case CutAfter:
		return errCut
	case HangAfter:
		p.wait(pass.exchange.Request.Context(), nil)
		return errCut
	case Truncate:
		// The header promises all of the body: the client must not take the half for a whole.
		r.Body = &half{Reader: bytes.NewReader(body[:len(body)/2])}
	default:
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
	return nil
}

// half is a body that breaks off.
type half struct{ *bytes.Reader }

// Read returns errCut where the half ends.
func (h *half) Read(b []byte) (int, error) {
	n, err := h.Reader.Read(b)
	if errors.Is(err, io.EOF) {
		err = errCut
	}
	return n, err
}

// Close does nothing.
func (h *half) Close() error { return nil }
