// Package witness reports users who changed VMs in vCenter.
package witness

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/groupmetrics"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// Clusters finds the clients of an engaged member.
type Clusters interface {
	GetCluster(ctx context.Context, name multicluster.ClusterName) (cluster.Cluster, error)
}

// Witness reports users who changed VMs. All fields but Metrics are required.
type Witness struct {
	// Fleet has the groups, and those that this replica holds.
	Fleet *fleet.Fleet
	// Hub has the VCenters.
	Hub client.Reader
	// Clusters are the members.
	Clusters Clusters
	// Events writes events of VCenters.
	Events events.EventRecorder
	// HubWrites limits the writes on the hub that each member can cause.
	HubWrites *writebudget.Budget
	// Metrics count the changes.
	Metrics *groupmetrics.Passes
}

// Of returns the witness of one vCenter.
func (w *Witness) Of(vcenter string) vsphere.Witness { return ofVCenter{w, vcenter} }

type ofVCenter struct {
	*Witness

	vcenter string
}

// Cares reports whether this replica holds the group, so that only one replica queries vCenter for the user.
func (w ofVCenter) Cares(key vsphere.GroupKey) bool {
	g, known := w.Fleet.Group(key)
	return known && w.Fleet.Holds(g.Ref)
}

// Changed reports the change to hub administrators. It reports the change to the group's users too, with the user's name
// if the VCenter allows it.
func (w ofVCenter) Changed(change vsphere.Change) {
	key := change.ID.Key()
	g, known := w.Fleet.Group(key)
	if !known {
		return
	}
	w.Metrics.Changed(w.vcenter, change.Kind)
	member, name := g.Ref.Member, types.NamespacedName{Namespace: g.Ref.Namespace, Name: g.Ref.Name}
	vm := plan.VMName(name.Name, change.Ordinal)
	log := ctrl.Log.WithName("vmgroup").WithValues(w.Fleet.LogValues(g.Ref)...).WithValues("vcenter", w.vcenter)
	log.Info("A VM was changed outside the operator", "vm", vm, "moRef", change.VM.Value, "change", change.Kind, "at", change.At, "user", change.User)

	ctx, cancel := context.WithTimeout(context.Background(), memberapi.Timeout)
	defer cancel()
	vc := &v1alpha1.VCenter{}
	if err := w.Hub.Get(ctx, types.NamespacedName{Name: w.vcenter}, vc); err != nil {
		log.Error(err, "Failed to record an event for a VM change")
		return
	}
	told := tell(change)
	if w.HubWrites.Afford(w.HubWrites.UID(member), writebudget.Event, writebudget.EventBytes) {
		w.Events.Eventf(vc, nil, corev1.EventTypeWarning, told.reason, "Observe", "%s of VmGroup %s of member cluster %q %s at %s UTC%s",
			untrusted.Name(vm), untrusted.Quoted(name.String()), member, told.what, change.At.UTC().Format(time.DateTime), told.by)
	}
	cl, err := w.Clusters.GetCluster(ctx, multicluster.ClusterName(member))
	of := &v1alpha1.VmGroup{}
	if err == nil {
		err = cl.GetClient().Get(ctx, name, of)
	}
	if err != nil || string(of.UID) != change.ID.Group {
		return // the member is unreachable, or the group was deleted
	}
	by := told.by
	if change.User != "" && vc.Spec.VCenterUserNames != v1alpha1.VCenterUserNamesAllow {
		by = fmt.Sprintf(" outside the operator; to find out who did it, ask a hub administrator: an event of VCenter %q on the hub names the user", w.vcenter)
	}
	// Without the time, which is that of the event: repeated losses of a VM are one event with a count.
	cl.GetEventRecorder("vmgroup-operator").Eventf(of, nil, corev1.EventTypeWarning, told.reason, "Observe", "%s %s%s", vm, told.what, by)
}

type sentence struct{ reason, what, by string }

func tell(change vsphere.Change) sentence {
	does := map[vsphere.ChangeKind]sentence{
		vsphere.ChangePoweredOff:   {reason: v1alpha1.EventVMPoweredOff, what: "was powered off"},
		vsphere.ChangeSuspended:    {reason: v1alpha1.EventVMSuspended, what: "was suspended"},
		vsphere.ChangeDeleted:      {reason: v1alpha1.EventVMDeleted, what: "was deleted"},
		vsphere.ChangeReconfigured: {reason: v1alpha1.EventVMReconfigured, what: "was reconfigured"},
		vsphere.ChangeRenamed:      {reason: v1alpha1.EventVMRenamed, what: "was renamed"},
		vsphere.ChangeMoved:        {reason: v1alpha1.EventVMMoved, what: "was moved to another folder"},
	}
	w := does[change.Kind]
	if w.by = " by " + change.User; change.User == "" {
		w.by = "; vCenter names no user, as for a guest that shuts down and for actions of vCenter itself"
	}
	return w
}
