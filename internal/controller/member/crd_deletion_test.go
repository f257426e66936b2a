package member

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
)

func TestTheHubSaysHowManyGroupsAreHeldForTheirCRDAndHowToDecide(t *testing.T) {
	of := counts{groups: 9, vms: 90}
	of.held("team-a", massdeletion.Held{SweptGroups: 3, SweptVMs: 7})
	in := statusInput{name: "team-a", now: testNow, counts: &of}
	status, _ := computeStatus(in)
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionCRDDeletion)
	if c == nil || c.Reason != v1alpha1.ReasonRemovalsHeld || status.HeldGroups != 0 || meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionMassDeletion) != nil {
		t.Fatalf("%+v", status)
	}
	for _, want := range []string{"3 VmGroups with 7 VMs", v1alpha1.ReleaseAnnotation, v1alpha1.AdoptAnnotation, v1alpha1.ConfirmDeletionAnnotation, massdeletion.AllowCommand("team-a")} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("%q is not in %q", want, c.Message)
		}
	}
	if got := sweptMessage(&status); got != of.swept {
		t.Errorf("the same is written again and again: %q", got)
	}
	in.previous, in.counts = status, nil
	if status, _ = computeStatus(in); sweptMessage(&status) != of.swept {
		t.Error("nothing is held any more while groups are not counted")
	}
	in.counts = &counts{groups: 9, vms: 90}
	if status, _ = computeStatus(in); sweptMessage(&status) != "" {
		t.Error("the condition stays")
	}
}
