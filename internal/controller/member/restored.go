package member

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	definitions "github.com/codeconnect/vmgroup-operator/internal/metrics"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// restoredFor is how long condition StorageRestored stays: long enough that somebody reads it after a night.
const restoredFor = 24 * time.Hour

// errRestored ends the caches of a member whose storage went back: they would keep what is no more, and hear of nothing new.
var errRestored = errors.New("the member's storage came back from a backup")

var restoredAt = definitions.MemberStorageRestored.NewGauge()

func init() { metrics.Registry.MustRegister(restoredAt) }

// mark is the newest revision that was seen of the cluster behind a MemberCluster.
type mark struct {
	clusterUID string
	untrusted.RevisionMark
}

// lookBack asks the member for the revision of its storage, and reports whether it went back. A lower one is read twice, so that no single
// answer makes all caches begin anew. A member that does not answer is the health check's business.
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

// markOf is what was seen of a member, nothing if it is another cluster now.
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

// noteRestore notes that the storage of the member, which is the cluster uid, went back. Its caches are not in use at
// this moment.
func (c *connection) noteRestore(uid string) {
	now := c.provider.opts.Now()
	c.log.Info("The member's storage came back from a backup; its caches are filled anew")
	restoredAt.WithLabelValues(c.target.Name).Set(float64(now.Unix()))
	c.provider.opts.Fleet.Restored(uid)
	c.update(func(seen *observation) { seen.restoredAt = now })
}

// setRestored keeps condition StorageRestored for a day after the restore that was noticed last.
func setRestored(status *v1alpha1.MemberClusterStatus, in statusInput) {
	if at := in.seen.restoredAt; !at.IsZero() && in.now.Sub(at) < restoredFor {
		condition := metav1.Condition{
			Type: v1alpha1.ConditionStorageRestored, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRevisionWentBack,
			ObservedGeneration: in.generation, LastTransitionTime: metav1.NewTime(at.Truncate(time.Second)),
			Message: fmt.Sprintf("At %s the member's API server answered with an older revision than before: its etcd came back from a backup. "+
				"All VmGroups were read anew, and their VMs stay. Compare the specs of VmGroups with what was changed since the backup; "+
				"docs/runbooks/restore.md says what else to do. This condition goes away after a day.", at.UTC().Format(time.RFC3339)),
		}
		if before := meta.FindStatusCondition(status.Conditions, condition.Type); before != nil && before.Message != condition.Message {
			meta.RemoveStatusCondition(&status.Conditions, condition.Type) // another restore
		}
		meta.SetStatusCondition(&status.Conditions, condition)
		return
	}
	if restoredLeft(status, in.now) <= 0 {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionStorageRestored)
	}
}

// restoredLeft is how long condition StorageRestored is still to stay; zero or less when there is none.
func restoredLeft(status *v1alpha1.MemberClusterStatus, now time.Time) time.Duration {
	condition := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStorageRestored)
	if condition == nil {
		return 0
	}
	return condition.LastTransitionTime.Add(restoredFor).Sub(now)
}
