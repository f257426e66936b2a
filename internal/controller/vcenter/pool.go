package vcenter

import (
	"context"
	"net/url"
	"strings"
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
	// SetPredecessor names the installation whose VMs here are to be this one's; empty for none.
	SetPredecessor(installation string)
	// AcceptEmpty ends the pause after the root folder was suddenly empty.
	AcceptEmpty()
	// ExpectVMs says which VMs groups count on. None ends the pause, if it is about VMs from before this process, and so does vCenter if it explains them all.
	ExpectVMs(e vsphere.Expectation)
	// Owned returns the VMs with this installation's stamp.
	Owned() []vsphere.VM
	// Load returns what runs and what waits here, from memory.
	Load() vsphere.Load
	// FolderPath is the inventory path of a folder below the root folder, or empty while it is not known.
	FolderPath(folder vsphere.Ref) string
	// EmptyGroupFolders returns the folders at the place of a group's in which nothing is, or may be. known is false while the inventory does not show that.
	EmptyGroupFolders() (empty []vsphere.GroupFolder, known bool)
	// Strays returns the VMs with this installation's stamp outside of the root folder, as they were found within the last hour, and asks for another look
	// after that. It does not block.
	Strays() vsphere.Strays
	// EndLeftovers asks for the sessions of dead processes at this vCenter to be ended soon. It does not block.
	EndLeftovers()
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

// entry is what exists for one VCenter. Groups are served by current alone.
//
//	first connection   candidate, current as soon as it is connected to the vCenter that was expected
//	other settings     candidate beside current, until it shows that they work; then both end, and
//	                   only when current has ended, a third connection is opened and becomes current
//	other trust        the same; if current's server has a certificate that is not trusted any more,
//	                   current ends as well
//
// The third connection is what makes a swap safe: it asks vCenter for running tasks after the last call of the
// old one, so that a clone the old one sent last is not forgotten.
type entry struct {
	current, candidate *running
	// ending is closed when a former current connection has ended; the next one waits for it.
	ending <-chan struct{}
}

type running struct {
	Connection
	config Config
	cancel context.CancelFunc
	done   chan struct{}
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
	if e := p.entries[name]; e != nil && e.current != nil {
		return e.current.Connection, true
	}
	return nil, false
}

// connections returns the connection in use and the one that waits to replace it; either may be nil.
func (p *Pool) connections(name string) (current, candidate Connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.entries[name]; e != nil {
		if e.current != nil {
			current = e.current.Connection
		}
		if e.candidate != nil {
			candidate = e.candidate.Connection
		}
	}
	return current, candidate
}

// address is that of the vCenter of the connection in use, as spec.server has it.
func (p *Pool) address(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.entries[name]; e != nil && e.current != nil {
		return strings.TrimSuffix(e.current.config.URL, "/sdk")
	}
	return ""
}

// ensure makes this configuration the wanted one and reports whether the connection that Server
// returns changed. expected says whether a vCenter with this instance UUID is the one that VMs are known in. It
// waits for nothing and is called again until the wanted connection is current.
func (p *Pool) ensure(name string, config Config, dial func() Connection, expected func(instanceUUID string) bool) (changed bool) {
	hash := config.hash()
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[name]
	if e == nil {
		e = &entry{}
		p.entries[name] = e
	}
	if e.ending != nil {
		select {
		case <-e.ending:
			e.ending = nil
		default:
			return false
		}
	}
	if e.current != nil && e.current.config.hash() == hash {
		e.dropCandidate()
		return false
	}
	if e.candidate != nil && e.candidate.config.hash() != hash {
		e.dropCandidate()
	}
	if e.candidate == nil {
		e.candidate = p.start(config, dial())
	}
	health := e.candidate.Health()
	works := health.Reachable && expected(health.InstanceUUID)
	switch {
	case e.current == nil && works:
		e.current, e.candidate = e.candidate, nil
	case e.current != nil && (works || e.untrusted(health) || !e.current.Health().Reachable && !health.Reachable):
		e.dropCandidate()
		e.end()
	default:
		return false
	}
	return true
}

// untrusted reports whether the server in use does not have the certificate that spec requires now. The certificate of another address
// does not concern the server in use.
func (e *entry) untrusted(candidate vsphere.Health) bool {
	return e.candidate.config.URL == e.current.config.URL && vsphere.KindOf(candidate.Err) == vsphere.KindCertificate
}

func (e *entry) dropCandidate() {
	if e.candidate != nil {
		e.candidate.cancel()
		e.candidate = nil
	}
}

func (p *Pool) start(config Config, c Connection) *running {
	ctx, cancel := context.WithCancel(p.ctx)
	r := &running{Connection: c, config: config, cancel: cancel, done: make(chan struct{})}
	p.wg.Go(func() {
		defer close(r.done)
		_ = c.Run(ctx)
	})
	return r
}

// EndLeftovers has every connection end the sessions at its vCenter that nobody uses any more, soon and in the
// background. It is meant for the moment at which another process turns out to be dead.
func (p *Pool) EndLeftovers() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.entries {
		for _, r := range []*running{e.current, e.candidate} {
			if r != nil {
				r.EndLeftovers()
			}
		}
	}
}

// refuse is told why no connection can be made any more, and reports whether the connection that Server returns changed. One that was never
// connected ends: it would go on trying, and send its password later to whoever answers then. The one in use goes on, unless its own Secret says
// by now that the password is not for where it goes. It was sent there before, and would be sent again.
func (p *Pool) refuse(name string, why *configError) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[name]
	if e == nil {
		return false
	}
	e.dropCandidate()
	if e.current == nil || why.secret == nil || why.secret.Name != e.current.config.Secret {
		return false
	}
	if endpoint, err := url.Parse(e.current.config.URL); err == nil && allows(why.secret, endpoint) {
		return false
	}
	e.end()
	return true
}

// end ends the connection in use; the next one waits for it.
func (e *entry) end() {
	e.current.cancel()
	e.current, e.ending = nil, e.current.done
}

// remove ends the connections of name; they log out in the background. The next connection of this name waits for that, as in a swap.
func (p *Pool) remove(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[name]
	if e == nil {
		return
	}
	e.dropCandidate()
	switch {
	case e.current != nil:
		e.end()
	case e.ending == nil:
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
