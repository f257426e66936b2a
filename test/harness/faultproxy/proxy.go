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
	// Request of the client. Its body is read already.
	Request *http.Request
	// Body of the request.
	Body []byte
	// Start is the time of the request's arrival.
	Start time.Time
}

// Result is the end of an exchange.
type Result struct {
	// End is the time when the answer was passed on or the connection was cut.
	End time.Time
	// Status of the answer, or 0 if none came.
	Status int
	// Act of the exchange.
	Act Act
	// Answer is the server's answer if the proxy needed the whole of it, and nil otherwise.
	Answer []byte
}

// Options of a Proxy.
type Options struct {
	// Target is the server. Only scheme and host of its URL are used.
	Target *url.URL
	// Transport to the server. Nil means one that trusts any certificate, because targets are servers of the tests.
	Transport http.RoundTripper
	// Listen is the address as host:port. Empty means a free port of the loopback interface.
	Listen string
	// TLS makes the proxy serve HTTPS. Nil means HTTP.
	TLS *tls.Config
	// Decide returns the fault of each exchange and can block. Nil passes all.
	Decide func(*Exchange) Fault
	// Done is called at the end of each exchange, unless it is nil. The client can have read the answer by then.
	Done func(*Exchange, Result)
	// Stream, if set, can replace the body of a streamed answer with status 200.
	Stream func(*Exchange, io.ReadCloser) io.ReadCloser
}

// Proxy is a running proxy. The caller must close it.
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
		FlushInterval:  -1, // pass on events of a watch immediately
		ModifyResponse: p.modify,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {
			// If the server is unreachable, the proxy cuts the connection instead of inventing an answer.
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

// silent discards the errors of connections that the caller cut.
var silent = log.New(io.Discard, "", 0)

// Close ends the proxy and cuts its connections. It can be called more than once.
func (p *Proxy) Close() {
	p.closing.Do(func() { close(p.closed) })
	p.server.CloseClientConnections()
	p.server.Close()
}

// CutConnections cuts all open connections.
func (p *Proxy) CutConnections() { p.server.CloseClientConnections() }

// passage contains the state of one exchange that serve and modify share.
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
		// The server's actions must not depend on whether the client waits for them. This context has its own end, because without one the
		// reverse proxy checks the connection for its client.
		var done context.CancelFunc
		ctx, done = context.WithCancel(context.WithoutCancel(ctx))
		defer done()
	}
	p.forward.ServeHTTP(w, r.WithContext(ctx))
}

// wait returns true when the channel delivers, and false if the client or the proxy closes.
func (p *Proxy) wait(ctx context.Context, until <-chan time.Time) bool {
	select {
	case <-until:
		return true
	case <-ctx.Done():
	case <-p.closed:
	}
	return false
}

// modify applies the fault to an answer. An error cuts the connection.
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
		// The header has the full length, so that the client does not take the half for the whole.
		r.Body = &half{Reader: bytes.NewReader(body[:len(body)/2])}
	default:
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
	return nil
}

// half is a truncated body.
type half struct{ *bytes.Reader }

// Read returns errCut at the end of the half.
func (h *half) Read(b []byte) (int, error) {
	n, err := h.Reader.Read(b)
	if errors.Is(err, io.EOF) {
		err = errCut
	}
	return n, err
}

// Close does nothing.
func (h *half) Close() error { return nil }
