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

// Kind of a SOAP call: its method and client.
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
	// Object is the value of the reference of the called object, for example vm-23.
	Object string
	// Name of the new VM or folder, for calls that create one.
	Name string
	// Group is the UID of the VmGroup of a changing call, from the stamp in the call or on the VM. It is empty if there is no stamp.
	Group string
	// Operation is the opID in the request's header, as vCenter logs it. It is empty if there is none.
	Operation string
	// Epoch under which the caller acts, for example 1.7. It comes from the operation or the stamp on a VM, and is empty if neither has one.
	Epoch string
	// Changes is true for a call that can change something in vCenter.
	Changes bool
}

// Record is a changing call that the proxy received.
type Record struct {
	Call
	// Start is the arrival of the request. End is the time of the answer or cut, and zero while the call is in progress.
	Start, End time.Time
	// Closed is the time when the client closed its connection before it had an answer, and zero otherwise. The server can have continued until End.
	Closed time.Time
	// Answered is the time when the proxy began to pass on the server's answer, and zero if there was none. The client cannot have received it earlier.
	Answered time.Time
	// Outcome is "ok", the name of the server's fault, such as DuplicateName, or the act of the proxy, such as "cut after". It is empty while the call is in
	// progress.
	Outcome string
	// Task is the value of the reference to the task in the server's answer.
	Task string
}

// Proxy is a reverse proxy in front of a simulator. It counts SOAP calls, records changing calls, and can disturb any call, all outside of the program under
// test.
type Proxy struct {
	// URL for the program under test.
	URL string

	proxy  *faultproxy.Proxy
	owners *owners

	mu      sync.Mutex
	calls   map[Kind]int
	hook    func(Call) faultproxy.Fault
	records []*Record
	open    map[*faultproxy.Exchange]*Record
}

// NewProxy starts a proxy in front of the SDK at target, which is a Simulator's URL.
func NewProxy(target string) (*Proxy, error) { return NewProxyAt(target, "") }

// NewProxyAt is NewProxy on an address, host:port, with HTTPS and an untrusted certificate. An empty address means a free port of the loopback interface with
// HTTP.
func NewProxyAt(target, listen string) (*Proxy, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("parse the target's URL: %w", err)
	}
	p := &Proxy{calls: map[Kind]int{}, open: map[*faultproxy.Exchange]*Record{}, owners: newOwners()}
	options := faultproxy.Options{Target: u, Listen: listen, Decide: p.decide, Done: p.done}
	if listen != "" {
		options.TLS = new(tls.Config) // the operator sends no password over HTTP to another host
	}
	p.proxy, err = faultproxy.New(options)
	if err != nil {
		return nil, fmt.Errorf("start a proxy before %s: %w", target, err)
	}
	p.URL = p.proxy.URL + u.Path
	return p, nil
}

// AskOwners lets the proxy query the group of a VM in the simulator as a user, if a changing call does not contain the group. Otherwise such records have no
// group.
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
		// The context ends with the exchange as well, but by then the record is closed.
		context.AfterFunc(e.Request.Context(), func() { p.gone(e) })
	}
	var fault faultproxy.Fault
	if hook != nil {
		fault = hook(call)
	}
	if call.Changes {
		// Always set After, so that the proxy reads the answer for the record.
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
		// Go's client then decompresses automatically.
		e.Request.Header.Del("Accept-Encoding")
	}
	return fault
}

// gone records that the client of an exchange closed its connection.
func (p *Proxy) gone(e *faultproxy.Exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.open[e]; r != nil && r.Answered.IsZero() {
		r.Closed = time.Now()
	}
}

// answered records that the proxy is about to pass on the server's answer.
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

// Hook sets the function that decides on each call. Nil passes all. It is called before the call is forwarded and can block to delay it.
func (p *Proxy) Hook(hook func(Call) faultproxy.Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook
}

// Calls returns the number of calls by method and client. Requests for files, such as those of session.Knock, have an empty method.
func (p *Proxy) Calls() map[Kind]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.calls)
}

// Records returns the changing calls, including failed ones, in the order of their arrival.
func (p *Proxy) Records() []Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Record, len(p.records))
	for i, r := range p.records {
		out[i] = *r
	}
	return out
}

// Changes returns the records of the given methods, or of all if none is given.
func (p *Proxy) Changes(methods ...string) []Record {
	return slices.DeleteFunc(p.Records(), func(r Record) bool { return len(methods) > 0 && !slices.Contains(methods, r.Method) })
}

// Count returns the number of calls of a method by clients whose user agent begins with agent. An empty method or agent matches all.
func (p *Proxy) Count(method, agent string) int {
	n := 0
	for call, count := range p.Calls() {
		if (method == "" || call.Method == method) && strings.HasPrefix(call.UserAgent, agent) {
			n += count
		}
	}
	return n
}

// Reset clears the counts and records.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.calls)
	p.records = nil
}

// CutConnections cuts all open connections.
func (p *Proxy) CutConnections() { p.proxy.CutConnections() }

// Close stops the proxy and cuts its connections.
func (p *Proxy) Close() { p.proxy.Close() }

// owners remembers the group of each VM.
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

// of returns the UID of the group of a VM. It queries each VM once, because vCenter never reuses references.
func (o *owners) of(ctx context.Context, object string) string {
	if !strings.HasPrefix(object, "vm-") {
		return ""
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	group, ok := o.known[object]
	if !ok && o.person != nil {
		var err error
		if group, err = o.person.owner(ctx, object); err == nil && group != "" { // otherwise its clone can still be running
			o.known[object] = group
		}
	}
	return group
}
