package group

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// writes runs a pass each second, and counts those that write status.
func writes(s *Snapshot, passes int) (n int) {
	for range passes {
		if d := Decide(s); d.Status != nil {
			n++
			s.Group.Status = *d.Status
		}
		s.Now = s.Now.Add(time.Second)
	}
	return n
}

// A paused group removes nothing, so no time limit runs for it.
func TestAPausedGroupThatIsScaledToZeroWritesItsStatusOnce(t *testing.T) {
	for name, change := range map[string]func(*Snapshot){
		"the group is paused": func(s *Snapshot) {
			s.Paused = &plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: "spec.paused is true."}
		},
		"its member is paused": func(s *Snapshot) {
			s.Paused = &plan.Blocker{Reason: v1alpha1.ReasonMemberPaused, Message: "The member is paused."}
		},
		"its VMs are another installation's": func(s *Snapshot) {
			for i := range s.Observation.VMs {
				s.Observation.VMs[i].Stamp.Installation = "another"
			}
			s.ID.Installation = "this"
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := edited(func(spec *v1alpha1.VmGroupSpec) { spec.Replicas = ptr.To[int32](0) })
			s.Now = noon.Add(2 * time.Hour)
			s.MassDeletion = MassDeletion{Rules: massdeletion.DefaultRules()}
			change(s)
			if n := writes(s, 60); n > 2 {
				t.Errorf("%d writes in a minute: %+v", n, s.Group.Status.Conditions)
			}
			upToDate := meta.FindStatusCondition(s.Group.Status.Conditions, v1alpha1.ConditionUpToDate)
			if s.Paused != nil && upToDate.Reason != v1alpha1.ReasonRolloutPaused {
				t.Errorf("of the update it says %s: %s", upToDate.Reason, upToDate.Message)
			}
			if strings.Contains(upToDate.Message, "Otherwise they go then") {
				t.Errorf("VMs that stay are said to go: %s", upToDate.Message)
			}
		})
	}
}

// resting is a group of two VMs and one added by an update that rests.
func resting(change func(*Facts)) Facts {
	f := running()
	f.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{Paused: true}
	f.Plan.Existing, f.Plan.Surge, f.Plan.Ready, f.Plan.Settled = 3, 1, 1, false
	f.Plan.Update = plan.Update{Reason: v1alpha1.ReasonRolloutPaused, Message: "1 of 2 VMs updated; spec.updateStrategy.paused is true."}
	f.Plan.VMs[1].Phase, f.Plan.VMs[1].Available, f.Plan.VMs[1].Message = v1alpha1.VMUnhealthy, false, "vm-2 has no green heartbeat from VMware Tools"
	f.Plan.VMs = append(f.Plan.VMs, plan.VMStatus{Ordinal: 2, Name: "vg-1-2", MoRef: "vm-3", UUID: "u2", Phase: v1alpha1.VMReady, Revision: "1-b", ReadySince: noon, Available: true})
	change(&f)
	return f
}

// Ready names what the group waits for.
func TestAGroupSaysWhatItWaitsFor(t *testing.T) {
	taken := plan.Blocker{Reason: v1alpha1.ReasonNameConflict, Message: "The name vg-1-0 in the group's folder is taken by vm-9.", Remark: true}
	for name, c := range map[string]struct {
		facts        Facts
		reason, says string
	}{
		"guests are sick while an update rests": {resting(func(*Facts) {}), v1alpha1.ReasonStarting, "vg-1-1: vm-2 has no green heartbeat"},
		"one is too many while an update rests": {resting(func(f *Facts) { f.Plan.Existing, f.Plan.Doomed = 4, []int32{3} }), v1alpha1.ReasonScalingDown, "removing 1"},
		"a name is taken, and a guest is sick": {resting(func(f *Facts) { f.Plan.Blockers = []plan.Blocker{taken} }),
			v1alpha1.ReasonStarting, "has no green heartbeat from VMware Tools; The name vg-1-0"},
		"a name is taken, and VMs are cloned": {resting(func(f *Facts) { f.Plan.Blockers, f.Plan.Existing = []plan.Blocker{taken}, 1 }), v1alpha1.ReasonScalingUp, "1 of 2 VMs"},
		"a name is taken, and an update continues": {resting(func(f *Facts) {
			f.Plan.Blockers = []plan.Blocker{taken}
			f.Plan.Update = plan.Update{Reason: v1alpha1.ReasonRolloutProgressing, Message: "1 of 2 VMs updated; cloning vg-1-2."}
		}), v1alpha1.ReasonRolloutProgressing, "cloning vg-1-2"},
		"a name is taken, and a template is missing": {resting(func(f *Facts) {
			f.Plan.Blockers = []plan.Blocker{taken, {Reason: v1alpha1.ReasonTemplateNotFound, Message: "There is no template."}}
		}), v1alpha1.ReasonTemplateNotFound, "There is no template"},
		"a clone of a paused group runs": {resting(func(f *Facts) {
			paused := plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: "spec.paused is true."}
			f.Paused, f.Plan = &paused, plan.Plan{Blockers: []plan.Blocker{paused}, VMs: []plan.VMStatus{{Name: "vg-1-0", Phase: v1alpha1.VMCloning}}}
		}), v1alpha1.ReasonPaused, "spec.paused is true."},
	} {
		t.Run(name, func(t *testing.T) {
			status := c.facts.Status()
			ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
			if ready.Status != "False" || ready.Reason != c.reason || !strings.Contains(ready.Message, c.says) {
				t.Errorf("Ready is %s/%s: %s", ready.Status, ready.Reason, ready.Message)
			}
		})
	}
}
