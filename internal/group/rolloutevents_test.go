package group

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// rolled are the statuses of a group whose VMs are replaced one at a time, each with a successor first.
func rolled(n int) []v1alpha1.VmGroupStatus {
	status := v1alpha1.VmGroupStatus{ObservedGeneration: 1, DesiredReplicas: int32(n), Rollout: &v1alpha1.Rollout{Revision: "a"}}
	for i := range n {
		status.VMs = append(status.VMs, v1alpha1.VMStatus{Name: fmt.Sprint("web-", i), Ordinal: int32(i), MoRef: fmt.Sprint("vm-", i), Revision: "a"})
	}
	all := []v1alpha1.VmGroupStatus{*status.DeepCopy()}
	add := func() { all = append(all, *status.DeepCopy()) }
	status.Rollout = &v1alpha1.Rollout{Revision: "b", From: []string{"a"}}
	add()
	for i := range n {
		old := status.VMs[0]
		status.VMs = append(status.VMs, v1alpha1.VMStatus{Name: fmt.Sprint("web-", n+i), Ordinal: int32(n + i), MoRef: fmt.Sprint("vm-", n+i), Revision: "b"})
		status.UpdatedReplicas++
		add()
		status.Deleting = []int32{old.Ordinal}
		add()
		status.VMs, status.Deleting = status.VMs[1:], nil
		add()
	}
	status.Rollout = &v1alpha1.Rollout{Revision: "b"}
	add()
	return all
}

func TestAnUpdateIsToldInFewEvents(t *testing.T) {
	for _, n := range []int{1, 3, 10, 500} {
		var reasons []string
		var last Event
		statuses := rolled(n)
		for i := range statuses[1:] {
			for _, e := range Events(statuses[i], statuses[i+1]) {
				reasons, last = append(reasons, e.Reason), e
			}
		}
		want := "RolloutStarted" + strings.Repeat(" VMsUpdated", min(n, tenths)) + " RolloutComplete"
		if got := strings.Join(reasons, " "); got != want {
			t.Errorf("%d VMs: %s, want %s", n, got, want)
		}
		if !strings.Contains(last.Note, "revision b") {
			t.Errorf("%d VMs: the last one says %q", n, last.Note)
		}
	}
}

func TestAnUpdateSaysWhichVMsItChanged(t *testing.T) {
	statuses := rolled(3)
	if events := Events(statuses[0], statuses[1]); len(events) != 1 || events[0].Note != "3 VMs are of revision a; VMs are updated to revision b" {
		t.Errorf("it begins with %+v", events)
	}
	if events := Events(statuses[1], statuses[2]); len(events) != 1 || events[0].Note != "1 of 3 VMs are of revision b; new: web-3" {
		t.Errorf("then come %+v", events)
	}
	next := statuses[1].DeepCopy()
	next.VMs[0].Revision, next.VMs[2].Revision, next.UpdatedReplicas = "b", "b", 2
	if events := Events(statuses[1], *next); len(events) != 1 || events[0].Note != "2 of 3 VMs are of revision b; changed: web-0, web-2" {
		t.Errorf("in place: %+v", events)
	}
	// A VM that another user deleted does not count as replaced. One that a scale-down removes
	// after the update is reported as before.
	gone := statuses[1].DeepCopy()
	gone.VMs = gone.VMs[1:]
	if reasons := reasonsOf(Events(statuses[1], *gone)); reasons != "VMsVanished" {
		t.Errorf("a VM that vanished during an update: %s", reasons)
	}
	// Without extra VMs, the new one takes the place of the one that left.
	old := statuses[1].DeepCopy()
	old.Deleting = []int32{0}
	next = old.DeepCopy()
	next.Deleting, next.VMs[0].MoRef, next.VMs[0].Incarnation, next.VMs[0].Revision = nil, "", 1, "b"
	if reasons := reasonsOf(Events(*old, *next)); reasons != "" {
		t.Errorf("a VM whose place is taken: %s", reasons)
	}
	ended := statuses[len(statuses)-1].DeepCopy()
	ended.Deleting = []int32{ended.VMs[0].Ordinal}
	smaller := ended.DeepCopy()
	smaller.VMs, smaller.UpdatedReplicas = smaller.VMs[1:], 2
	if reasons := reasonsOf(Events(*ended, *smaller)); reasons != "VMsRemoved" {
		t.Errorf("a VM that was removed after an update: %s", reasons)
	}
}

// No VM is replaced while an update rests, so a VM that leaves then was surplus.
func TestAScaleDownBesideAnUpdateThatRestsIsTold(t *testing.T) {
	for reason, want := range map[string]string{
		v1alpha1.ReasonRolloutProgressing: "", v1alpha1.ReasonRolloutPaused: "VMsRemoved", v1alpha1.ReasonRolloutStopped: "VMsRemoved", v1alpha1.ReasonRolloutPending: "VMsRemoved",
	} {
		old := rolled(3)[1]
		old.Deleting = []int32{0}
		old.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: reason}}
		next := old.DeepCopy()
		next.VMs, next.Deleting = next.VMs[1:], nil
		if reasons := reasonsOf(Events(old, *next)); reasons != want {
			t.Errorf("%s: %q, want %q", reason, reasons, want)
		}
	}
}
