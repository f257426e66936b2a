package link

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	definitions "github.com/codeconnect/vmgroup-operator/internal/metrics"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// errRestored ends the caches of a member whose storage went back: they would keep deleted objects, and get no new events.
var errRestored = errors.New("the member's storage came back from a backup")

var restoredAt = definitions.MemberStorageRestored.NewGauge()

func init() { metrics.Registry.MustRegister(restoredAt) }

// mark is the newest revision that was seen of the cluster of a MemberCluster.
type mark struct {
	clusterUID string
	untrusted.RevisionMark
}

// lookBack reads the revision of the member's storage, and reports whether it went back. It reads a lower one twice, so that no single
// answer restarts all caches. A member that does not answer is left to the health check.
func (c *connection) lookBack(ctx context.Context, api *remote.API, uid string) bool {
	read, err := api.Revision(ctx)
	if err == nil && c.provider.markOf(c.target.Name, uid).WentBack(read) {
		read, err = api.Revision(ctx)
	}
	if err != nil {
		c.log.V(1).Info("The revision of the member's storage could not be read", "error", err.Error())
		return false
	}
	before := c.provider.markOf(c.target.Name, uid)
	after := before
	after.See(read)
	c.provider.setMark(c.target.Name, uid, after)
	return before.WentBack(read)
}

// markOf is the mark of a member, empty if it is another cluster now.
func (p *Provider) markOf(name, uid string) untrusted.RevisionMark {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if m := p.marks[name]; m.clusterUID == uid {
		return m.RevisionMark
	}
	return untrusted.RevisionMark{}
}

func (p *Provider) setMark(name, uid string, m untrusted.RevisionMark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.marks[name] = mark{uid, m}
}

// noteRestore records that the storage of the member, which is the cluster uid, went back. Its caches are not in use at this
// moment.
func (c *connection) noteRestore(uid string) {
	now := c.provider.opts.Now()
	c.log.Info("The member's storage came back from a backup; its caches are filled anew")
	restoredAt.WithLabelValues(c.target.Name).Set(float64(now.Unix()))
	c.provider.opts.Fleet.Restored(uid)
	c.update(func(seen *Observation) { seen.RestoredAt = now })
}
