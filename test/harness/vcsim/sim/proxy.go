package sim

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
)

// Kind of a SOAP call: what it calls and who does.
type Kind struct {
	// Method as in the request, for example CloneVM_Task.
	Method string
	// UserAgent of the client.
	UserAgent string
}

// Call is one SOAP call that reached a Proxy.
type Call struct {
	Kind
	// Number counts the calls of a proxy from 1.
	Number int
	// Object is the value of the reference that the method is called on, for example vm-23.
	Object string
	// Name of the VM or folder that is to be made, for calls that make one.
	Name string
	// Group is the UID of the VmGroup that a changing call is about, as the stamp says that the call or the VM
	// carries; empty if there is none.
	Group string
	// Operation is the opID in the request's header, as vCenter logs it; empty if there is none.
	Operation string
	// Epoch under which the caller acts, for example 1.7, as its operation or the stamp on a VM says; empty if none does.
	Epoch string
	// Changes is true for a call that changes something in vCenter, as far as it is known to.
	Changes bool
}

// Record is a call that changes something, as the proxy saw it.
type Record struct {
	Call
	// Start is when the request had arrived, End when it was answered or cut; End is zero while it is under way.
	Start, End time.Time
	// Closed is when the client gave up and closed its connection before it had an answer, and zero otherwise. The server
	// may have gone on until End.
	Closed time.Time
	// Answered is when the server's answer began to be passed on, and zero if none was. The client cannot have had it
	// earlier.
	Answered time.Time
	// Outcome is "ok", the name of the fault that the server answered with, such as DuplicateName, or what the
	// proxy did, such as "cut after". It is empty while the call is under way.
	Outcome string
	// Task is the value of the reference to the task that the server answered with.
	Task string
}

// Proxy is a reverse proxy before a simulator. It counts SOAP calls, records those that change something, and can
// disturb any, all of it outside of the program under test.
type Proxy struct {
	// URL to give to the program under test.
	URL string

	proxy  *faultproxy.Proxy
	owners *owners

	mu      sync.Mutex
	calls   map[Kind]int
	hook    func(Call) faultproxy.Fault
	records []*Record
	open    map[*faultproxy.Exchange]*Record
}

// NewProxy starts a proxy before the SDK at target, which is a Simulator's URL.
func NewProxy(target string) (*Proxy, error) { return NewProxyAt(target, "") }

// NewProxyAt is NewProxy on an address, host:port, with https and a certificate that nobody trusts; empty means a free port of the loopback interface, and http.
func NewProxyAt(target, listen string) (*Proxy, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("parse the target's URL: %w", err)
	}
	p := &Proxy{calls: map[Kind]int{}, open: map[*faultproxy.Exchange]*Record{}, owners: newOwners()}
	options := faultproxy.Options{Target: u, Listen: listen, Decide: p.decide, Done: p.done}
	if listen != "" {
		options.TLS = new(tls.Config) // the operator sends no password over http to another host
	}
	p.proxy, err = faultproxy.New(options)
	if err != nil {
		return nil, fmt.Errorf("start a proxy before %s: %w", target, err)
	}
	p.URL = p.proxy.URL + u.Path
	return p, nil
}

// AskOwners lets the proxy ask the simulator, in the name of a person, which group a VM belongs to when a call that
// changes it does not say. Without it such records have no group.
func (p *Proxy) AskOwners(person *Operator) { p.owners.ask(person) }

func (p *Proxy) decide(e *faultproxy.Exchange) faultproxy.Fault {
	call := parseCall(e.Body)
	call.Number, call.UserAgent = e.Number, e.Request.UserAgent()
	p.mu.Lock()
	p.calls[call.Kind]++
	hook := p.hook
	p.mu.Unlock()
	if call.Changes {
		if call.Group == "" {
			call.Group = p.owners.of(e.Request.Context(), call.Object)
		}
		p.mu.Lock()
		r := &Record{Call: call, Start: e.Start}
		p.records = append(p.records, r)
		p.open[e] = r
		p.mu.Unlock()
		// The context ends with the exchange as well; by then the record is closed.
		context.AfterFunc(e.Request.Context(), func() { p.gone(e) })
	}
	var fault faultproxy.Fault
	if hook != nil {
		fault = hook(call)
	}
	if call.Changes {
		// Set in any case, so that the answer is read for the record.
		after, passed := fault.After, fault.Act == faultproxy.Pass || fault.Act == faultproxy.Truncate
		fault.After = func() {
			if after != nil {
				after()
			}
			if passed {
				p.answered(e)
			}
		}
	}
	if fault.After != nil || fault.Edit != nil {
		// Go's client then decompresses by itself.
		e.Request.Header.Del("Accept-Encoding")
	}
	return fault
}

// gone notes that the client of an exchange closed its connection.
func (p *Proxy) gone(e *faultproxy.Exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.open[e]; r != nil && r.Answered.IsZero() {
		r.Closed = time.Now()
	}
}

// answered notes that the server's answer is about to be passed on.
func (p *Proxy) answered(e *faultproxy.Exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.open[e]; r != nil && r.Closed.IsZero() {
		r.Answered = time.Now()
	}
}

func (p *Proxy) done(e *faultproxy.Exchange, result faultproxy.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.open[e]
	if r == nil {
		return
	}
	delete(p.open, e)
	r.End = result.End
	var fault string
	fault, r.Task = parseAnswer(result.Answer)
	switch {
	case result.Act != faultproxy.Pass:
		r.Outcome = result.Act.String()
	case fault != "":
		r.Outcome = fault
	case result.Status == 200:
		r.Outcome = "ok"
	default:
		r.Outcome = fmt.Sprintf("status %d", result.Status)
	}
}

// Hook sets what decides about each call; nil passes all. It is called before the call is forwarded and may
// block to delay it.
func (p *Proxy) Hook(hook func(Call) faultproxy.Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook
}

// Calls returns how often each method was called by each client. What asks for a file, as session.Knock does, has an empty method.
func (p *Proxy) Calls() map[Kind]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.calls)
}

// Records returns the calls that changed something, or tried to, in the order in which they arrived.
func (p *Proxy) Records() []Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Record, len(p.records))
	for i, r := range p.records {
		out[i] = *r
	}
	return out
}

// Changes returns the records of methods; none means of all.
func (p *Proxy) Changes(methods ...string) []Record {
	return slices.DeleteFunc(p.Records(), func(r Record) bool { return len(methods) > 0 && !slices.Contains(methods, r.Method) })
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

// Reset forgets what was counted and recorded.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.calls)
	p.records = nil
}

// CutConnections cuts all connections that are open now.
func (p *Proxy) CutConnections() { p.proxy.CutConnections() }

// Close stops the proxy and cuts its connections.
func (p *Proxy) Close() { p.proxy.Close() }

// owners remembers which group each VM belongs to.
type owners struct {
	mu     sync.Mutex
	person *Operator
	known  map[string]string
}

func newOwners() *owners { return &owners{known: map[string]string{}} }

func (o *owners) ask(person *Operator) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.person = person
}

// of returns the UID of the group of a VM. A VM is asked about once: its reference is never used again.
func (o *owners) of(ctx context.Context, object string) string {
	if !strings.HasPrefix(object, "vm-") {
		return ""
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	group, ok := o.known[object]
	if !ok && o.person != nil {
		var err error
		if group, err = o.person.owner(ctx, object); err == nil && group != "" { // else its clone may run still
			o.known[object] = group
		}
	}
	return group
}
