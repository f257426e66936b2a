package group

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

const goneUID = "5e2f0c6d-1f0a-4c57-9d1e-0a6f3b7c2d11"

func TestOnlyAUIDCanNameAGroupThatIsGone(t *testing.T) {
	for value, is := range map[string]bool{
		goneUID: true, "": false, "both": false, strings.ToUpper(goneUID): false, goneUID + "0": false, goneUID[:35]: false,
		strings.Replace(goneUID, "-", "0", 1): false, strings.Replace(goneUID, "5", "-", 1): false, legacyPrefix + goneUID: false, strings.Replace(goneUID, "5", "ä", 1): false,
	} {
		if isUID(value) != is {
			t.Errorf("%q is taken for a UID: %t", value, !is)
		}
	}
}

func TestConditionAdoptedSaysHowFarTheAdoptionIs(t *testing.T) {
	f := running()
	f.AdoptFrom, f.Adoption = goneUID, &plan.Adoption{From: goneUID}
	said := func() *metav1.Condition {
		f.Old = f.Status()
		return meta.FindStatusCondition(f.Old.Conditions, v1alpha1.ConditionAdopted)
	}
	says := func(status metav1.ConditionStatus, reason, message, adopted string) {
		t.Helper()
		c := said()
		if c == nil || c.Status != status || c.Reason != reason || !strings.Contains(c.Message, message) || f.Old.AdoptedFrom != adopted {
			t.Errorf("said is %+v, adopted from %q", c, f.Old.AdoptedFrom)
		}
	}
	f.Adoption.Waits = &plan.Blocker{Reason: v1alpha1.ReasonAdoptionWaits, Message: "why"}
	says(metav1.ConditionFalse, v1alpha1.ReasonAdoptionWaits, "why", "")
	f.Adoption.Waits, f.Plan.Adopting, f.Plan.LeftToAdopt = nil, 3, 2
	says(metav1.ConditionFalse, v1alpha1.ReasonAdopting, "with UID "+goneUID+": 3 to go, but for 2 VMs that spec.replicas leaves no room for", "")
	f.Plan.Adopting = 0
	says(metav1.ConditionFalse, v1alpha1.ReasonAdopting, "", "") // the end was not reported
	f.AdoptionEnds = true
	says(metav1.ConditionTrue, v1alpha1.ReasonVMsLeft, "raise spec.replicas by 2", goneUID)
	f.AdoptionEnds, f.Plan.LeftToAdopt = false, 0
	says(metav1.ConditionTrue, v1alpha1.ReasonAdoptionEnded, "Nothing is left", goneUID)
	f.Adoption = nil
	says(metav1.ConditionTrue, v1alpha1.ReasonAdoptionEnded, "Nothing is left", goneUID)
	if f.AdoptFrom = ""; said() != nil || f.Old.AdoptedFrom != "" {
		t.Errorf("without the annotation status is %+v", f.Old)
	}
}

func TestEventsTellWhatIsTakenOver(t *testing.T) {
	f := running()
	before := f.Status()
	taking := before.DeepCopy()
	taking.VMs[0].Phase, taking.VMs[0].MoRef, taking.VMs[0].Message = v1alpha1.VMAdopting, "vm-9", `vm-9, called "old-7" in vCenter, is being adopted`
	notes := func(old, next v1alpha1.VmGroupStatus) (all string) {
		for _, e := range Events(old, next) {
			all += e.Reason + ": " + e.Note + "; "
		}
		return all
	}
	if said := notes(before, *taking); !strings.Contains(said, `VMsAdopting: taking over vg-1-0 (vm-9, called "old-7"`) || strings.Contains(said, "VMsCreated") {
		t.Errorf("events are %s", said)
	}
	if said := notes(*taking, *taking); said != "" {
		t.Errorf("events for an unchanged status are %s", said)
	}
	taken := taking.DeepCopy()
	taken.VMs[0].Phase = v1alpha1.VMReady
	if said := notes(*taking, *taken); !strings.Contains(said, "VMsAdopted: took over "+taken.VMs[0].Name) || strings.Contains(said, "VMsCreated") {
		t.Errorf("events are %s", said)
	}
	left := taking.DeepCopy()
	left.VMs = left.VMs[1:]
	if said := notes(*taking, *left); said != "" {
		t.Errorf("events for a VM that is not adopted after all are %s", said)
	}
}
