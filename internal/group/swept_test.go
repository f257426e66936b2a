package group

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// doomedGroup is a deleted group with a VM.
func doomedGroup() *Snapshot {
	s := leaving()
	s.Group.Status.VMs = []v1alpha1.VMStatus{{Name: "web-0", MoRef: "vm-1", UUID: "uuid"}}
	s.Group.Status.Deleting, s.Quota = []int32{0}, &QuotaAnswer{Granted: true}
	s.See(vsphere.Observation{Complete: true, VMs: []vsphere.VM{{
		Ref: vsphere.VMRef("vm-1"), Name: "web-0", Connection: vsphere.Connected, Power: vsphere.PoweredOn,
		Stamp: &vsphere.Stamp{GroupID: s.ID}, InstanceUUID: "uuid",
	}}})
	return s
}

// definition is a CRD created this long after the deletion of the group, or before it.
func definition(created time.Duration, changes ...func(*metav1.ObjectMeta)) *DefinitionAnswer {
	crd := &metav1.ObjectMeta{Name: "vmgroups.example", UID: "crd-uid", CreationTimestamp: metav1.NewTime(noon.Add(created))}
	for _, change := range changes {
		change(crd)
	}
	return &DefinitionAnswer{Definition: crd}
}

func terminating(crd *metav1.ObjectMeta) { crd.DeletionTimestamp = &metav1.Time{Time: noon} }

func confirmedAs(uid string) func(*metav1.ObjectMeta) {
	return func(crd *metav1.ObjectMeta) {
		crd.Annotations = map[string]string{v1alpha1.ConfirmDeletionAnnotation: uid}
	}
}

// remembersSweep has a status that reports the group as held.
func remembersSweep(s *Snapshot) {
	meta.SetStatusCondition(&s.Group.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionRemoving, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCRDTerminating})
}

func TestStoredFactsDecideWhetherAGroupWasDeletedWithItsCRD(t *testing.T) {
	const before, after = -time.Hour, time.Minute
	nothing := func(*Snapshot) {}
	from := func(created time.Time) func(*Snapshot) {
		return func(s *Snapshot) { s.Group.CreationTimestamp = metav1.NewTime(created) }
	}
	annotated := func(uid string) func(*Snapshot) {
		return func(s *Snapshot) { s.Group.Annotations = map[string]string{v1alpha1.ConfirmDeletionAnnotation: uid} }
	}
	for _, test := range []struct {
		story  string
		answer *DefinitionAnswer
		change func(*Snapshot)
		want   Step // Report represents an Act that keeps the VMs
		says   []string
	}{
		{"the CRD was not read", nil, nothing, ReadDefinition, nil},
		{"the CRD was not read, and status says held", nil, remembersSweep, ReadDefinition, nil},
		{"the CRD was not read, and the group is confirmed", nil, annotated("u"), Act, nil},
		{"the CRD was not read, and the group lives", nil, func(s *Snapshot) { s.Group.DeletionTimestamp, s.Quota = nil, nil }, AskQuota, nil},
		{"the read failed", &DefinitionAnswer{Unread: true}, nothing, Wait, nil},
		{"the read is forbidden", &DefinitionAnswer{}, nothing, Act, nil},
		{"the read is forbidden, and status says held", &DefinitionAnswer{}, remembersSweep, Report, nil},
		{"the CRD is older than the deletion", definition(before), nothing, Act, nil},
		{"the CRD was restored as it was, and status says held", definition(before), remembersSweep, Report, nil},
		{"the CRD is younger than the deletion", definition(after), nothing, Report, []string{
			"kubectl annotate vmgroup web -n team --overwrite vm.codeconnect.vmworld.com/release=u",
			"kubectl annotate vmgroup web -n team --overwrite vm.codeconnect.vmworld.com/confirm-deletion=u",
			"kubectl annotate namespace team --overwrite vm.codeconnect.vmworld.com/confirm-deletion=uid-of-team",
			"kubectl annotate membercluster local vm.codeconnect.vmworld.com/allow-mass-deletion-until=",
		}},
		{"the CRD was created in the second of the deletion", definition(0), nothing, Report, nil},
		{"the group was created with the CRD, by a clock that is ahead", definition(after), func(s *Snapshot) {
			s.Group.CreationTimestamp = metav1.NewTime(noon.Add(after + time.Second))
		}, Act, nil},
		{"an API server still deleted groups when the CRD was back", definition(-20 * time.Second), from(noon.Add(-time.Hour)), Report, []string{
			"kubectl annotate vmgroup web -n team --overwrite vm.codeconnect.vmworld.com/release=u",
		}},
		{"a group from before the CRD was deleted long after the CRD was back", definition(-11 * time.Minute), from(noon.Add(-time.Hour)), Act, nil},
		{"a group of a new member was deleted at once", definition(-20 * time.Second), from(noon.Add(-15 * time.Second)), Act, nil},
		{"it was created with the CRD, by a clock that is behind", definition(-20 * time.Second), from(noon.Add(-70 * time.Second)), Act, nil},
		{"the CRD is being deleted", definition(before, terminating), nothing, Report, []string{
			"kubectl annotate vmgroup web -n team --overwrite vm.codeconnect.vmworld.com/confirm-deletion=u",
			"kubectl annotate crd vmgroups.example --overwrite vm.codeconnect.vmworld.com/confirm-deletion=crd-uid",
		}},
		{"the CRD does not exist", &DefinitionAnswer{Missing: true}, nothing, Report, []string{"kubectl annotate vmgroup web"}},
		{"the CRD is being deleted, and the group is confirmed", definition(before, terminating), annotated("u"), Act, nil},
		{"the CRD is being deleted, and another group is confirmed", definition(before, terminating), annotated("v"), Report, []string{`is "v", which is the UID of another object`}},
		{"the CRD is being deleted, and that is confirmed", definition(before, terminating, confirmedAs("crd-uid")), remembersSweep, Act, nil},
		{"the CRD is being deleted, and its predecessor was confirmed", definition(before, terminating, confirmedAs("old-uid")), nothing, Report, nil},
		{"the CRD is back with the confirmation of the one before", definition(after, confirmedAs("crd-uid")), nothing, Report, nil},
		{"the CRD is back, and the group is confirmed", definition(after), func(s *Snapshot) { remembersSweep(s); annotated("u")(s) }, Act, nil},
		{"the CRD is back, and the namespace is confirmed", definition(after), func(s *Snapshot) {
			remembersSweep(s)
			s.MassDeletion.NamespaceConfirms = "uid-of-team"
		}, Act, nil},
		{"the CRD is back, and the hub allows it", definition(after), func(s *Snapshot) {
			remembersSweep(s)
			s.MassDeletion.AllowedUntil = noon.Add(time.Minute)
		}, Act, nil},
		{"the CRD is back, and the hub allows it later", definition(after), func(s *Snapshot) { s.MassDeletion.AllowedUntil = noon.Add(2 * time.Hour) }, Report, nil},
		{"the CRD is back, and mass deletions are not limited", definition(after), func(s *Snapshot) { s.MassDeletion.Limit = unlimited() }, Report, nil},
		{"status says that a group is held that is not deleted", definition(before), func(s *Snapshot) {
			remembersSweep(s)
			s.Group.DeletionTimestamp, s.Quota = nil, nil
		}, AskQuota, nil},
	} {
		t.Run(test.story, func(t *testing.T) {
			s := doomedGroup()
			s.Definition, s.MassDeletion.NamespaceUID = test.answer, "uid-of-team"
			test.change(s)
			d := Decide(s)
			want := test.want
			if want == Report {
				want = Act
			}
			if d.Step != want {
				t.Fatalf("the step is %s, want %s", d.Step, want)
			}
			if destroys := len(d.Plan.Actions) > 0; destroys != (test.want == Act) {
				t.Errorf("done is %v", d.Plan.Actions)
			}
			if test.want == Wait && d.After == 0 || test.answer.Going() && test.want == Report && d.After != DefinitionInterval {
				t.Errorf("the group is enqueued again after %s", d.After)
			}
			if test.want == Report {
				isSwept(t, d.Status, test.says...)
			}
		})
	}
}

func unlimited() massdeletion.Limit {
	return massdeletion.LimitOf(ptr.To(intstr.FromString("100%")))
}

// isSwept checks that a status reports and remembers that the group is held.
func isSwept(t *testing.T, status *v1alpha1.VmGroupStatus, says ...string) {
	t.Helper()
	if status == nil {
		t.Fatal("no status is written")
	}
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionStalled, v1alpha1.ConditionRemoving} {
		c := meta.FindStatusCondition(status.Conditions, kind)
		if c == nil || c.Reason != v1alpha1.ReasonCRDTerminating {
			t.Fatalf("%s = %+v", kind, c)
		}
		for _, words := range says {
			if !strings.Contains(c.Message, words) {
				t.Errorf("%s does not say %q: %s", kind, words, c.Message)
			}
		}
	}
}

// Regardless of other obstacles, the group's status continues to report that it is held, and a new
// CRD as it was before the deletion destroys nothing.
func TestNoStatusThatIsWrittenLaterForgetsThatAGroupWasHeldForItsCRD(t *testing.T) {
	away := func(reason string) func(*Snapshot) {
		return func(s *Snapshot) {
			s.Unavailable = &plan.Blocker{Reason: reason, Message: "away"}
			s.See(vsphere.Observation{Incomplete: "away"})
		}
	}
	for story, change := range map[string]func(*Snapshot){
		"the group is paused":        func(s *Snapshot) { s.Paused = &plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: "paused"} },
		"the vCenter is unreachable": away(v1alpha1.ReasonVCenterUnreachable),
		"the VCenter is deleted":     away(v1alpha1.ReasonVCenterNotFound),
		"it is another vCenter":      away(v1alpha1.ReasonAnotherVCenter),
		"annotation forget is set": func(s *Snapshot) {
			away(v1alpha1.ReasonVCenterUnreachable)(s)
			s.Group.Annotations = map[string]string{v1alpha1.ForgetAnnotation: "u"}
		},
		"a former operator has it": func(s *Snapshot) { s.Group.Finalizers = append(s.Group.Finalizers, v1alpha1.LegacyFinalizer) },
		"the epoch is ahead": func(s *Snapshot) {
			s.Group.Status.Ownership = &v1alpha1.Ownership{Epoch: v1alpha1.Epoch{Generation: 1 << 40}}
		},
		"another installation has it": func(s *Snapshot) { s.Observation.VMs[0].Stamp.Installation = "another"; s.See(s.Observation) },
		"a VM is not read":            func(s *Snapshot) { s.Observation.Unread = []vsphere.VM{{Ref: vsphere.VMRef("vm-9")}} },
		"it is young":                 func(s *Snapshot) { s.Group.CreationTimestamp = metav1.NewTime(noon) },
	} {
		t.Run(story, func(t *testing.T) {
			s := doomedGroup()
			s.OutOfSight = noon.Add(-time.Minute)
			s.Definition = definition(-time.Hour, terminating)
			change(s)
			for _, when := range []string{"while the CRD is being deleted", "when it is there as it was"} {
				d := Decide(s)
				if len(d.Plan.Actions) > 0 {
					t.Errorf("%s: done is %v", when, d.Plan.Actions)
				}
				if d.Status == nil {
					t.Fatalf("%s: the step is %s, and writes no status", when, d.Step)
				}
				if c := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionRemoving); c == nil || c.Reason != v1alpha1.ReasonCRDTerminating {
					t.Errorf("%s: status does not say that it is held: %+v", when, c)
				}
				s.Group.Status.Conditions = d.Status.Conditions
				s.Definition = definition(-time.Hour)
			}
		})
	}
}

// A group held for its CRD destroys nothing, so it neither counts toward a mass deletion nor waits for one.
func TestAGroupThatIsHeldForItsCRDIsNoMassDeletion(t *testing.T) {
	s := doomedGroup()
	remembersSweep(s)
	own := massdeletion.Of(s.Group)
	if !own.Spared || !own.Swept || own.Held {
		t.Errorf("%+v", own)
	}
	s.Definition = definition(-time.Hour, terminating, confirmedAs("crd-uid"))
	s.MassDeletion.Rules, s.MassDeletion.Trips = massdeletion.DefaultRules(), true
	s.Group.CreationTimestamp = metav1.NewTime(noon.Add(-2 * time.Hour))
	for range 2 { // and status does not report any more that it is held
		d := Decide(s)
		if len(d.Plan.Actions) == 0 {
			t.Fatalf("a CRD whose deletion is confirmed needs another confirmation: %+v", d.Plan.Blockers)
		}
		s.Group.Status.Conditions = d.Status.Conditions
	}
	s.Group.DeletionTimestamp = nil
	if own = massdeletion.Of(s.Group); own.Spared || own.Swept {
		t.Errorf("a forged status hides what leaves of a group that is not deleted: %+v", own)
	}
}

// It has no VMs left, so no decision is needed.
func TestAGroupWithoutVMsGoesWithItsCRD(t *testing.T) {
	s := leaving()
	s.Quota, s.Definition = &QuotaAnswer{Granted: true}, definition(time.Minute)
	if d := Decide(s); d.Step != RemoveFolder {
		t.Errorf("the step is %s: %+v", d.Step, d.Status)
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
