package group

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// TestARefusedGroupClonesNoMoreThanItWasAdmitted: VMs that leave, were released, or are out of sight count.
func TestARefusedGroupClonesNoMoreThanItWasAdmitted(t *testing.T) {
	refused := &QuotaAnswer{Violations: []policy.Violation{{Rule: policy.RuleQuotaVMs, Enforced: true}}}
	for story, c := range map[string]struct {
		quota  *QuotaAnswer
		change func(*Snapshot, *vsphere.Observation)
		want   int
	}{
		"one is lost":           {refused, func(_ *Snapshot, o *vsphere.Observation) { o.VMs, o.Gone = o.VMs[1:], []vsphere.Ref{o.VMs[0].Ref} }, 1},
		"one is out of sight":   {refused, func(_ *Snapshot, o *vsphere.Observation) { o.VMs = o.VMs[1:] }, 0},
		"one leaves":            {refused, func(_ *Snapshot, o *vsphere.Observation) { o.VMs[0].Tombstone = true }, 0},
		"nothing can be asked":  {&QuotaAnswer{Unavailable: "away"}, func(_ *Snapshot, o *vsphere.Observation) { o.VMs[0].Tombstone = true }, 0},
		"one leaves, and it is": {refused, func(s *Snapshot, o *vsphere.Observation) { s.Group.Status.Deleting, o.VMs = []int32{0}, o.VMs[1:] }, 0},
	} {
		s := edited()
		s.Admitted = &v1alpha1.Admitted{Replicas: 3, VMShape: v1alpha1.VMShape{CPU: 1, Memory: 1, Template: "debian"}}
		o := s.Observation
		c.change(s, &o)
		s.Quota = c.quota
		s.See(o)
		if n, limited := s.room(s.Group.Spec, nil); n != c.want || !limited {
			t.Errorf("%s: room for %d, want %d", story, n, c.want)
		}
		if blocked := s.noRoom(s.Group.Spec); (blocked == nil) != (c.want > 0) {
			t.Errorf("%s: %+v", story, blocked)
		}
	}
}

// TestAQuotaThatGrantsAnUpdateLimitsItWhileVMsLeave: four VMs leave, because the group was scaled to 0. One edit asks
// for another shape and five VMs, and is granted: an update claims nothing in addition to the leaving VMs.
func TestAQuotaThatGrantsAnUpdateLimitsItWhileVMsLeave(t *testing.T) {
	s := edited(func(spec *v1alpha1.VmGroupSpec) { spec.Replicas = ptr.To[int32](5) })
	s.Admitted = &v1alpha1.Admitted{Replicas: 0, VMShape: v1alpha1.VMShape{CPU: 1, Memory: 1, Template: "debian"}}
	o := s.Observation
	for i := range o.VMs {
		o.VMs[i].Tombstone, s.Group.Status.Deleting = true, append(s.Group.Status.Deleting, int32(i))
	}
	s.See(o)
	for surge, want := range map[int32]int{0: 2, 1: 3} {
		s.Quota = &QuotaAnswer{Granted: true, Surge: surge}
		if n, limited := s.room(s.Group.Spec, nil); n != want || !limited {
			t.Errorf("with %d more granted: room for %d, limited %v; three VMs leave", surge, n, limited)
		}
		if got := Decide(s).Plan.Creates(); got > want {
			t.Errorf("with %d more granted: %d VMs are cloned beside three that leave", surge, got)
		}
	}
	s.Quota = &QuotaAnswer{Granted: true, Free: []policy.Rule{policy.RuleQuotaVMs, policy.RuleQuotaCPU, policy.RuleQuotaMemory}}
	if _, limited := s.room(s.Group.Spec, nil); limited {
		t.Error("there is no quota, and a limit")
	}
}

// TestACopyTakesNoRoomOfAGroupThatIsGranted: a user copied a VM of the group. Another one is lost, and returns.
func TestACopyTakesNoRoomOfAGroupThatIsGranted(t *testing.T) {
	s := edited(func(spec *v1alpha1.VmGroupSpec) { spec.Template = ours().Group.Spec.Template })
	s.Admitted = &v1alpha1.Admitted{Replicas: 3, VMShape: v1alpha1.VMShape{CPU: 1, Memory: 1, Template: s.Group.Spec.Template}}
	o := s.Observation
	copied, stamp := o.VMs[2], *o.VMs[2].Stamp
	stamp.Ordinal = 7
	copied.Ref, copied.Name, copied.InstanceUUID, copied.Stamp = vsphere.VMRef("vm-90"), "copy", "52d6d2c5-9b5b-4b9d-a3c5-7d1f0d9c1a77", &stamp
	o.Gone, o.VMs = []vsphere.Ref{o.VMs[0].Ref}, append(o.VMs[1:3:3], copied)
	s.Quota = &QuotaAnswer{Granted: true}
	s.See(o)
	if got := Decide(s).Plan.Creates(); got != 1 {
		t.Errorf("%d VMs are cloned for one that is lost", got)
	}
}

// TestQuotasThatWereNotAskedLimitAGroup: a policy refuses its spec, and a VM that it released counts when another is
// lost.
func TestQuotasThatWereNotAskedLimitAGroup(t *testing.T) {
	all := []policy.Rule{policy.RuleQuotaVMs, policy.RuleQuotaCPU, policy.RuleQuotaMemory}
	for story, c := range map[string]struct {
		answer  *QuotaAnswer
		limited bool
	}{
		"there is no answer":        {nil, true},
		"a quota limits VMs":        {&QuotaAnswer{Free: all[1:]}, true},
		"no quota holds":            {&QuotaAnswer{Free: all}, false},
		"it is not known which are": {&QuotaAnswer{}, true},
	} {
		s := edited()
		s.Admitted = &v1alpha1.Admitted{Replicas: 3, VMShape: v1alpha1.VMShape{CPU: 1, Memory: 1, Template: "debian"}}
		s.Violations = []policy.Violation{{Rule: policy.RuleTemplateDenied, Enforced: true}}
		o := s.Observation
		o.Gone, o.Released, o.VMs = []vsphere.Ref{o.VMs[0].Ref}, []vsphere.VM{{Ref: vsphere.VMRef("vm-90"), CPU: 1, MemoryMiB: 1024}}, o.VMs[1:]
		s.Quota = nil
		s.See(o)
		if d := s.findings(); !d.Refused() {
			t.Fatal("spec is not refused")
		}
		s.Quota = c.answer
		if n, limited := s.room(s.Group.Spec, nil); limited != c.limited || limited && n != 0 {
			t.Errorf("%s: room for %d, limited %v", story, n, limited)
		}
		if blocked := s.noRoom(s.Group.Spec); (blocked != nil) != c.limited {
			t.Errorf("%s: %+v", story, blocked)
		}
	}
}

// TestACompleteGroupThatIsRefusedCanReplaceAVM: the lost one makes room.
func TestACompleteGroupThatIsRefusedCanReplaceAVM(t *testing.T) {
	s := edited()
	s.Admitted = &v1alpha1.Admitted{Replicas: 3, VMShape: v1alpha1.VMShape{CPU: 1, Memory: 1, Template: "debian"}}
	s.Quota = &QuotaAnswer{}
	s.See(s.Observation)
	if blocked := s.noRoom(s.Group.Spec); blocked != nil {
		t.Error(blocked.Message)
	}
}
