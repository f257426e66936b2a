//go:build unix

package crash

import (
	"maps"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const updatedFolder = "/DC0/vm/vm-operator/local/t-1"

// ofRevision is a VM of a group, at its path.
func ofRevision(t *testing.T, vms map[string]sim.VM, ref, name, revision string, cpu int32) {
	t.Helper()
	v := vm(t, ref, "uid")
	v.Path, v.CPU, v.Extra[inventory.KeyRevision] = updatedFolder+"/vg.x/"+name, cpu, revision
	vms[v.Path] = v
}

func called(method, ref, outcome string) sim.Record {
	return sim.Record{Call: sim.Call{Kind: sim.Kind{Method: method}, Object: ref, Group: "uid"}, Outcome: outcome}
}

// wrongs checks that the judge accepts a correct state, and detects each change of it.
func wrongs(t *testing.T, good func() evidence, changes map[string]struct {
	change func(*evidence)
	says   string
}) {
	t.Helper()
	if wrong := judge(good()); len(wrong) != 0 {
		t.Fatalf("all is well, and the judge says %q", wrong)
	}
	for name, c := range changes {
		e := good()
		c.change(&e)
		if wrong := strings.Join(judge(e), "; "); !strings.Contains(wrong, c.says) {
			t.Errorf("%s: the judge says %q, want %q", name, wrong, c.says)
		}
	}
}

// TestTheJudgeSeesWhatIsWronglyReplaced: see TestTheJudgeSeesEveryWrong.
func TestTheJudgeSeesWhatIsWronglyReplaced(t *testing.T) {
	good := func() evidence {
		before, after := map[string]sim.VM{}, map[string]sim.VM{}
		ofRevision(t, before, "vm-10", "vg-0", "1-old", 1)
		ofRevision(t, after, "vm-11", "vg-1", "1-new", 1)
		return evidence{
			scenario: Scenario{Before: 1, After: 1, Replaced: true}, group: "vg", uids: []string{"uid"}, folder: updatedFolder, before: before, after: after,
			changes: []sim.Record{
				called("CloneVM_Task", "vm-2", "ok"), called("PowerOnVM_Task", "vm-11", "ok"), called("ShutdownGuest", "vm-10", "cut after"), called("Destroy_Task", "vm-10", "ok"),
			},
		}
	}
	wrongs(t, good, map[string]struct {
		change func(*evidence)
		says   string
	}{
		"not at all":   {func(e *evidence) { e.after = maps.Clone(e.before) }, "still has revision 1-old"},
		"in place":     {func(e *evidence) { ofRevision(t, e.after, "vm-10", "vg-1", "1-new", 1) }, "should have been replaced"},
		"too many":     {func(e *evidence) { ofRevision(t, e.after, "vm-12", "vg-2", "1-new", 1) }, "2 VMs are there, want 1"},
		"too early":    {func(e *evidence) { e.changes[1], e.changes[2] = e.changes[2], e.changes[1] }, "left 0 VMs that run"},
		"in vain":      {func(e *evidence) { e.changes = append(e.changes, called("Destroy_Task", "vm-12", "ok")) }, "only just come"},
		"once more":    {func(e *evidence) { e.changes = append(e.changes, called("Destroy_Task", "vm-11", "SystemError")) }, "was to be kept"},
		"old template": {func(e *evidence) { e.after[updatedFolder+"/vg.x/vg-1"].Extra[sim.GuestTools] = "0s" }, "of the other template"},
	})
}

// TestTheJudgeSeesWhatIsWronglyResized: see TestTheJudgeSeesEveryWrong.
func TestTheJudgeSeesWhatIsWronglyResized(t *testing.T) {
	good := func() evidence {
		before, after := map[string]sim.VM{}, map[string]sim.VM{}
		ofRevision(t, before, "vm-10", "vg-0", "1-old", 1)
		ofRevision(t, after, "vm-10", "vg-0", "1-new", 2)
		return evidence{
			scenario: Scenario{Before: 1, After: 1, Resized: true}, group: "vg", uids: []string{"uid"}, folder: updatedFolder, before: before, after: after,
			changes: []sim.Record{
				called("CloneVM_Task", "vm-2", "ok"), called("PowerOnVM_Task", "vm-11", "ok"), called("ShutdownGuest", "vm-10", "cut before"), called("ShutdownGuest", "vm-10", "ok"),
				called("ReconfigVM_Task", "vm-10", "ok"), called("PowerOnVM_Task", "vm-10", "ok"), called("PowerOffVM_Task", "vm-11", "ok"), called("Destroy_Task", "vm-11", "ok"),
			},
		}
	}
	wrongs(t, good, map[string]struct {
		change func(*evidence)
		says   string
	}{
		"not at all": {func(e *evidence) { e.after = maps.Clone(e.before) }, "still has revision 1-old"},
		"replaced":   {func(e *evidence) { ofRevision(t, e.after, "vm-12", "vg-0", "1-new", 2) }, "should be the same with two CPUs"},
		"too small":  {func(e *evidence) { ofRevision(t, e.after, "vm-10", "vg-0", "1-new", 1) }, "should be the same with two CPUs"},
		"left over":  {func(e *evidence) { ofRevision(t, e.after, "vm-11", "vg-1", "1-new", 2) }, "left over"},
		"too early":  {func(e *evidence) { e.changes = e.changes[2:] }, "left 0 VMs that run"},
		"destroyed":  {func(e *evidence) { e.changes = append(e.changes, called("Destroy_Task", "vm-10", "InvalidPowerState")) }, "was to be kept"},
	})
}
