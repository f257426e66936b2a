package vcenter

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vcenter/vcentermetrics"
)

// note stores the reason of condition Ready as this replica sees it, even if another replica writes status.
func (r *Reconciler) note(name string, status v1alpha1.VCenterStatus) {
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reasons == nil {
		r.reasons = map[string]string{}
	}
	if ready != nil {
		r.reasons[name] = ready.Reason
	}
}

// Seen implements vcentermetrics.Source.
func (r *Reconciler) Seen() []vcentermetrics.VCenter {
	r.mu.Lock()
	names, reasons := slices.Sorted(maps.Keys(r.uids)), maps.Clone(r.reasons)
	r.mu.Unlock()
	all := make([]vcentermetrics.VCenter, 0, len(names))
	for _, name := range names {
		is := vcentermetrics.VCenter{Name: name, Reason: reasons[name], Orphaned: r.orphans.count(name), Released: r.released.count(name)}
		if current, _ := r.Pool.connections(name); current != nil {
			health, load := current.Health(), current.Load()
			is.Reachable, is.Complete, is.VMs, is.Load = health.Reachable, health.Reachable && health.Complete, health.VMs, &load
		}
		all = append(all, is)
	}
	return all
}

// count returns the number of VMs in the last report.
func (o *orphans) count(vcenter string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.seen[vcenter].reported)
}
