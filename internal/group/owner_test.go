package group

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// TestNoFolderIsMadeOrRemovedBeforeAWriteOfThisVeryObject: a malicious API server can show a group under any namespace
// and name. A write to that object proves them, and precedes the first change in vCenter.
func TestNoFolderIsMadeOrRemovedBeforeAWriteOfThisVeryObject(t *testing.T) {
	for story, c := range map[string]struct {
		from func() *Snapshot
		then Step
	}{
		"a folder is made":            {ours, MakeFolder},
		"a folder is removed":         {leaving, RemoveFolder},
		"the other group's folder is": {adopted, Act},
	} {
		t.Run(story, func(t *testing.T) {
			s := c.from()
			s.Written, s.Quota = false, &QuotaAnswer{Granted: true}
			d := Decide(s)
			if d.Step != RecordOwner || d.Status == nil || len(d.Plan.Actions) > 0 {
				t.Fatalf("the first step is %s with status %+v", d.Step, d.Status)
			}
			if o := d.Status.Ownership; o == nil || o.Epoch != s.Epoch || !SameButOwnership(s.Group.Status, *d.Status) {
				t.Errorf("it writes %+v", d.Status)
			}
			s.Group.Status, s.Written = *d.Status, true
			if d := Decide(s); d.Step != c.then {
				t.Errorf("the step after the write is %s, want %s", d.Step, c.then)
			}
		})
	}
}

// adopted is a group that has adopted all VMs of another one, not yet in status.
func adopted() *Snapshot {
	s := ours()
	s.Folder = &v1alpha1.FolderStatus{Path: "/x", MoRef: "group-v1"}
	s.Group.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "11111111-2222-3333-4444-555555555555"}
	s.Adoption = AdoptionOf(s.Group)
	s.Adoption.Seen, s.Adoption.Answer = vsphere.Observation{Complete: true}, &AdoptionAnswer{Claimed: true, Receipt: true}
	return s
}

// TestAStatusThatSaysAllAlreadyIsWrittenBeforeTheFirstTask: the API server that shows the group has invented it.
func TestAStatusThatSaysAllAlreadyIsWrittenBeforeTheFirstTask(t *testing.T) {
	s := ours()
	s.Quota, s.FolderMade, s.Folder = &QuotaAnswer{Granted: true}, &Attempt{}, &v1alpha1.FolderStatus{Path: "/x", MoRef: "group-v1"}
	first := Decide(s)
	s.Group.Status = *first.Status
	if d := Decide(s); d.Step != Act || d.Plan.Creates() != 2 || d.Status != nil {
		t.Fatalf("for an object that was written: %s, %d clones, status %+v", d.Step, d.Plan.Creates(), d.Status)
	}
	s.Written = false
	d := Decide(s)
	if d.Step != Act || d.Plan.Creates() != 2 || d.Status == nil {
		t.Fatalf("for one that was not: %s, %d clones, status %+v", d.Step, d.Plan.Creates(), d.Status)
	}
	if !equality.Semantic.DeepEqual(*d.Status, s.Group.Status) {
		t.Errorf("it writes %+v", d.Status)
	}
	s.Paused = &plan.Blocker{Reason: v1alpha1.ReasonPaused}
	s.Group.Status = *Decide(s).Status
	if d := Decide(s); d.Status != nil {
		t.Errorf("a group for which nothing is done is written again: %+v", d.Status)
	}
}
