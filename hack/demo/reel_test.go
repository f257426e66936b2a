//go:build unix

package main

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// state is a status of group vg-1 with one VM.
func state(phase v1alpha1.VMPhase, reason string) row {
	group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Name: "vg-1"}}
	group.Status.VMs = []v1alpha1.VMStatus{{Phase: phase}}
	group.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: reason}}
	return newRow("team-a", group)
}

func TestTroubleThatIsOverInAnInstantIsShownForAGlance(t *testing.T) {
	r, now := newReel(), time.Unix(1000, 0)
	shown := func(after time.Duration) string {
		rows := r.show(now.Add(after))
		if len(rows) != 1 {
			t.Fatalf("%d groups are shown, want 1", len(rows))
		}
		return rows[0].vms + " " + rows[0].reason
	}
	r.put(state(v1alpha1.VMReady, v1alpha1.ReasonAllVMsReady))
	if got := shown(0); got != "0:Ready " {
		t.Errorf("%q is shown before anything happens", got)
	}
	// All of these states occur between two redraws.
	r.put(state(v1alpha1.VMLost, v1alpha1.ReasonStarting))
	r.put(state(v1alpha1.VMCloning, v1alpha1.ReasonRepairing))
	r.put(state(v1alpha1.VMStarting, v1alpha1.ReasonRepairing))
	r.put(state(v1alpha1.VMReady, v1alpha1.ReasonAllVMsReady))
	for _, c := range []struct {
		after time.Duration
		want  string
	}{
		{200 * time.Millisecond, "0:Lost " + v1alpha1.ReasonStarting},
		{200*time.Millisecond + glance - 1, "0:Lost " + v1alpha1.ReasonStarting},
		{200*time.Millisecond + glance, "0:Starting " + v1alpha1.ReasonRepairing}, // cloning is not other trouble, and had ended
		{200*time.Millisecond + 2*glance - 1, "0:Starting " + v1alpha1.ReasonRepairing},
	} {
		if got := shown(c.after); got != c.want {
			t.Errorf("after %s %q is shown, want %q", c.after, got, c.want)
		}
		if !r.behind() {
			t.Errorf("after %s there is said to be nothing left to show", c.after)
		}
	}
	if got := shown(200*time.Millisecond + 2*glance); got != "0:Ready " || r.behind() {
		t.Errorf("%q is shown in the end, more to show: %v", got, r.behind())
	}
}

func TestOrdinaryWorkIsShownAsItIsNow(t *testing.T) {
	r, now := newReel(), time.Unix(1000, 0)
	for _, phase := range []v1alpha1.VMPhase{v1alpha1.VMPending, v1alpha1.VMCloning, v1alpha1.VMStarting} {
		r.put(state(phase, v1alpha1.ReasonScalingUp))
		if got := r.show(now)[0].vms; got != "0:"+string(phase) || r.behind() {
			t.Errorf("%q is shown of a VM that is %s", got, phase)
		}
	}
}

func TestTroubleThatLastsIsShownAsItGoesOn(t *testing.T) {
	r, now := newReel(), time.Unix(1000, 0)
	for i, phase := range []v1alpha1.VMPhase{v1alpha1.VMPending, v1alpha1.VMCloning, v1alpha1.VMStarting} {
		r.put(state(phase, v1alpha1.ReasonRepairing))
		if got := r.show(now.Add(time.Duration(i) * time.Millisecond))[0].vms; got != "0:"+string(phase) {
			t.Errorf("%q is shown of a VM that is %s in a repair", got, phase)
		}
	}
	r.put(state(v1alpha1.VMReady, v1alpha1.ReasonAllVMsReady))
	if got := r.show(now.Add(glance))[0].vms; got != "0:Ready" {
		t.Errorf("%q is shown after a repair that was seen for a glance", got)
	}
}

func TestGroupsThatAreGoneAreNotShown(t *testing.T) {
	r, now := newReel(), time.Unix(1000, 0)
	r.put(state(v1alpha1.VMLost, v1alpha1.ReasonRepairing))
	r.keep("team-b", nil)
	if len(r.show(now)) != 1 {
		t.Error("a list of another member's groups took this one away")
	}
	r.remove("team-a", "vg-1")
	if len(r.show(now)) != 0 || r.behind() {
		t.Error("a group that was deleted is still shown")
	}
	r.put(state(v1alpha1.VMReady, v1alpha1.ReasonAllVMsReady))
	r.keep("team-a", nil)
	if len(r.show(now)) != 0 {
		t.Error("a group that its member does not list is still shown")
	}
}
