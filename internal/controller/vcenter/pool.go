package vcenter

import (
	"context"
	"sync"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Connection is a vCenter connection that runs.
type Connection interface {
	vsphere.Server
	// Run connects, observes and reconnects until ctx ends; then it logs out and returns.
	Run(ctx context.Context) error
	// SetLimits changes the task limits at once.
	SetLimits(tasks, tasksPerHost int)
	// AcceptEmpty ends the pause after the root folder was suddenly empty.
	AcceptEmpty()
}

// Pool is every vCenter connection of the process. It implements vsphere.Servers. As a manager's runnable it
// ends all connections, with their sessions, when the manager stops.
type Pool struct {
	mu      sync.Mutex
	entries map[string]*entry
	// ctx is the life of all connections; it does not derive from a reconcile's context.
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

type entry struct {
	current, candidate *running
}

type running struct {
	Connection
	hash   string
	cancel context.CancelFunc
}

// NewPool returns a pool without connections.
func NewPool() *Pool {
	ctx, cancel := context.WithCancel(context.Background())
	return &Pool{entries: map[string]*entry{}, ctx: ctx, cancel: cancel}
}

// Server returns the connection of the VCenter called name.
func (p *Pool) Server(name string) (vsphere.Server, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.entries[name]; e != nil {
		return e.current.Connection, true
	}
	return nil, false
}

// connections returns the connection in use and the one that waits to replace it; either may be nil.
func (p *Pool) connections(name string) (current, candidate Connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[name]
	if e == nil {
		return nil, nil
	}
	if e.candidate != nil {
		candidate = e.candidate.Connection
	}
	return e.current.Connection, candidate
}

// ensure makes the configuration with this hash the wanted one and reports whether the connection that
// Server returns was replaced. It does not wait for a connection.
func (p *Pool) ensure(name, hash string, dial func() Connection) (replaced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[name]
	if e == nil {
		p.entries[name] = &entry{current: p.start(hash, dial())}
		return true
	}
	if e.current.hash == hash {
		e.dropCandidate()
		return false
	}
	if e.candidate != nil && e.candidate.hash != hash {
		e.dropCandidate()
	}
	if e.candidate == nil {
		e.candidate = p.start(hash, dial())
	}
	ready := e.candidate.Health()
	if (ready.Reachable && ready.Complete) || !e.current.Health().Reachable {
		e.current.cancel()
		e.current, e.candidate = e.candidate, nil
		return true
	}
	return false
}

func (e *entry) dropCandidate() {
	if e.candidate != nil {
		e.candidate.cancel()
		e.candidate = nil
	}
}

func (p *Pool) start(hash string, c Connection) *running {
	ctx, cancel := context.WithCancel(p.ctx)
	p.wg.Go(func() { _ = c.Run(ctx) })
	return &running{Connection: c, hash: hash, cancel: cancel}
}

// remove ends the connections of name; they log out in the background.
func (p *Pool) remove(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.entries[name]; e != nil {
		e.dropCandidate()
		e.current.cancel()
		delete(p.entries, name)
	}
}

// Start waits for ctx to end, then ends every connection and waits until all have logged out.
func (p *Pool) Start(ctx context.Context) error {
	<-ctx.Done()
	p.cancel()
	p.wg.Wait()
	return nil
}

// NeedLeaderElection makes the manager run the pool on every replica: observing is not acting.
func (p *Pool) NeedLeaderElection() bool { return false }
