//go:build unix

package crash

import (
	"maps"
	"strings"
	"testing"

	vimtypes "github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func vm(t *testing.T, ref, owner string) sim.VM {
	t.Helper()
	out := sim.VM{Ref: vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: ref}, On: true, Extra: map[string]string{}}
	if owner == "" {
		return out
	}
	kvs, err := inventory.EncodeStamp(vsphere.Stamp{
		GroupID: vsphere.GroupID{Installation: "i", Member: "m", Group: owner}, Revision: "r", CloneMode: "Full",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range kvs {
		out.Extra[kv.Key] = kv.Value
	}
	return out
}

// TestTheJudgeSeesEveryWrong shows that the oracle detects violations.
func TestTheJudgeSeesEveryWrong(t *testing.T) {
	const folder = "/DC0/vm/vm-operator/local/t-1"
	good := func() evidence {
		before := map[string]sim.VM{
			folder + "/vg.x/vg-0":      vm(t, "vm-10", "uid"),
			folder + "/vg.x/bystander": vm(t, "vm-11", ""),
			"/DC0/vm/db-prod-0":        vm(t, "vm-1", ""),
		}
		after := maps.Clone(before)
		after[folder+"/vg.x/vg-1"] = vm(t, "vm-12", "uid")
		return evidence{
			scenario: Scenario{Before: 1, After: 2, Kept: []int32{0}}, group: "vg", uids: []string{"uid"}, folder: folder,
			before: before, after: after, bystander: folder + "/vg.x/bystander",
			changes: []sim.Record{{Call: sim.Call{Kind: sim.Kind{Method: "CloneVM_Task"}, Object: "vm-2", Group: "uid"}}},
		}
	}
	if wrong := judge(good()); len(wrong) != 0 {
		t.Fatalf("all is well, and the judge says %q", wrong)
	}
	for name, c := range map[string]struct {
		change func(*evidence)
		says   string
	}{
		"missing":    {func(e *evidence) { delete(e.after, folder+"/vg.x/vg-1") }, "vg-1 is missing"},
		"left over":  {func(e *evidence) { e.after[folder+"/vg.x/vg-2"] = vm(t, "vm-13", "uid") }, "left over"},
		"twice":      {func(e *evidence) { e.after[folder+"/vg.y/vg-1"] = vm(t, "vm-13", "uid") }, "exists twice"},
		"off":        {func(e *evidence) { v := vm(t, "vm-12", "uid"); v.On = false; e.after[folder+"/vg.x/vg-1"] = v }, "is off"},
		"old owner":  {func(e *evidence) { e.after[folder+"/vg.x/vg-1"] = vm(t, "vm-12", "old") }, "stamp of group \"old\""},
		"foreign":    {func(e *evidence) { delete(e.after, "/DC0/vm/db-prod-0") }, "not the group's, was changed"},
		"bystander":  {func(e *evidence) { e.after[e.bystander] = vm(t, "vm-14", "") }, "not the group's, was changed"},
		"elsewhere":  {func(e *evidence) { e.after["/DC0/vm/vg-1"] = vm(t, "vm-14", "uid") }, "appeared outside"},
		"replaced":   {func(e *evidence) { e.after[folder+"/vg.x/vg-0"] = vm(t, "vm-15", "uid") }, "should have been kept"},
		"touched":    {func(e *evidence) { e.changes[0].Object = "vm-10" }, "should have been left alone"},
		"destroyed":  {func(e *evidence) { e.changes[0].Method, e.changes[0].Object = "Destroy_Task", "vm-99" }, "nothing had to go"},
		"other's VM": {func(e *evidence) { e.changes[0].Group = "other" }, "which is group other's"},
	} {
		e := good()
		c.change(&e)
		if wrong := strings.Join(judge(e), "; "); !strings.Contains(wrong, c.says) {
			t.Errorf("%s: the judge says %q, want %q", name, wrong, c.says)
		}
	}
}

// A group that keeps its VMs leaves one receipt, which is correct.
func TestTheJudgeSeesEveryWrongReceipt(t *testing.T) {
	const folder = "/DC0/vm/vm-operator/local/t-1"
	good := func() evidence {
		vms := map[string]sim.VM{folder + "/vg.uid-1234/vg-0": vm(t, "vm-10", "uid-12345")}
		return evidence{
			scenario: Scenario{Before: 1, After: 1, Gone: true, Kept: []int32{0}, Cause: receipts.Released}, group: "vg", uids: []string{"uid-12345"}, folder: folder,
			before: vms, after: maps.Clone(vms),
			receipts: []receipts.Receipt{{Cause: receipts.Released, GroupUID: "uid-12345", VMs: []receipts.VM{{Name: "vg-0", MoRef: "vm-10"}}}},
		}
	}
	if wrong := judge(good()); len(wrong) != 0 {
		t.Fatalf("all is well, and the judge says %q", wrong)
	}
	for name, c := range map[string]struct {
		change func(*evidence)
		says   string
	}{
		"none":          {func(e *evidence) { e.receipts = nil }, "the receipts are"},
		"two":           {func(e *evidence) { e.receipts = append(e.receipts, e.receipts[0]) }, "the receipts are"},
		"another cause": {func(e *evidence) { e.receipts[0].Cause = receipts.Forgotten }, "the receipts are"},
		"no VM":         {func(e *evidence) { e.receipts[0].VMs = nil }, "the receipts are"},
		"another VM":    {func(e *evidence) { e.receipts[0].VMs[0].MoRef = "vm-11" }, "the receipt says"},
		"asked of none": {func(e *evidence) { e.scenario.Cause = "" }, "no VM was released"},
		"powered off": {func(e *evidence) {
			e.changes = []sim.Record{{Call: sim.Call{Kind: sim.Kind{Method: "PowerOffVM_Task"}, Object: "vm-99", Group: "uid-12345"}}}
		}, "nothing had to go"},
	} {
		e := good()
		c.change(&e)
		if wrong := strings.Join(judge(e), "; "); !strings.Contains(wrong, c.says) {
			t.Errorf("%s: the judge says %q, want %q", name, wrong, c.says)
		}
	}
}

// TestTheJudgeSeesWhatIsNotTakenOver: see TestTheJudgeSeesEveryWrong.
func TestTheJudgeSeesWhatIsNotTakenOver(t *testing.T) {
	const folder = "/DC0/vm/vm-operator/local/t-1"
	good := func() evidence {
		return evidence{
			scenario: Scenario{Before: 1, After: 1, Adopts: true}, group: "heir", uids: []string{"old", "new"}, folder: folder,
			before:   map[string]sim.VM{folder + "/vg.x/vg-0": vm(t, "vm-10", "old")},
			after:    map[string]sim.VM{folder + "/heir.y/heir-0": vm(t, "vm-10", "new")},
			changes:  []sim.Record{{Call: sim.Call{Kind: sim.Kind{Method: "MoveIntoFolder_Task"}, Object: "group-v9", Group: "new"}}},
			receipts: []receipts.Receipt{{Cause: receipts.Released, GroupUID: "old", AdoptedBy: &receipts.Adopter{GroupUID: "new"}}},
		}
	}
	if wrong := judge(good()); len(wrong) != 0 {
		t.Fatalf("all is well, and the judge says %q", wrong)
	}
	for name, c := range map[string]struct {
		change func(*evidence)
		says   string
	}{
		"replaced":  {func(e *evidence) { e.after[folder+"/heir.y/heir-0"] = vm(t, "vm-11", "new") }, "should have been taken over"},
		"resized":   {func(e *evidence) { v := vm(t, "vm-10", "new"); v.CPU = 9; e.after[folder+"/heir.y/heir-0"] = v }, "should have been taken over"},
		"left":      {func(e *evidence) { e.after[folder+"/heir.y/heir-0"] = vm(t, "vm-10", "old") }, "stamp of group \"old\""},
		"unclaimed": {func(e *evidence) { e.receipts[0].AdoptedBy = nil }, "the receipts are"},
		"cloned":    {func(e *evidence) { e.changes[0].Method = "CloneVM_Task" }, "although the VMs were there"},
		"destroyed": {func(e *evidence) { e.changes[0].Method, e.changes[0].Object = "Destroy_Task", "vm-99" }, "nothing had to go"},
	} {
		e := good()
		c.change(&e)
		if wrong := strings.Join(judge(e), "; "); !strings.Contains(wrong, c.says) {
			t.Errorf("%s: the judge says %q, want %q", name, wrong, c.says)
		}
	}
}
