package vcenter

import (
	"context"
	"net/url"
	"strings"
	"sync"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Connection is a running vCenter connection.
type Connection interface {
	vsphere.Server
	// Run connects, observes and reconnects until ctx ends. Then it logs out and returns.
	Run(ctx context.Context) error
	// SetLimits changes the task limits at once.
	SetLimits(tasks, tasksPerHost int)
	// SetPredecessor names the installation whose VMs this installation adopts here, or "".
	SetPredecessor(installation string)
	// AcceptEmpty ends the pause after a suddenly empty root folder.
	AcceptEmpty()
	// ExpectVMs sets the VMs that groups expect. If the pause concerns VMs from before this process, an expectation without VMs ends it. vCenter's explanation
	// of all VMs also does.
	ExpectVMs(e vsphere.Expectation)
	// OwnedGroups returns the groups of the VMs with this installation's stamp, and Owned the VMs of these groups.
	OwnedGroups() []vsphere.GroupKey
	Owned(groups ...vsphere.GroupKey) []vsphere.VM
	// Load returns the running and waiting tasks of this process, from memory.
	Load() vsphere.Load
	// FolderPath returns the inventory path of a folder below the root folder, or "" while it is unknown.
	FolderPath(folder vsphere.Ref) string
	// EmptyGroupFolders returns the certainly empty folders at the depth of group folders. known is false while the inventory does not show them.
	EmptyGroupFolders() (empty []vsphere.GroupFolder, known bool)
	// Strays returns the VMs with this installation's stamp outside of the root folder, from a search within the last hour. After that it requests another
	// search. It does not block.
	Strays() vsphere.Strays
	// EndLeftovers requests the end of dead processes' sessions at this vCenter. It does not block.
	EndLeftovers()
}

// Pool holds all vCenter connections of the process. It implements vsphere.Servers. As a manager's runnable it ends all connections, with their sessions,
// when the manager stops.
type Pool struct {
	mu      sync.Mutex
	entries map[string]*entry
	// ctx is the lifetime of all connections. It does not derive from a reconcile's context.
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// entry holds the connections of one VCenter. Only current serves groups.
//
//	first connection   candidate, current as soon as it is connected to the expected vCenter
//	other settings     candidate beside current, until it shows that they work. Then both end, and
//	                   after the end of current, a third connection is opened and becomes current
//	other trust        the same. If the certificate of current's server is no longer trusted,
//	                   current ends as well
//
// The third connection makes a swap safe: it reads vCenter's running tasks after the last call of the old one, so that the old one's last clone is not
// forgotten.
type entry struct {
	current, candidate *running
	// ending is closed after the end of a former current connection. The next connection waits for it.
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

// connections returns the connection in use and the one that waits to replace it. Either can be nil.
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

// address returns the vCenter's address of the connection in use, in the form of spec.server.
func (p *Pool) address(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.entries[name]; e != nil && e.current != nil {
		return strings.TrimSuffix(e.current.config.URL, "/sdk")
	}
	return ""
}

// ensure makes this configuration the wanted one and reports whether the connection that Server returns changed. expected reports whether a vCenter with
// this instance UUID holds the known VMs. ensure does not wait. It must be called again until the wanted connection is current.
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

// untrusted reports whether the server in use does not have the certificate that spec now requires. The certificate of another address does not concern the
// server in use.
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

// EndLeftovers makes every connection end unused sessions at its vCenter, soon and in the background. Call it when another process turns out to be dead.
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

// refuse receives the reason why no connection is possible any more, and reports whether the connection that Server returns changed. A candidate ends:
// otherwise it would retry and send its password later to any server that answers. The connection in use continues, unless its own Secret no longer permits
// the password for its address. The password was sent there before, and would be sent again.
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

// end ends the connection in use. The next one waits for its end.
func (e *entry) end() {
	e.current.cancel()
	e.current, e.ending = nil, e.current.done
}

// remove ends the connections of name, which log out in the background. The next connection of this name waits for that, as in a swap.
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

// Start waits for ctx to end. Then it ends every connection and waits until all have logged out.
func (p *Pool) Start(ctx context.Context) error {
	<-ctx.Done()
	p.cancel()
	p.wg.Wait()
	return nil
}

// NeedLeaderElection returns false, so that every replica runs the pool: observing does not need leadership.
func (p *Pool) NeedLeaderElection() bool { return false }
