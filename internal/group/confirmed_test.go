package group

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// doomedGroup is a group with a VM, which is deleted.
func doomedGroup() *Snapshot {
	s := leaving()
	s.Group.Status.VMs = []v1alpha1.VMStatus{{Name: "web-0", MoRef: "vm-1", UUID: "uuid"}}
	s.Group.Status.Deleting, s.Quota = []int32{0}, &QuotaAnswer{}
	s.See(vsphere.Observation{Complete: true, VMs: []vsphere.VM{{
		Ref: vsphere.VMRef("vm-1"), Name: "web-0", Connected: true, Power: vsphere.PoweredOn,
		Stamp: &vsphere.Stamp{GroupID: s.ID}, InstanceUUID: "uuid",
	}}})
	return s
}

func TestAGroupWhoseCRDIsDeletedKeepsItsVMsUntilSomebodyConfirms(t *testing.T) {
	definition := func(confirmed string) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{Name: "vmgroups.example", UID: "crd-uid", Annotations: map[string]string{v1alpha1.ConfirmDeletionAnnotation: confirmed}}
	}
	for _, test := range []struct {
		story  string
		answer *DefinitionAnswer
		own    string // what the group's annotation says
		live   bool   // nobody deleted the group
		want   Step
		says   []string
	}{
		{story: "nobody has looked", want: LookAtDefinition},
		{story: "nobody has looked, and the group is confirmed", own: "u", want: Act},
		{story: "nobody has looked, and the group is not deleted", live: true, want: AskQuota},
		{story: "the CRD stays", answer: &DefinitionAnswer{}, want: Act},
		{story: "it cannot be looked at", answer: &DefinitionAnswer{Unread: true}, want: Wait},
		{story: "it goes", answer: &DefinitionAnswer{Going: true, Definition: definition("")}, want: Report, says: []string{
			"kubectl annotate vmgroup web --overwrite vm.codeconnect.vmworld.com/confirm-deletion=u -n team",
			"kubectl annotate crd vmgroups.example --overwrite vm.codeconnect.vmworld.com/confirm-deletion=crd-uid",
		}},
		{story: "it is gone", answer: &DefinitionAnswer{Going: true}, want: Report, says: []string{"kubectl annotate vmgroup web"}},
		{story: "it goes, and the group is confirmed", answer: &DefinitionAnswer{Going: true, Definition: definition("")}, own: "u", want: Act},
		{story: "it goes, and another group is confirmed", answer: &DefinitionAnswer{Going: true, Definition: definition("")}, own: "v", want: Report},
		{story: "it goes, and was confirmed", answer: &DefinitionAnswer{Going: true, Definition: definition("crd-uid")}, want: Act},
		{story: "it goes, and its predecessor was confirmed", answer: &DefinitionAnswer{Going: true, Definition: definition("old-uid")}, want: Report},
	} {
		t.Run(test.story, func(t *testing.T) {
			s := doomedGroup()
			s.Definition = test.answer
			s.Group.Annotations = map[string]string{v1alpha1.ConfirmDeletionAnnotation: test.own}
			if test.live {
				s.Group.DeletionTimestamp, s.Quota = nil, nil
			}
			d := Decide(s)
			if d.Step != test.want {
				t.Fatalf("the step is %s, want %s", d.Step, test.want)
			}
			if test.want == Act && len(d.Plan.Actions) == 0 {
				t.Error("nothing is done")
			}
			if test.want != Act && len(d.Plan.Actions) > 0 {
				t.Errorf("done all the same: %v", d.Plan.Actions)
			}
			if test.want == Wait && d.After == 0 || test.want == Report && d.After != DefinitionInterval {
				t.Errorf("looked at again after %s", d.After)
			}
			if test.want != Report {
				return
			}
			for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionStalled} {
				c := meta.FindStatusCondition(d.Status.Conditions, kind)
				if c == nil || c.Reason != v1alpha1.ReasonCRDTerminating {
					t.Fatalf("%s = %+v", kind, c)
				}
				for _, words := range test.says {
					if !strings.Contains(c.Message, words) {
						t.Errorf("%s does not say %q: %s", kind, words, c.Message)
					}
				}
			}
		})
	}
}

func TestAnObjectWithoutUIDIsNeverConfirmed(t *testing.T) {
	for uid, want := range map[types.UID]bool{"": false, "u": true} {
		object := &metav1.ObjectMeta{UID: uid, Annotations: map[string]string{v1alpha1.ConfirmDeletionAnnotation: string(uid)}}
		if got := v1alpha1.DeletionConfirmed(object); got != want {
			t.Errorf("UID %q: %v", uid, got)
		}
	}
}
