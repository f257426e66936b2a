package vmgroup

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// witness tells who changed VMs in one vCenter.
type witness struct {
	r       *Reconciler
	vcenter string
}

// Witness returns who is told of changes in a vCenter that the operator did not make. It may be asked for before the controller is set up.
func (r *Reconciler) Witness(vcenter string) vsphere.Witness { return witness{r, vcenter} }

// Cares reports whether this replica holds the group, so that one replica asks.
func (w witness) Cares(key vsphere.GroupKey) bool {
	g, known := w.r.Fleet.Group(key)
	return known && w.r.holds(requestAt(g.Ref))
}

// Changed tells the platform team, and the group's own users as far as the VCenter allows it.
func (w witness) Changed(change vsphere.Change) {
	key := change.ID.Key()
	g, known := w.r.Fleet.Group(key)
	if !known {
		return
	}
	w.r.Metrics.Changed(w.vcenter, change.Kind)
	member, name := g.Ref.Member, requestAt(g.Ref).NamespacedName
	vm := plan.VMName(name.Name, change.Ordinal)
	log := w.r.logOfGroup(ctrl.Log.WithName("vmgroup"), g.Ref).WithValues("vcenter", w.vcenter)
	log.Info("Somebody else changed a VM", "vm", vm, "moRef", change.VM.Value, "change", change.Kind, "at", change.At, "user", change.User)

	ctx, cancel := context.WithTimeout(context.Background(), memberapi.Timeout)
	defer cancel()
	vc := &v1alpha1.VCenter{}
	if err := w.r.Hub.Get(ctx, types.NamespacedName{Name: w.vcenter}, vc); err != nil {
		log.Error(err, "Nobody but this log tells who changed the VM")
		return
	}
	told := tell(change)
	if w.r.HubEvents != nil && w.r.HubWrites.Afford(w.r.HubWrites.UID(member), writebudget.Event, writebudget.EventBytes) {
		w.r.HubEvents.Eventf(vc, nil, corev1.EventTypeWarning, told.reason, "Observe", "%s of VmGroup %s of member cluster %q %s at %s UTC%s",
			untrusted.Name(vm), untrusted.Quoted(name.String()), member, told.what, change.At.UTC().Format(time.DateTime), told.by)
	}
	cl, err := w.r.Clusters.GetCluster(ctx, multicluster.ClusterName(member))
	of := &v1alpha1.VmGroup{}
	if err == nil {
		err = cl.GetClient().Get(ctx, name, of)
	}
	if err != nil || string(of.UID) != change.ID.Group {
		return // the member is away, or the group is gone
	}
	by := told.by
	if change.User != "" && vc.Spec.VCenterUserNames != v1alpha1.VCenterUserNamesAllow {
		by = fmt.Sprintf(" by somebody else than the operator; for who it was ask the platform team: an event of VCenter %q on the hub tells", w.vcenter)
	}
	// Without the time, which is that of the event: a VM that is lost again and again is told by one event with a count.
	cl.GetEventRecorder("vmgroup-operator").Eventf(of, nil, corev1.EventTypeWarning, told.reason, "Observe", "%s %s%s", vm, told.what, by)
}

// sentence says what happened to a VM.
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
		w.by = "; vCenter names nobody, as for a guest that shuts down by itself and for what vCenter does by itself"
	}
	return w
}
