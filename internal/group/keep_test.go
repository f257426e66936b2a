package group

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// asking is a deleted group with an annotated VM.
func asking(annotation, value string) *Snapshot {
	s := doomedGroup()
	s.Group.Annotations = map[string]string{annotation: value}
	return s
}

func TestAGroupIsReleasedByItsOwnUIDAndOnlyWhileItIsDeleted(t *testing.T) {
	for story, c := range map[string]struct {
		value  string
		change func(*Snapshot)
		want   Step
	}{
		"its own UID": {"u", func(*Snapshot) {}, WriteReceipt},
		"it is not deleted": {"u", func(s *Snapshot) {
			s.Group.DeletionTimestamp, s.Group.Status.Deleting, *s.Group.Spec.Replicas = nil, nil, 1
		}, Act},
		"its CRD goes": {"u", func(s *Snapshot) { s.Definition = &DefinitionAnswer{Missing: true} }, WriteReceipt},
		"it is unknown whether its CRD is deleted": {"u", func(s *Snapshot) { s.Definition = nil }, WriteReceipt},
		"a mass deletion is under way": {"u", func(s *Snapshot) {
			s.MassDeletion = MassDeletion{Rules: massdeletion.DefaultRules(), Trips: true}
			s.Group.CreationTimestamp = metav1.NewTime(noon.Add(-2 * time.Hour))
		}, WriteReceipt},
		"it is paused": {"u", func(s *Snapshot) { s.Paused = &plan.Blocker{Reason: v1alpha1.ReasonPaused} }, Act},
		"what is in its folder is not known": {"u", func(s *Snapshot) {
			s.Observation.Unread = []vsphere.VM{{Ref: vsphere.VMRef("vm-9"), Name: "web-7"}}
		}, Report},
		"the receipt is written":        {"u", func(s *Snapshot) { s.Receipt = &ReceiptAnswer{} }, Release},
		"the receipt cannot be written": {"u", func(s *Snapshot) { s.Receipt = &ReceiptAnswer{Err: errors.New("full")} }, Report},
	} {
		t.Run(story, func(t *testing.T) {
			s := asking(v1alpha1.ReleaseAnnotation, c.value)
			c.change(s)
			d := Decide(s)
			if d.Step != c.want {
				t.Fatalf("the step is %s, want %s", d.Step, c.want)
			}
			if len(d.Plan.Actions) > 0 {
				t.Errorf("done: %v", d.Plan.Actions)
			}
			if c.want == WriteReceipt && (len(d.Receipt.VMs) != 1 || d.Receipt.VMs[0].MoRef != "vm-1" || d.Receipt.Forgotten) {
				t.Errorf("the receipt is %+v", d.Receipt)
			}
			if c.want == Release && (len(d.Events) != 1 || d.Events[0].Reason != "VMsKept" || !strings.Contains(d.Events[0].Note, "web-0 (vm-1)")) {
				t.Errorf("events are %+v", d.Events)
			}
		})
	}
}

func TestAReceiptThatCannotBeWrittenIsTold(t *testing.T) {
	s := asking(v1alpha1.ReleaseAnnotation, "u")
	s.Receipt = &ReceiptAnswer{Err: errors.New("no space left")}
	d := Decide(s)
	if c := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionReady); c.Reason != v1alpha1.ReasonReceiptFailed || !strings.Contains(c.Message, "no space left") || d.After != RetryInterval {
		t.Errorf("%+v, again after %s", c, d.After)
	}
}

func TestWhatStaysIsChargedAndWhatIsForgottenIsNot(t *testing.T) {
	s := asking(v1alpha1.ReleaseAnnotation, "u")
	s.Observation.VMs[0].CPU, s.Observation.VMs[0].MemoryMiB = 3, 2048
	s.See(s.Observation)
	for want, answer := range map[policy.Usage]*ReceiptAnswer{
		{}:                          {Receipt: Receipt{Forgotten: true}},
		{VMs: 1, CPU: 3, Memory: 2}: {},
	} {
		if s.Receipt = answer; s.Leaves() != want {
			t.Errorf("%+v is charged, want %+v", s.Leaves(), want)
		}
	}
	if s.Receipt = nil; s.Leaves() != (policy.Usage{}) {
		t.Error("a VM that is not kept stays charged")
	}
}

// A group with release destroys nothing, so it does not count, but only once it is deleted.
func TestAReleasedGroupDoesNotCountAsRemoval(t *testing.T) {
	s := asking(v1alpha1.ReleaseAnnotation, "u")
	if !massdeletion.Of(s.Group).Spared {
		t.Error("it counts")
	}
	s.Group.DeletionTimestamp = nil
	if massdeletion.Of(s.Group).Spared {
		t.Error("a group that may shrink does not count")
	}
	for _, annotation := range []string{v1alpha1.ReleaseAnnotation, v1alpha1.ForgetAnnotation} {
		for _, value := range []string{"u", "v"} {
			if s = asking(annotation, value); !massdeletion.Of(s.Group).Spared {
				t.Errorf("a group that is held for %s=%s counts", annotation, value)
			}
		}
	}
}

func TestWhatAForgottenGroupNeeds(t *testing.T) {
	unreachable := func(s *Snapshot) {
		s.Unavailable = &plan.Blocker{Reason: v1alpha1.ReasonVCenterUnreachable, Message: "away"}
		s.See(vsphere.Observation{Incomplete: "away"})
	}
	gone := func(s *Snapshot) {
		unreachable(s)
		s.Unavailable.Reason, s.Lost.Deleted = v1alpha1.ReasonVCenterNotFound, true
	}
	another := func(s *Snapshot) {
		unreachable(s)
		s.Unavailable.Reason = v1alpha1.ReasonAnotherVCenter
	}
	for story, c := range map[string]struct {
		vcenter func(*Snapshot)
		lost    Loss
		value   string
		want    Step
		says    string
		after   time.Duration
	}{
		"a day, and a word":                  {unreachable, Loss{Since: noon.Add(-ForgetAfter), AllowedUntil: noon.Add(time.Hour)}, "u", WriteReceipt, "", 0},
		"a deleted VCenter, and a word":      {gone, Loss{Deleted: true, AllowedUntil: noon.Add(time.Minute)}, "u", WriteReceipt, "", 0},
		"the UID of another":                 {gone, Loss{Deleted: true, AllowedUntil: noon.Add(time.Minute)}, "v", Act, "", 0},
		"less than a day":                    {unreachable, Loss{Since: noon.Add(time.Minute - ForgetAfter), AllowedUntil: noon.Add(time.Hour)}, "u", Report, "not forgotten before", time.Minute},
		"the start of the outage is unknown": {unreachable, Loss{AllowedUntil: noon.Add(time.Hour)}, "u", Report, "condition Reachable", unwatchedInterval},
		"no word":                            {unreachable, Loss{Since: noon.Add(-ForgetAfter)}, "u", Report, "kubectl annotate vcenter default vm.codeconnect.vmworld.com/allow-forget-until=", unwatchedInterval},
		"a word that is over":                {unreachable, Loss{Since: noon.Add(-ForgetAfter), AllowedUntil: noon}, "u", Report, "kubectl annotate vcenter", unwatchedInterval},
		"a word for later":                   {unreachable, Loss{Since: noon.Add(-ForgetAfter), AllowedUntil: noon.Add(61 * time.Minute)}, "u", Report, "more than an hour ahead", time.Minute},
		"no word about a deleted VCenter":    {gone, Loss{Deleted: true}, "u", Report, "kubectl annotate membercluster local vm.codeconnect.vmworld.com/allow-forget-until=", unwatchedInterval},
		"VMs in another VCenter":             {gone, Loss{Deleted: true, AllowedUntil: noon.Add(time.Minute), SeenIn: "vc2"}, "u", Report, `VCenter "vc2" has VMs`, unwatchedInterval},
		"another VCenter is unreachable": {gone, Loss{Deleted: true, AllowedUntil: noon.Add(time.Minute), Hidden: []Hidden{{VCenter: "vc2", Since: noon.Add(time.Minute - ForgetAfter)}}}, "u", Report,
			`the inventory of VCenter "vc2" is not known, so that it can have VMs of the group. Wait until its inventory is complete, or ask a hub administrator to delete that VCenter on the hub if it is not used any more. If it stays unreachable, it counts as gone for good at 2026-01-02T12:01:00Z`, unwatchedInterval},
		"another VCenter is read anew": {unreachable, Loss{Since: noon.Add(-ForgetAfter), AllowedUntil: noon.Add(time.Hour), Hidden: []Hidden{{VCenter: "vc2"}}}, "u", Report,
			`the inventory of VCenter "vc2" is not known`, unwatchedInterval},
		"one that the group may not use": {gone, Loss{Deleted: true, AllowedUntil: noon.Add(time.Minute), Hidden: []Hidden{{}}}, "u", Report,
			"the inventory of another VCenter, which this group may not use, is not known", unwatchedInterval},
		"another VCenter is lost permanently, too": {gone, Loss{Deleted: true, AllowedUntil: noon.Add(time.Minute), Hidden: []Hidden{{VCenter: "vc2", Since: noon.Add(-ForgetAfter)}}}, "u", WriteReceipt, "", 0},
		"one of two is lost permanently": {gone, Loss{Deleted: true, AllowedUntil: noon.Add(time.Minute), Hidden: []Hidden{{VCenter: "vc2", Since: noon.Add(-ForgetAfter)}, {VCenter: "vc3"}}}, "u", Report,
			`the inventory of VCenter "vc3"`, unwatchedInterval},
		"another vCenter by that name": {another, Loss{Since: noon.Add(-ForgetAfter), AllowedUntil: noon.Add(time.Hour)}, "u", Act, "", 0},
		"a vCenter that answers":       {func(*Snapshot) {}, Loss{Since: noon.Add(-ForgetAfter), AllowedUntil: noon.Add(time.Hour)}, "u", Act, "", 0},
	} {
		t.Run(story, func(t *testing.T) {
			s := asking(v1alpha1.ForgetAnnotation, c.value)
			c.vcenter(s)
			s.Lost = c.lost
			d := Decide(s)
			if d.Step != c.want {
				t.Fatalf("the step is %s, want %s", d.Step, c.want)
			}
			if c.want == WriteReceipt && (!d.Receipt.Forgotten || len(d.Receipt.VMs) != 1 || d.Receipt.VMs[0] != ReceiptVM{Name: "web-0", MoRef: "vm-1", UUID: "uuid"}) {
				t.Errorf("the receipt is %+v", d.Receipt)
			}
			if c.want != Report {
				return
			}
			is := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionStalled)
			if is == nil || is.Reason != v1alpha1.ReasonForgetHeld || !strings.Contains(is.Message, c.says) || !strings.HasPrefix(is.Message, "away. ") || d.After != c.after {
				t.Errorf("%+v, again after %s", is, d.After)
			}
		})
	}
}
