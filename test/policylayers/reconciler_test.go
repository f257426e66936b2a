package policylayers

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/policy/policytest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// reconciled passes to the reconciler a group that admission accepted. The earlier group was admitted by the
// policies of that time.
func (t *trial) reconciled(c policytest.Case, set *policy.Set, spec v1alpha1.VmGroupSpec, status v1alpha1.VmGroupStatus, takenBack bool) {
	findings := policy.Findings{Spec: spec, Revision: plan.Revision(spec), Violations: set.Evaluate(c.Requester(), spec, "")}
	complied := true
	if c.Old != nil {
		findings.Admitted = admittedAs(*c.OldSpec())
		findings.Standing = standing(status, findings.Revision)
		complied = !slices.ContainsFunc(set.Evaluate(c.Requester(), *c.OldSpec(), ""), func(v policy.Violation) bool {
			return v.Enforced && v.Rule != policy.RuleReplicasMinimum // this one applies only to new groups
		})
		// To lower a size, a user removes it in a first edit, which is accepted, and held under a quota of storage.
		if c.OldSpec().Shape().RootDiskGiB() > 0 && slices.ContainsFunc(findings.Violations, func(v policy.Violation) bool { return v.Rule == policy.RuleDiskRequired }) {
			complied = false
		}
	}
	a := policy.Decide(findings)
	switch {
	case a.Status == metav1.ConditionTrue && !a.Held && !a.NoCreate && a.Admitted != nil && spec.HasShape(a.Admitted.VMShape):
		t.tally[carriedOut]++
	case takenBack:
		// A refused group clones no VM, and existing ones stay.
	case complied:
		t.fail("the group kept to all policies, its edit was accepted, and the reconciler says %s: %s", a.Reason, a.Message)
	case !a.Held && !a.Terminal && a.Reason == v1alpha1.ReasonPolicyTightened:
		t.tally[within]++
	default:
		t.tally[heldAndSaid]++
		if p := foretold(*c.OldSpec(), spec, findings); p.Held == nil || !p.NotDone {
			t.fail("the reconciler holds an edit that was accepted, and the forecast does not say so: %s: %s", a.Reason, a.Message)
		}
	}
}

func admittedAs(spec v1alpha1.VmGroupSpec) *v1alpha1.Admitted {
	a := policy.Decide(policy.Findings{Spec: spec, Revision: plan.Revision(spec)}).Admitted
	return a
}

// foretold is the forecast for a group whose VMs all match its earlier spec.
func foretold(old, spec v1alpha1.VmGroupSpec, findings policy.Findings) group.Preview {
	was := plan.ShapeOf(old)
	s := &group.Snapshot{
		Now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), VCenter: "default", Member: "m1", ID: vsphere.GroupID{Group: "u"},
		Epoch: v1alpha1.Epoch{Generation: 1, Number: 1}, Recorded: &group.RecordAnswer{}, Definition: &group.DefinitionAnswer{},
		Group: &v1alpha1.VmGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "web", UID: "u", Generation: 2, Finalizers: []string{v1alpha1.VmGroupFinalizer}}, Spec: spec,
			Status: v1alpha1.VmGroupStatus{ObservedGeneration: 1, Rollout: &v1alpha1.Rollout{Revision: was.Revision}, Revisions: []v1alpha1.Revision{was}},
		},
		Names: group.Names{Template: vsphere.Template{Name: "linux-12", Host: "host-1"}}, Revision: plan.Revision(spec),
		Admitted: findings.Admitted, Violations: findings.Violations,
	}
	observed := vsphere.Observation{Complete: true}
	for ordinal := range int32(policy.UsageOf(old).VMs) {
		observed.VMs = append(observed.VMs, vsphere.VM{
			Ref: vsphere.VMRef(plan.VMName("web", ordinal)), Name: plan.VMName("web", ordinal), InstanceUUID: plan.InstanceUUID("u", ordinal, 0),
			Power: vsphere.PoweredOn, Connection: vsphere.Connected, CPU: old.CPU, MemoryMiB: int64(old.Memory) << 10,
			Stamp: &vsphere.Stamp{GroupID: s.ID, Ordinal: ordinal, Revision: was.Revision},
		})
	}
	s.See(observed)
	return s.Preview()
}
